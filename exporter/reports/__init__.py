"""The JSON documents of all pages."""
