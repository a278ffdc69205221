"""The documents as text, for terminals and curl."""
