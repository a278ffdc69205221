"""The documents as HTML for a browser; imported only when a browser asks."""
