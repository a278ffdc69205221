"""`hw-exporter top`: the live status, with plain escape sequences that work over any ssh."""

import os
import re
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from exporter.commands.invocation import CommandError, Invocation
from exporter.commands.printing import screen_of
from exporter.commands.readings import Readings, connected, document_in, understood
from exporter.exit_codes import EXIT_FAILED, EXIT_OK
from exporter.record import dataclass, replace
from exporter.reports.incidents import incidents
from exporter.reports.text.faults import incident_lines
from exporter.reports.text.status import Screen, fitted, status_lines, wrap

REFRESH_SECS = 2.0
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, CLEAR_LINE, CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
KEYS = {
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[A": "up",
    "k": "up",
    "\x1b[B": "down",
    "j": "down",
    "\x1b[5~": "back",
}
KEYS |= {"\x1b[6~": "on", " ": "on", "q": "quit", "\x03": "quit", "\x1b": "all", "0": "all"}
KEY = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
MAX_TYPED = 64
HELP = "q quit  arrows scroll  1-9 one fault  0 all"


@dataclass(frozen=True, slots=True)
class TopView:
    """The part of the status on screen: lines scrolled away, and the number of one fault or 0."""

    offset: int = 0
    fault: int = 0

    def after(self, key: str, page: int) -> "TopView | None":
        """Return the view after a key; None to quit."""
        if key.isdigit() and key != "0":
            return TopView(0, int(key))
        move = {"up": -1, "down": 1, "back": -page, "on": page}
        name = KEYS.get(key, "")
        if name == "quit":
            return None
        if name == "all":
            return TopView()
        return replace(self, offset=max(0, self.offset + move.get(name, 0)))


def top(invocation: Invocation) -> int:
    """Show the status until q is pressed; return the exit code."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError("top needs a terminal; `hw-exporter status` prints once", EXIT_FAILED)
    with connected(invocation) as readings, _terminal():
        _loop(invocation, readings)
    return EXIT_OK


@contextmanager
def _terminal() -> Iterator[None]:
    """Switch to the alternate screen and unbuffered keys; restore both at the end."""
    before = termios.tcgetattr(sys.stdin)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGWINCH, lambda *_: None)  # wakes select for a new screen
    try:
        tty.setcbreak(sys.stdin)
        print(ENTER, end="", flush=True)
        yield
    except KeyboardInterrupt:
        pass
    finally:
        print(LEAVE, end="", flush=True)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _loop(invocation: Invocation, readings: Readings) -> None:
    view: TopView | None = TopView()
    while view is not None:
        status, problem = _read(readings)
        size = shutil.get_terminal_size()
        _draw(draw(status, problem, view, screen_of(invocation), size.lines))
        for key in _keys():
            view = None if view is None else view.after(key, size.lines - 3)


def _read(readings: Readings) -> tuple[dict[str, Any] | None, str]:
    """Read the status; None and a sentence if no exporter answers."""
    try:
        readings.refresh()
        with understood(readings):
            return document_in(readings, "/status", readings.get("/status")), ""
    except CommandError as error:
        return None, str(error)


def draw(
    status: dict[str, Any] | None, problem: str, view: TopView, screen: Screen, rows: int
) -> list[str]:
    """Return one screen: the status or the error, and the keys."""
    foot = screen.paint(screen.cut(HELP, screen.columns), "muted")
    room = max(1, rows - 1)
    if status is None:
        lines = [screen.paint(line, "critical") for line in wrap(problem, screen.columns)]
    else:
        lines = _lines(status, view, screen)
    first = min(view.offset, max(0, len(lines) - room))
    shown = lines[first : first + room]
    return [*shown, *[""] * (room - len(shown)), foot]


def _lines(status: dict[str, Any], view: TopView, screen: Screen) -> list[str]:
    """Return all lines of the view: the whole status, or one incident with its evidence."""
    if not view.fault:
        return status_lines(status, screen)
    roots = incidents(status)
    if view.fault > len(roots):
        return [f"there is no fault {view.fault}; there are {len(roots)}"]
    lines = incident_lines(roots[view.fault - 1])
    return screen.finish(part for line in lines for part in fitted(line, screen.columns))


def _draw(lines: list[str]) -> None:
    text = f"{CLEAR_LINE}\r\n".join(lines)
    print(f"{HOME}{text}{CLEAR_LINE}{CLEAR_BELOW}", end="", flush=True)


def _keys() -> list[str]:
    """Return pressed keys; wait for them until the next read is due."""
    ready, _, _ = select.select([sys.stdin], [], [], REFRESH_SECS)
    if not ready:
        return []
    typed = os.read(sys.stdin.fileno(), MAX_TYPED).decode("ascii", "ignore")
    return KEY.findall(typed) if typed else ["q"]  # the terminal has gone
