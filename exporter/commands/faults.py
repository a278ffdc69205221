"""`hw-exporter faults`: active faults, as text and as an exit code."""

from typing import Any

from exporter.commands.invocation import CommandError, Invocation
from exporter.commands.printing import json_text, screen_of
from exporter.commands.readings import Readings, connected, document_in
from exporter.exit_codes import EXIT_OK, EXIT_UNKNOWN
from exporter.reports.incidents import verdict_of
from exporter.reports.text.faults import faults_text
from exporter.reports.text.status import Screen

EXIT_CODES = {"healthy": EXIT_OK, "warning": 1, "critical": 2, "unknown": EXIT_UNKNOWN}
NPD_EXIT_CODES = {"healthy": 0, "warning": 1, "critical": 1, "unknown": 2}
NPD_LINE_CHARS = 80
"""The part of a line that node-problem-detector keeps (max_output_length)."""


def faults(invocation: Invocation) -> int:
    """Print the faults; return the exit code of the highest severity."""
    options = invocation.options
    if options.npd:
        return _npd(invocation)
    with connected(invocation) as readings:
        return _report(invocation, readings)


def _report(invocation: Invocation, readings: Readings) -> int:
    options = invocation.options
    wanted = {name: getattr(options, name) for name in ("since", "until", "rule")}
    query = {name: value for name, value in wanted.items() if value is not None}
    response = readings.get("/faults", query)
    document = document_in(readings, "/faults", response)
    code = EXIT_CODES[verdict_of(document).state]
    if options.json:
        print(json_text(response))
    else:
        _print(document, readings, screen_of(invocation))
    return code


def _print(document: dict[str, Any], readings: Readings, screen: Screen) -> None:
    unjudged = len(document["unjudged"])
    things = "component has" if unjudged == 1 else "components have"
    note = f"\n{unjudged} {things} rules that could not be evaluated; --json lists them\n"
    text = f"{faults_text(document)}{note if unjudged else ''}\nfrom {readings.origin}"
    print("\n".join(screen.finish(screen.fit(text).splitlines())))


def _npd(invocation: Invocation) -> int:
    """Print one short line, as custom plugins of node-problem-detector do."""
    try:
        with connected(invocation) as readings:
            document = document_in(readings, "/faults", readings.get("/faults"))
            summary = verdict_of(document)
    except CommandError as error:
        print(_short(str(error)))
        return NPD_EXIT_CODES["unknown"]
    print(_short(summary.sentence))
    return NPD_EXIT_CODES[summary.state]


def _short(line: str) -> str:
    return line if len(line) <= NPD_LINE_CHARS else f"{line[: NPD_LINE_CHARS - 3]}..."
