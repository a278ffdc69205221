"""Network interfaces, the TCP/IP stack and InfiniBand."""
