"""The node itself: names, operating system, board."""
