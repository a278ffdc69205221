"""`hw-exporter bundle`: writes what a support case needs to one archive, without secrets."""

import hashlib
import io
import json
import os
import re
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

from exporter.clock import wall_now
from exporter.commands.config import shown, to_toml
from exporter.commands.invocation import CommandError, Invocation
from exporter.commands.readings import Readings, connected, document_in
from exporter.commands.recording_file import RECORDING
from exporter.config.setting import masked
from exporter.durations import ALLOWED, parse_duration
from exporter.exit_codes import EXIT_OK
from exporter.faults.replay.write import lines_of
from exporter.identity import read_version

NODE = "node.json"
PAGES = {
    "metrics.txt": ("/metrics", {}),
    "status.json": ("/status", {}),
    "doctor.json": ("/doctor", {}),
    "processes.json": ("/processes", {}),
    "faults.json": ("/faults", {"since": "14d"}),
    "why.json": ("/why", {"all": "1"}),
    "silences.json": ("/silences", {}),
}
LOOK_SECS = 5.0
MOST_RECORDED_SECS = 600.0
MAX_PART_BYTES = 32 * 1024 * 1024
NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9.-]+")
LABEL_VALUE = re.compile(r'="((?:[^"\\]|\\.)*)"')

Make = Callable[[], str]


def bundle(invocation: Invocation) -> int:
    """Write the archive and print its name and what is missing; return the exit code."""
    options = invocation.options
    secs = parse_duration(options.length)
    if secs is None or secs > MOST_RECORDED_SECS:
        raise CommandError(f"--for must be {ALLOWED}, at most {MOST_RECORDED_SECS:g} s", 2)
    with connected(invocation) as readings:
        parts = _parts(invocation, readings, secs)
    when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(wall_now()))
    stem = f"hw-exporter-{_node_in(parts)}-{when}"
    archive = _packed(stem, parts, readings.origin)
    name = options.output or f"{stem}.tar.gz"
    _write(name, archive)
    if name != "-":
        missing = [f"without {part}: {parts[part]}" for part in parts if _is_missing(parts[part])]
        print(f"wrote {name} ({len(archive) // 1024 + 1} KiB)", *missing, sep="\n")
    return EXIT_OK


class _Missing(str):
    """Why a part is not in the archive."""

    __slots__ = ()


def _is_missing(part: str) -> bool:
    return isinstance(part, _Missing)


def _parts(invocation: Invocation, readings: Readings, secs: float) -> dict[str, str]:
    """Return the texts of all parts by name; raise CommandError if no exporter answers."""
    first = {NODE: _page(readings, "/node", {})()}
    documents: list[dict[str, Any]] = []

    def recording() -> str:
        documents.extend(_moments(readings, secs))
        return "".join(f"{_without_secrets(line)}\n" for line in lines_of(documents))

    makes: dict[str, Make] = {
        RECORDING: recording,
        "kernel_log.txt": lambda: _kernel_lines(documents),
        **{name: _page(readings, *asked) for name, asked in PAGES.items()},
        "config.toml": lambda: _configuration(invocation),
    }
    return {**first, **{name: _made(make) for name, make in makes.items()}}


def _made(make: Make) -> str:
    try:
        text = make()
    except CommandError as error:
        return _Missing(error)
    return text if len(text) <= MAX_PART_BYTES else _Missing("it is too large")


def _page(readings: Readings, path: str, query: dict[str, str]) -> Make:
    def make() -> str:
        response = readings.get(path, query, "text/plain" if path == "/metrics" else "")
        if path != "/metrics":
            return _without_secrets(document_in(readings, path, response), indent=1)
        if response.status != HTTPStatus.OK:
            raise CommandError(f"{path} answers {response.status}")
        return LABEL_VALUE.sub(lambda found: f'="{masked(found[1])}"', response.text)

    return make


def _moments(readings: Readings, secs: float) -> Iterator[dict[str, Any]]:
    """Yield what the exporter has read, at each of its collections for so many seconds."""
    until, query, last = time.monotonic() + secs, dict[str, str](), None
    while True:
        document = document_in(readings, "/recording", readings.get("/recording", query))
        if document["line"]["at"] != last:
            yield document
        last, query = document["line"]["at"], {"start": repr(float(document["start"]))}
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(LOOK_SECS, left))
        readings.refresh()


def _kernel_lines(documents: list[dict[str, Any]]) -> str:
    """Return the kernel log lines that became events, with seconds from the first moment."""
    if not documents:
        raise CommandError("there is no recording")
    events = (event for event in documents[-1]["events"] if "kernel" in event)
    lines = ((event["at"], line) for event in events for line in event["kernel"].splitlines())
    return "".join(f"{at:+.3f} {masked(line)}\n" for at, line in lines)


def _configuration(invocation: Invocation) -> str:
    """Return the configuration of this machine; raise CommandError for another machine's."""
    if invocation.options.url is not None:
        raise CommandError("the configuration of the exporter at --url is not readable from here")
    return to_toml(shown(invocation.settings().config))


def _without_secrets(value: Any, indent: int | None = None) -> str:
    return json.dumps(_masked(value), indent=indent, ensure_ascii=False)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: _masked(each) for key, each in value.items()}
    return [_masked(each) for each in value] if isinstance(value, list) else value


def _node_in(parts: dict[str, str]) -> str:
    found = json.loads(parts[NODE]).get("node")
    return NOT_OF_A_NAME.sub("-", str(found or "node"))[:100].strip("-.") or "node"


def _packed(stem: str, parts: dict[str, str], origin: str) -> bytes:
    """Return the archive: a manifest, and each part that there is."""
    found = {
        name: text.encode("utf-8", "replace")
        for name, text in parts.items()
        if not _is_missing(text)
    }
    manifest = {
        "version": read_version(),
        "from": masked(origin),
        "parts": {
            name: {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
            for name, body in found.items()
        },
        "missing": {name: masked(text) for name, text in parts.items() if _is_missing(text)},
    }
    bodies = {"manifest.json": json.dumps(manifest, indent=1).encode(), **found}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, body in bodies.items():
            info = tarfile.TarInfo(f"{stem}/{name}")
            info.size, info.mode, info.mtime = len(body), 0o600, int(wall_now())
            archive.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


def _write(name: str, archive: bytes) -> None:
    """Write a new file that only its owner reads, or standard output; raise CommandError."""
    if name == "-":
        sys.stdout.buffer.write(archive)
        return
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600)
    except OSError as error:
        raise CommandError(f"{name} cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(archive)
    except OSError as error:
        with suppress(OSError):
            Path(name).unlink()
        raise CommandError(f"{name} cannot be written: {error.strerror}") from error
