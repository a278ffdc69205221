"""The documents as JSON has them: what the pages say, as values, before any form."""
