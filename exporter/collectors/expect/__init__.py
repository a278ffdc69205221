"""Expected hardware: what the node ought to have, and what of it is not there."""
