"""The documents as text for a terminal, for curl and for the commands that show them."""
