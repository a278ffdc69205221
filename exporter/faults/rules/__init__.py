"""Rules: what they are, their schema, how they are loaded and documented."""
