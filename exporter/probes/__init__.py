"""Child processes that print JSON lines, and their supervision."""
