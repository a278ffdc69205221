"""Recordings to replay rules on."""
