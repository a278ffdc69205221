"""Events: store, queries and the kinds that the engine knows."""
