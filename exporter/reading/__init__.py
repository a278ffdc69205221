"""How files of the kernel are read, with deadlines, and what a source is."""
