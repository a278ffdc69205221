"""`python -m bench.unusual`: what the detectors find on simulated nodes, and what they cost."""

import argparse
import logging

from bench.figures import table
from bench.unusual import cost, scoring

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m bench.unusual", description=__doc__).parse_args()
    logging.disable(logging.WARNING)  # each finding would be logged
    print(table([*cost.figures(), *scoring.all_figures()]))
