"""Sensors of the board: temperatures, fans, power supplies, RAPL energy."""
