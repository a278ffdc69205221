"""What a node is expected to have: the configuration, labels of the node, and what was learned."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from exporter.collectors.expect.hardware import HardwareNow
from exporter.collectors.expect.values import WORDS, Part
from exporter.collectors.pcie.address import pci_address
from exporter.config.expect import Expect
from exporter.model.reading import Missing
from exporter.reading.files import is_there, read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.record import replace
from exporter.state import StateFile, dump

NAME = "expected.json"
VERSION = 1
ANY_BOOT = "any"
PREFIX = "expect.hw-exporter/"
MAX_PARTS = 4096
MAX_TEXT = 200
_LABEL = re.compile(rf'{re.escape(PREFIX)}([\w-]+)="?([^"\n]*?)"?')


def file_in(folder: str) -> StateFile | None:
    """Return the file with what was learned, None without a state directory."""
    path = Path(folder) / NAME
    return StateFile(path, ANY_BOOT, VERSION, outlasts_boots=True) if folder else None


def with_labels(config: Expect) -> tuple[Expect, list[Missing]]:
    """Return the configuration with what labels of the node say, and a reason for each bad label.

    A label wins over the configuration.
    """
    try:
        text = read_text(config.labels_file) if config.labels_file else ""
    except (SourceAbsent, SourceFailed) as error:
        return config, [Missing("expect.labels_file", str(error))]
    allowed = {each.name: each for each in fields(Expect) if each.name not in ("slots", "learn")}
    changes: dict[str, Any] = {}
    wrong = []
    for line in filter(None, map(_LABEL.fullmatch, text.splitlines())):
        name = line[1].replace("-", "_")
        if name not in allowed or name == "labels_file":
            wrong.append(Missing(f"{PREFIX}{line[1]}", "is no label of expected hardware"))
            continue
        try:
            changes[name] = _value(line[2], getattr(config, name), allowed[name].metadata)
        except ValueError as error:
            wrong.append(Missing(f"{PREFIX}{line[1]}", f'is "{line[2][:40]}", but must be {error}'))
    return replace(config, **changes), wrong


def _value(text: str, usual: Any, bounds: Mapping[str, Any]) -> Any:
    """Return the value of a label; raise ValueError with what is allowed."""
    if isinstance(usual, str):
        return text
    highest = bounds["at_most"]
    if not re.fullmatch(r"\d{1,7}(\.\d{1,3})?" if isinstance(usual, float) else r"\d{1,7}", text):
        raise ValueError(f"a number from 0 to {highest}")
    number = type(usual)(text)
    if number > highest:
        raise ValueError(f"a number from 0 to {highest}")
    return number


def configured_parts(config: Expect) -> dict[str, tuple[Part, ...]]:
    """Return the parts that the configuration names, by kind."""
    return _by_kind(_configured(*text.split(" ", 1)) for text in config.slots)


def _configured(kind: str, slot: str) -> Part:
    """Return a part by a name as tools print it: 00000000:3B:00.0, /dev/nvme0n1."""
    if kind in ("gpu", "nvlink"):
        gpu, slash, link = slot.partition("/")
        slot = f"{pci_address(gpu) or gpu}{slash}{link}"
    return Part(kind, slot.removeprefix("/dev/"))


class LearnedHardware:
    """The hardware that was learned: each kind at the second look in a row that shows it whole.

    Nothing is forgotten before the file is removed from its directory; a directory that is gone
    with it, as an unmounted one, or that cannot be read removes nothing. Blocks.
    """

    def __init__(self, file: StateFile | None, path: Path | None) -> None:
        self._file = file
        self._path = path
        self._parts: dict[str, tuple[Part, ...]] | None = None
        self._before: dict[str, tuple[Part, ...]] = {}
        self._folder: tuple[int, int] | None = None  # in which the file was at the last look

    def parts(self) -> Mapping[str, tuple[Part, ...]]:
        """Return what was learned by kind, after a look whether the file is still there."""
        if self._is_removed() or self._parts is None:
            self._parts = (self._file.load(decoded) if self._file else None) or {}
        return self._parts

    def _is_removed(self) -> bool:
        """Tell whether the file has gone since the last look, but not the directory it was in."""
        if self._path is None:
            return False
        folder, before = _number_of(self._path.parent), self._folder
        if is_there(self._path):
            self._folder = folder
            return False
        if before is None or folder != before:
            return False
        self._folder = None
        return True

    def see(self, hardware: HardwareNow) -> None:
        """Learn the kinds that are not known yet and were the same at the look before."""
        known = dict(self.parts())
        whole = {kind: found.parts for kind, found in hardware.found.items() if found.is_whole}
        new = {
            kind: parts
            for kind, parts in whole.items()
            if kind not in known and parts and self._before.get(kind) == parts
        }
        self._before = whole
        if not new:
            if self._file:
                self._file.save_again()
            return
        self._parts = known | new
        if self._file:
            self._file.save(dump({"parts": encoded(self._parts)}, ANY_BOOT, VERSION))


def _number_of(folder: Path) -> tuple[int, int] | None:
    """Return what tells a directory from one mounted in its place; None if it cannot be read."""
    try:
        status = folder.stat()
    except OSError:
        return None  # it is gone, or its disk has failed
    return status.st_dev, status.st_ino


def encoded(parts: Mapping[str, Iterable[Part]]) -> list[list[str]]:
    """Return the parts as JSON."""
    return [
        [each.kind, each.slot, each.detail, each.identity] for kind in parts for each in parts[kind]
    ]


def decoded(document: Mapping[str, Any]) -> dict[str, tuple[Part, ...]]:
    """Return the parts in a state file; raise one of `MISFITS`."""
    return _by_kind(_decoded(document["parts"]))


def _decoded(rows: Any) -> Iterator[Part]:
    for row in rows[:MAX_PARTS]:
        kind, slot, detail, identity = row
        if kind not in WORDS or not all(isinstance(each, str) for each in row):
            raise ValueError("it names a kind that is not known")
        yield Part(kind, slot[:MAX_TEXT], detail[:MAX_TEXT], identity[:MAX_TEXT])


def _by_kind(parts: Iterable[Part]) -> dict[str, tuple[Part, ...]]:
    found: dict[str, tuple[Part, ...]] = {}
    for part in parts:
        found[part.kind] = (*found.get(part.kind, ()), part)
    return found
