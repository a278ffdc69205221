"""The JSON documents behind all pages."""
