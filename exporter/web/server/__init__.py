"""The HTTP server: accepts, encrypts, authenticates and limits clients."""
