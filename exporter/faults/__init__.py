"""What the readings mean: rules, their evidence, and the tables of what is known."""
