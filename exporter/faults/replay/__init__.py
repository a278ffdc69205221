"""Recordings that rules are replayed on."""
