"""`hw-exporter silence` and `hw-exporter clear`: silences and clears faults on this machine."""

import getpass
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import urlencode

from exporter.commands.invocation import CommandError, Invocation
from exporter.commands.printing import json_text
from exporter.commands.readings import document_in, running_exporter, understood
from exporter.exit_codes import EXIT_OK, EXIT_UNKNOWN

EXIT_USE = 2

Draw: TypeAlias = Callable[[dict[str, Any]], str]


def silence(invocation: Invocation) -> int:
    """List, add or end silences; return the exit code."""
    options = invocation.options
    names = ("rule", "component", "until", "reason", "by")
    values = {"for": options.length, **{name: getattr(options, name) for name in names}}
    given = {name: value for name, value in values.items() if value is not None}
    if options.end is not None or options.list:
        if given:
            raise CommandError("--list and --end take no other option", EXIT_USE)
        if options.end is not None:
            path = f"/silences?{urlencode({'id': options.end})}"
            return _print(invocation, "DELETE", path, _changed("ended: "))
        return _print(invocation, "GET", "/silences", _listed)
    if options.reason is None or (options.length is None) == (options.until is None):
        raise CommandError("give --reason and either --for or --until, or --list", EXIT_USE)
    given.setdefault("by", _user(invocation))
    return _print(invocation, "POST", "/silences", _changed("silenced: "), given)


def clear(invocation: Invocation) -> int:
    """Clear the faults of a rule until new evidence comes; return the exit code."""
    options = invocation.options
    wanted = {"rule": options.fault}
    if options.component is not None:
        wanted["component"] = options.component
    return _print(invocation, "POST", "/clear", _cleared, wanted)


def _cleared(document: dict[str, Any]) -> str:
    return f"cleared: {document['rule']} of {', '.join(document['cleared'])}"


def _listed(document: dict[str, Any]) -> str:
    return "\n".join(map(_line, document["silences"])) or "no silences"


def _changed(word: str) -> Draw:
    def draw(document: dict[str, Any]) -> str:
        lost = "not kept over a restart of the exporter: state.dir is not set or not writable"
        more = "" if document["kept"] else f"\n{lost}"
        return f"{word}{_line(document['silence'])}{more}"

    return draw


def _line(row: dict[str, Any]) -> str:
    """Format a silence on one line."""
    what = f"{row['rule'] or 'every fault'} of {row['component'] or 'the node'}"
    end = time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(row["until"]))
    return f"{row['id']}: {what}, until {end} by {row['by']}: {row['reason']}"


def _print(
    invocation: Invocation,
    method: str,
    path: str,
    draw: Draw,
    body: Mapping[str, Any] | None = None,
) -> int:
    """Print the response of the exporter; raise CommandError with its error."""
    exporter = running_exporter(invocation)
    with understood(exporter):
        response = exporter.change(method, path, body)
        try:
            document = document_in(exporter, path.partition("?")[0], response)
        except CommandError as error:
            is_use = response.status == HTTPStatus.BAD_REQUEST
            raise CommandError(str(error), EXIT_USE if is_use else EXIT_UNKNOWN) from error
        print(json_text(response) if invocation.options.json else draw(document))
    return EXIT_OK


def _user(invocation: Invocation) -> str:
    """Return the user: that before sudo, else that of this process."""
    before_sudo = invocation.environment.get("SUDO_USER", "")
    if before_sudo:
        return before_sudo
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return "unknown"
