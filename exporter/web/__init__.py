"""The HTTP endpoints; none of them waits for a collection."""
