"""`python -m exporter`, and the command `hw-exporter`."""

import os
import signal


def main() -> None:
    """Run the command line; signals are obeyed from the very beginning."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    for number in (signal.SIGUSR1, signal.SIGUSR2):  # about GPUs that nobody reads yet
        signal.signal(number, signal.SIG_IGN)
    from exporter.cli import main as run  # noqa: PLC0415 - takes a while: signals come first

    run()


def _leave(*_: object) -> None:
    """Asked to stop before there is anything to stop; as process 1 nobody else would do it."""
    os._exit(0)


if __name__ == "__main__":
    main()
