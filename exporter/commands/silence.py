"""`hw-exporter silence` and `hw-exporter clear`: set faults aside, on this machine."""

import getpass
import json
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from exporter.commands.http_client import Address, Unreachable, get, parse_address
from exporter.commands.invocation import CommandError, Invocation
from exporter.commands.readings import local_address
from exporter.exit_codes import EXIT_OK, EXIT_UNKNOWN
from exporter.reports.units import printable

EXIT_USE = 2


def silence(invocation: Invocation) -> int:
    """List, add or end silences; the exit code."""
    options = invocation.options
    given = {
        key: value
        for key, value in (
            ("rule", options.rule),
            ("component", options.component),
            ("for", options.length),
            ("until", options.until),
            ("reason", options.reason),
            ("by", options.by),
        )
        if value is not None
    }
    if options.end is not None or options.list:
        if given:
            raise CommandError("--list and --end take no other option", EXIT_USE)
        if options.end is None:
            return _list(invocation)
        document = _asked(invocation, "DELETE", f"/silences?{urlencode({'id': options.end})}")
        return _say(invocation, document, "ended: ")
    if options.reason is None or (options.length is None) == (options.until is None):
        raise CommandError("give --reason and either --for or --until, or --list", EXIT_USE)
    given.setdefault("by", _user(invocation))
    return _say(invocation, _asked(invocation, "POST", "/silences", given), "silenced: ")


def clear(invocation: Invocation) -> int:
    """Clear the faults of a rule until new evidence comes; the exit code."""
    options = invocation.options
    wanted = {"rule": options.fault}
    if options.component is not None:
        wanted["component"] = options.component
    document = _asked(invocation, "POST", "/clear", wanted)
    if options.json:
        print(json.dumps(document))
    else:
        print(printable(f"cleared: {document['rule']} of {', '.join(document['cleared'])}"))
    return EXIT_OK


def silence_line(row: dict[str, Any]) -> str:
    """Write a silence on one line."""
    what = f"{row['rule'] or 'every fault'} of {row['component'] or 'the node'}"
    end = time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(row["until"]))
    return printable(f"{row['id']}: {what}, until {end} by {row['by']}: {row['reason']}")


def _list(invocation: Invocation) -> int:
    document = _asked(invocation, "GET", "/silences")
    if invocation.options.json:
        print(json.dumps(document))
    elif document["silences"]:
        print("\n".join(map(silence_line, document["silences"])))
    else:
        print("no silences")
    return EXIT_OK


def _say(invocation: Invocation, document: dict[str, Any], word: str) -> int:
    if invocation.options.json:
        print(json.dumps(document))
        return EXIT_OK
    print(f"{word}{silence_line(document['silence'])}")
    if not document["kept"]:
        print("not kept over a restart of the exporter: state.dir is not set or not writable")
    return EXIT_OK


def _asked(
    invocation: Invocation, method: str, path: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what the exporter answers; raise CommandError with its sentence."""
    address = _address(invocation)
    data = None if body is None else json.dumps(body).encode()
    headers = {"Accept": "application/json"}
    if data is not None:
        headers["Content-Type"] = "application/json"
    try:
        response = get(address, path, headers, method, data=data)
        document = response.document()
    except Unreachable as unreachable:
        raise CommandError(str(unreachable), EXIT_UNKNOWN) from unreachable
    if response.status != HTTPStatus.OK:
        sentence = str(document.get("error") or f"{path} answers {response.status}")
        is_wrong = response.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
        raise CommandError(sentence, EXIT_USE if is_wrong else EXIT_UNKNOWN)
    return document


def _address(invocation: Invocation) -> Address:
    url = invocation.options.url
    if url is None:
        return local_address(invocation.settings().config)
    try:
        return parse_address(url)
    except Unreachable as error:
        raise CommandError(f"--url: {error}", EXIT_UNKNOWN) from error


def _user(invocation: Invocation) -> str:
    """Return who asks: the user before sudo, else that of this process."""
    before_sudo = invocation.environment.get("SUDO_USER", "")
    if before_sudo:
        return before_sudo
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return "unknown"
