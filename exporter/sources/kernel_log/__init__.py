"""The kernel log: from record to event, and following it as it grows."""
