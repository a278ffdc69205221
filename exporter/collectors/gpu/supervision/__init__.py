"""The probes that call the driver: supervised, restarted, and kept from calls that crash."""
