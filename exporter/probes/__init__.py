"""Processes that print JSON lines, and what starts, times, abandons and restarts them."""
