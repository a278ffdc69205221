"""`/status` as a screen of text, for curl, `hw-exporter status` and `hw-exporter top`."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from exporter.record import dataclass
from exporter.reports.incidents import Node, action_sentence, incidents, silence_sentence
from exporter.reports.remedies import gpu_meaning
from exporter.reports.units import duration, number, printable, ranges, size, used_of

COLUMNS = 80
FEWEST_COLUMNS = 40
BAR_CELLS = 10
ASCII = str.maketrans(
    {"–": "-", "×": "x", "·": "|", "°": " ", "…": "~", "█": "#", "░": ".", "└": "`", "─": "-"}
)
COLOURS = {"critical": "31;1", "warning": "33", "healthy": "32", "unknown": "36", "muted": "2"}
COLOURS |= {"info": "36", "lost": "31", "stale": "33", "bold": "1"}
STATE_WORDS = {"lost": "lost", "stale": "stale", "suspended": "asleep"}
NO_REASON = {
    "lost": "it does not answer",
    "stale": "the driver does not answer",
    "suspended": "suspended to save power",
}
MARK = re.compile(
    r" *(?:└─ |\d+\. |[a-z]+: |(?:ok|note|PROBLEM) {2,}\S+(?: \S+)* {2,}|[A-Z]{4,} +)?"
)
"""The text before a sentence on a line; continuation lines are indented by its length."""


@dataclass(frozen=True, slots=True)
class Screen:
    """The abilities of a terminal: width, colours, and more than ASCII.

    `wraps` is false for output to a program: each sentence is one line there.
    """

    columns: int = COLUMNS
    colour: bool = False
    unicode: bool = True
    wraps: bool = False

    def paint(self, text: str, colour: str) -> str:
        """Colour text if the terminal has colours."""
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colour and text else text

    def cut(self, text: str, columns: int | None = None) -> str:
        """Shorten text to the columns; one character is one column."""
        limit = max(1, self.columns if columns is None else columns)
        clean = printable(text)
        return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"

    def fit(self, report: str) -> str:
        """Break the lines of a report at spaces, to the width of the terminal."""
        if not self.wraps:
            return report
        lines = report.splitlines()
        return "\n".join(part for line in lines for part in fitted(line, self.columns))

    def finish(self, lines: Iterable[str]) -> list[str]:
        """Return the lines in characters that the terminal has."""
        if self.unicode:
            return list(lines)
        return [line.translate(ASCII).encode("ascii", "replace").decode() for line in lines]


def status_text(status: dict[str, Any], screen: Screen | None = None) -> str:
    """Return the whole status as text."""
    return "\n".join(status_lines(status, screen or Screen())) + "\n"


def status_lines(status: dict[str, Any], screen: Screen) -> list[str]:
    """Return the lines of the status: verdict, causes, GPUs, workloads, host, unread sources."""
    parts = (_head, _incidents, _gpus, _workloads, _unread)
    blocks = [list(part(status, screen)) for part in parts]
    lines = [line for block in blocks if block for line in (*block, "")]
    return screen.finish(lines[:-1])


def _head(status: dict[str, Any], screen: Screen) -> Iterator[str]:
    verdict, age = status["verdict"], status["age_secs"]
    stamp = f"read {duration(age)} ago"
    name = screen.cut(status["node"], screen.columns - len(stamp) - 2)
    gap = " " * max(1, screen.columns - len(name) - len(stamp))
    yield screen.paint(name, "bold") + gap + screen.paint(stamp, "muted")
    for line in wrap(verdict["sentence"], screen.columns):
        yield screen.paint(line, verdict["state"])
    yield screen.paint(screen.cut(status["about"]), "muted")
    yield from _host(status, screen)


def _incidents(status: dict[str, Any], screen: Screen) -> Iterator[str]:
    for root in incidents(status):
        yield from _incident(root, screen)


def _incident(root: Node, screen: Screen) -> Iterator[str]:
    """Yield the lines of one incident: text, consequences, GPUs and pods, what to do."""
    incident = root.incident
    mark = f"{root.severity.upper()}: "
    yield from _hanging(mark, incident["summary"], screen, root.severity)
    yield from wrap(silence_sentence(incident), screen.columns)
    for depth, node in root.walk():
        if not depth and node.fault["summary"] == incident["summary"]:
            continue
        yield from _hanging(f"{'   ' * depth}└─ ", node.fault["summary"], screen, "muted")
    for word, text in (("affects", incident["affects"]), ("do", action_sentence(incident))):
        first, *rest = wrap(text, screen.columns - len(word) - 2) or [""]
        if first:
            yield f"{word}: {screen.paint(first, 'bold')}"
            yield from (f"{'':{len(word) + 2}}{screen.paint(line, 'bold')}" for line in rest)


def _hanging(mark: str, text: str, screen: Screen, colour: str) -> Iterator[str]:
    """Break text at spaces after a mark in colour; further lines are indented by its length."""
    first, *rest = wrap(text, screen.columns - len(mark)) or [""]
    yield screen.paint(mark, colour) + first
    yield from (" " * len(mark) + line for line in rest)


def _gpus(status: dict[str, Any], screen: Screen) -> Iterator[str]:
    """Yield the table of GPUs; a lost or stale GPU shows reason and workloads, no numbers."""
    if not status["gpus"]:
        return
    yield screen.paint(f"GPU  {'use':<15} {'memory':<16} {'temp':>5} {'power':>9}  who", "bold")
    for gpu in status["gpus"]:
        index = f"{gpu['index']:>3}"
        if gpu["state"] != "ok":
            reported = screen.cut(_no_values(gpu), screen.columns - 5)
            yield f"{index}  " + screen.paint(reported, "lost")
            continue
        limit = gpu["power_limit_watts"]
        power = f"{number(gpu['power_draw_watts'])}/{number(limit)}W"
        who = ", ".join(gpu["workloads"]) or "–"
        reasons = [name.replace("_", " ") for name in gpu["throttled"] or ()]
        last = f"{reasons[0]}: {who}" if reasons else who
        use = bar(gpu["utilization_percent"], screen)
        memory = used_of(gpu["memory_used_bytes"], gpu["memory_total_bytes"])
        heat = number(gpu["temperature_celsius"], "°C")
        line = f"{index}  {use} {memory:<16} {heat:>5} {power:>9}  "
        shown = screen.cut(last, max(1, screen.columns - len(line)))
        yield line + (screen.paint(shown, "warning") if reasons else shown)


def _no_values(gpu: dict[str, Any]) -> str:
    """Say why a GPU has no current values, and which workloads use it."""
    word = "hung" if gpu["reason"] == "hung" else STATE_WORDS[gpu["state"]]
    who = f" ({', '.join(gpu['workloads'])})" if gpu["workloads"] else ""
    return f"{word}: {gpu_meaning(gpu['reason']) or NO_REASON[gpu['state']]}{who}"


def bar(percent: float | None, screen: Screen) -> str:
    """Draw a share as a bar with its number, 15 columns wide."""
    if percent is None:
        return f"{'–':<15}"
    full = round(min(100.0, max(0.0, percent)) / 100 * BAR_CELLS)
    cells = "█" * full + "░" * (BAR_CELLS - full)
    return f"{cells if screen.unicode else cells.translate(ASCII)} {percent:3.0f}%"


def _workloads(status: dict[str, Any], screen: Screen) -> Iterator[str]:
    rows = status["workloads"]
    if not rows:
        return
    yield screen.paint(f"{'GPUs':<10} {'memory':>9} {'use':>5}  workload", "bold")
    for row in rows:
        share = number(row["utilization_percent"], "%")
        numbers = f"{screen.cut(ranges(row['gpus']), 10):<10} {size(row['memory_used_bytes']):>9}"
        yield f"{numbers} {share:>5}  {screen.cut(row['workload'], screen.columns - 28)}"


def _host(status: dict[str, Any], screen: Screen) -> Iterator[str]:
    host = status["host"]
    load = f"   load {host['load1']:.1f}" if host["load1"] is not None else ""
    memory = used_of(host["memory_used_bytes"], host["memory_total_bytes"])
    yield screen.cut(f"CPU  {bar(host['cpu_usage_percent'], screen)}{load}   memory {memory}")


def _unread(status: dict[str, Any], screen: Screen) -> Iterator[str]:
    rows = status["unread"]
    if not rows:
        return
    yield screen.paint("Could not be read", "bold")
    for row in rows:
        colour = "warning" if row["state"] == "problem" else "muted"
        yield screen.paint(screen.cut(f"{row['name']}: {row['found']}"), colour)
        yield from (f"  {line}" for line in wrap(row["fix"], screen.columns - 2))


def fitted(line: str, columns: int) -> Iterator[str]:
    """Break a line of a report at spaces; continuation lines are indented like the sentence."""
    found = MARK.match(line)
    mark = found[0] if found and len(line) > columns else ""
    return _hanging(mark, line[len(mark) :], Screen(columns), "muted")


def wrap(text: str, columns: int) -> list[str]:
    """Break text at spaces into lines of at most `columns`; long words are cut."""
    from textwrap import wrap as break_lines  # noqa: PLC0415 - only text needs it

    return break_lines(printable(text), max(FEWEST_COLUMNS // 2, columns), break_on_hyphens=False)
