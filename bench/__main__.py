"""`python -m bench`: measure everything, print a table, write bench/results/<date>.{json,md}."""

import argparse
import time
from pathlib import Path

from bench import limits, measures
from bench.figures import measured, write

RESULTS = Path(__file__).parent / "results"
MEASURES = {
    "start": measures.start_and_stop,
    "memory": measures.memory,
    "throughput": measures.throughput,
    "processor": measures.processor,
    "processes": measures.many_processes,
    "kernel-log": measures.kernel_log,
    "growth": measures.growth,
    "clients": limits.clients,
    "walk": limits.walk,
    "attribution": limits.attribution,
    "sizes": limits.sizes,
    "failing": limits.failing,
}


def main() -> None:
    """Measure what is asked for; nothing is written unless everything was measured."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute; shows the order only")
    parser.add_argument("--only", choices=sorted(MEASURES), action="append")
    options = parser.parse_args()
    effort = measures.QUICK if options.quick else measures.FULL
    measures.compile_modules()
    figures = measured(MEASURES, options.only, effort)
    if not options.only:
        mode = "quick" if options.quick else "full"
        print("written:", write(figures, RESULTS, time.strftime("%Y-%m-%d"), mode))


if __name__ == "__main__":
    main()
