"""`hw-exporter status`, `doctor` and `ps`: one page each."""

import sys
from typing import Any

from exporter.collectors.workloads.values import Workload
from exporter.commands.invocation import Invocation
from exporter.commands.printing import print_page
from exporter.commands.readings import connected
from exporter.config.file import ConfigError
from exporter.exit_codes import EXIT_OK
from exporter.reports.text.doctor import doctor_text
from exporter.reports.text.status import Screen, status_text
from exporter.reports.units import UNKNOWN, duration, number, ranges, size

EXIT_PROBLEMS = 2
PS_HEADS = ("PID", "NAME", "USER", "GPUS", "MEMORY", "USE", "STATE", "WORKLOAD")
PS_RIGHT = frozenset({"PID", "MEMORY", "USE"})
FEWEST_LAST = 20


def status(invocation: Invocation) -> int:
    """Print the node on one screen; return the exit code."""
    with connected(invocation) as readings:
        print_page(readings, invocation, "/status", status_text)
    return EXIT_OK


def doctor(invocation: Invocation) -> int:
    """Print which sources can be read; return 2 if one has a problem."""
    with connected(invocation) as readings:
        document = print_page(
            readings, invocation, "/doctor", lambda page, screen: screen.fit(doctor_text(page))
        )
        states = [check["state"] for check in document["checks"]]
    listed = [check["found"] for check in document["checks"]]
    wrong = [each for each in _wrong_here(invocation) if each not in listed]
    for sentence in wrong:
        print(f"hw-exporter: {sentence}", file=sys.stderr)
    return EXIT_PROBLEMS if wrong or "problem" in states else EXIT_OK


def _wrong_here(invocation: Invocation) -> tuple[str, ...]:
    """Return the mistakes in this machine's configuration; empty with `--url`."""
    try:
        if invocation.options.url is None:
            invocation.check()
    except ConfigError as error:
        return error.sentences
    return ()


def ps(invocation: Invocation) -> int:
    """Print the processes on GPUs; return the exit code."""
    with connected(invocation) as readings:
        print_page(readings, invocation, "/processes", ps_text)
    return EXIT_OK


def ps_text(document: dict[str, Any], screen: Screen) -> str:
    """Draw the table of processes on GPUs, without columns that have no value."""
    rows = [_process(row) for row in document["processes"]]
    lines = _table(rows, screen) if rows else ["no processes on GPUs"]
    if document["attribution"] not in (None, "ok"):
        reason = document["attribution"]
        lines.append(f"not all can be attributed to workloads: {reason} (docs/workloads.md)")
    return "\n".join(lines)


def _table(rows: list[tuple[str, ...]], screen: Screen) -> list[str]:
    shown = [at for at in range(len(PS_HEADS)) if any(row[at] for row in rows)]
    table = [[row[at] or UNKNOWN for at in shown] for row in [PS_HEADS, *rows]]
    widths = [max(len(row[at]) for row in table) for at in range(len(shown))]
    heads, *lines = [_line(row, table[0], widths, screen) for row in table]
    return [screen.paint(heads, "bold"), *lines]


def _line(cells: list[str], heads: list[str], widths: list[int], screen: Screen) -> str:
    *first, last = [
        f"{cell:>{width}}" if head in PS_RIGHT else f"{cell:<{width}}"
        for head, cell, width in zip(heads, cells, widths, strict=True)
    ]
    line = "  ".join([*first, ""])
    return (line + screen.cut(last.rstrip(), max(FEWEST_LAST, screen.columns - len(line)))).rstrip()


def _process(row: dict[str, Any]) -> tuple[str, ...]:
    workload = Workload(row["namespace"], row["pod"], row["container"]).name
    state = row["state"] or ""
    if row["waits_secs"]:
        where = f" in {row['waits_in']}" if row["waits_in"] else ""
        workload = f"{workload} (waits for {duration(row['waits_secs'])}{where})"
    return (
        str(row["pid"]),
        row["name"] or "",
        row["user"] or "",
        ranges(row["gpus"]),
        "" if row["memory"] is None else size(row["memory"]),
        "" if row["utilization"] is None else number(row["utilization"], "%"),
        "disk wait" if state == "uninterruptible" else state,
        workload,
    )
