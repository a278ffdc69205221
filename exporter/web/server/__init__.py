"""The server: accepts, encrypts, authenticates and limits clients; knows none of the pages."""
