"""Child processes that print JSON lines: started, limited and ended."""
