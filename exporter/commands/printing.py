"""Prints one page of an exporter: the response as JSON, or text for this terminal."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import Any

from exporter.commands.http_client import Response
from exporter.commands.invocation import Invocation
from exporter.commands.readings import Readings, document_in
from exporter.reports.text.status import COLUMNS, Screen

NOT_ASCII = re.compile(r"[^ -~\n]")

Query = Mapping[str, str]
Draw = Callable[[dict[str, Any], Screen], str]


def print_page(
    readings: Readings,
    invocation: Invocation,
    path: str,
    draw: Draw,
    query: Query | None = None,
) -> dict[str, Any]:
    """Print the page and return its document; raise CommandError."""
    response = readings.get(path, query)
    document = document_in(readings, path, response)
    if invocation.options.json:
        print(json_text(response))
    else:
        screen = screen_of(invocation)
        print("\n".join(screen.finish(draw(document, screen).rstrip("\n").split("\n"))))
    return document


def json_text(response: Response) -> str:
    """Return the JSON of the response, with control characters escaped."""
    return NOT_ASCII.sub(_escaped, response.text)


def _escaped(match: re.Match[str]) -> str:
    """Escape a character of a string; between strings, only blanks of JSON can match."""
    char = match[0]
    if char in "\t\r":
        return " "
    return char if char.isprintable() else json.dumps(char)[1:-1]


def screen_of(invocation: Invocation) -> Screen:
    """Return the abilities of the terminal.

    NO_COLOR, TERM=dumb and a pipe mean no colour; a locale without UTF-8 means ASCII.
    """
    environment = invocation.environment
    is_terminal = sys.stdout.isatty()
    wants_colour = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Screen(
        columns=shutil.get_terminal_size().columns if is_terminal else COLUMNS,
        colour=is_terminal and wants_colour,
        wraps=is_terminal,
        unicode="utf" in _character_set(environment).lower(),
    )


def _character_set(environment: Mapping[str, str]) -> str:
    """Return the locale in force, by the precedence in locale(7)."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    return next((environment[name] for name in names if environment.get(name)), "")
