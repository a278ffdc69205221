"""`python -m bench.soak`: the cases of docs/reliability.md in their full sizes, as a table."""

import argparse
import time
from pathlib import Path

from bench import crashes, probe_floods, troubles
from bench.figures import measured, write

RESULTS = Path(__file__).parent / "results"
TROUBLES = {
    "attacks": troubles.attacks,
    "floods": troubles.floods,
    "probe-floods": probe_floods.probe_floods,
    "driver": troubles.driver,
    "schedules": troubles.schedules,
    "crashes": crashes.crashes,
    "kernel-log": troubles.kernel_log,
    "stops": troubles.stops,
    "passwords": troubles.passwords,
    "passes": troubles.passes,
    "all-at-once": troubles.all_at_once,
}


def main() -> None:
    """Make all the trouble that is asked for; nothing is written unless it was all of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a minute; shows that it works")
    parser.add_argument("--only", choices=sorted(TROUBLES), action="append")
    options = parser.parse_args()
    size = troubles.SMALL if options.small else troubles.FULL
    figures = measured(TROUBLES, options.only, size)
    if not options.only:
        date = time.strftime("%Y-%m-%d")
        print(
            "written:",
            write(figures, RESULTS, f"{date}-soak", "small" if options.small else "full"),
        )


if __name__ == "__main__":
    main()
