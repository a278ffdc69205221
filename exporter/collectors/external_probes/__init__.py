"""Programs of the operator that print JSON lines."""
