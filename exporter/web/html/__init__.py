"""Documents as HTML; imported only for requests of a browser."""
