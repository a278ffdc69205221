"""Runs the command line for `python -m exporter` and `hw-exporter`."""

import gc
import os
import signal
import sys

ENDING = frozenset(
    {
        *("status", "ps", "top", "doctor", "why", "faults", "bundle", "silence", "clear"),
        *("metrics", "rules", "config", "expect", "assets", "completion", "selfcheck"),
        "--check-config",
    }
)
"""Commands that end by themselves, with an exit code that says what they found."""

YOUNG_OBJECTS = 5000
"""So many new objects are made until garbage is searched for among them."""
YOUNG_SEARCHES = 30
"""So many such searches are made until older objects are searched too, of which the start makes
60,000; by default after ten, it would take a tenth of the time to the first page."""


def main() -> None:
    """Run the command line; signals are handled from the very beginning."""
    early = [signal.SIGUSR1, signal.SIGUSR2]  # meant for GPUs, which are not read yet
    if ENDING.isdisjoint(sys.argv[1:]) and not os.isatty(2):
        early.append(signal.SIGHUP)  # meant for the configuration, which is not read yet
    for number in early:
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_SEARCHES)  # the start and a collection leave little
    # Imports take a while: signals come first.
    from exporter.late_modules import imported_late  # noqa: PLC0415
    from exporter.openssl import MODULES, left_out  # noqa: PLC0415

    serves = sys.argv[1:2] in (["run"], ["demo"])  # other commands may ask one that encrypts
    with left_out(MODULES if serves else ()), imported_late():
        from exporter.cli import main as run  # noqa: PLC0415

    run()


def _leave(number: int, _: object) -> None:
    """End at once on SIGTERM or SIGINT, also as PID 1: a server well, a command without result."""
    os._exit(0 if ENDING.isdisjoint(sys.argv[1:]) else 128 + number)


if __name__ == "__main__":
    main()
