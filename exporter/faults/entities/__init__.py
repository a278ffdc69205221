"""Components that rules speak about, their fields, and how they depend on each other."""
