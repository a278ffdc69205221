"""`python -m bench.unusual`: what the detectors find on simulated nodes, and what they cost."""

import logging

from bench.figures import table
from bench.unusual import cost, scoring

if __name__ == "__main__":
    logging.disable(logging.WARNING)  # each finding would be logged
    print(table([*cost.figures(), *scoring.all_figures()]))
