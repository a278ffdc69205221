"""The kernel log: records, the messages in them, and the events they mean."""
