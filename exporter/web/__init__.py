"""The pages: metrics, health, inventory; none of them ever waits for a collection."""
