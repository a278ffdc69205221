"""`hw-exporter metrics`: prints `/metrics` once."""

from http import HTTPStatus

from exporter.commands.invocation import CommandError, Invocation
from exporter.commands.readings import connected
from exporter.exit_codes import EXIT_OK, EXIT_UNKNOWN
from exporter.reports.units import printable


def metrics(invocation: Invocation) -> int:
    """Print the page /metrics; return the exit code."""
    with connected(invocation) as readings:
        response = readings.get("/metrics", accept="text/plain")
    if response.status != HTTPStatus.OK:
        sentence = f"{readings.origin}/metrics answers {response.status}"
        raise CommandError(sentence, EXIT_UNKNOWN)
    print("\n".join(map(printable, response.text.split("\n"))), end="")
    return EXIT_OK
