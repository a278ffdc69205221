"""Events: store, stream, and what catalogues add to them."""
