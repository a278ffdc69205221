"""Silences: saved over restarts, read from files, and applied to faults."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from exporter.decode import Rules, decode_strict
from exporter.durations import ALLOWED, parse_duration, parse_moment
from exporter.faults.entities.node import NODE
from exporter.faults.entities.silenced import covered, names_of, silenced
from exporter.faults.rules.loader import MAX_FILE_BYTES, toml_files
from exporter.faults.values import did_you_mean
from exporter.model.silence import Silence, plain
from exporter.model.verdict import Conclusions, Key, Subject
from exporter.record import replace
from exporter.regular_file import FileUnusable, read_text
from exporter.state import StateFile, count_of, dump
from exporter.toml import tomllib

NAME = "silences.json"
VERSION = 1
EVERY_BOOT = "every boot"
"""The boot id of the state file: silences also count after a reboot."""

RETRY_SECS = 60.0
MAX_SILENCES = 100
MAX_SECS = 90 * 86_400.0
CLOCK_SECS = 86_400.0
"""A silence that begins later than so long from now was made while the clock was ahead."""

MAX_TEXT_CHARS = {"rule": 80, "component": 128, "hw_type": 40, "by": 64, "reason": 200}
KEYS = ("rule", "component", "for", "until", "reason", "by")
NARROWING = ("rule", "component")
"""Keys that narrow a silence; an empty text is a variable of the shell that was not set."""

KEYS_OF_FILES = ("rule", "component", "until", "reason", "by")
UNKNOWN = "unknown"
NONE: tuple[tuple[Silence, ...], int] = ((), 0)
"""No silences of requests, and no id that was given to one."""

log = logging.getLogger("exporter.faults")


class BadSilence(Exception):
    """An invalid silence; the message is one sentence."""


def state_file(folder: Path) -> StateFile:
    """Return the file of silences in the state directory."""
    return StateFile(folder / NAME, EVERY_BOOT, VERSION, outlasts_boots=True)


class Silences:
    """The silences of this node, from requests and from `files` (files and directories).

    `rules` are the names of the loaded rules; `rules_of_all` returns the names of all rules, which
    files for many nodes may use. A silence of the node is one of `node`, whatever the node was
    called when it was added; an empty `node` changes no name. `save` and `reread` block.
    """

    def __init__(
        self,
        file: StateFile | None,
        files: Sequence[str],
        rules: Collection[str],
        rules_of_all: Callable[[], Iterable[str]],
        node: str = "",
    ) -> None:
        self._file = file
        self._places = tuple(map(Path, files))
        self._rules = rules
        self._rules_of_all = rules_of_all
        decode = partial(_decode, node=node)
        self._asked, self._last_id = (file.load(decode) if file else None) or NONE
        self._of_files: tuple[Silence, ...] = ()
        self._covered: dict[tuple[str, ...], frozenset[Key]] = {}
        self._seen: Mapping[str, object] = {}
        self.mistakes: tuple[str, ...] = ()

    @property
    def has_places(self) -> bool:
        """Whether there may be files of silences."""
        return bool(self._places)

    def renewed(
        self,
        files: Sequence[str],
        rules: Collection[str],
        rules_of_all: Callable[[], Iterable[str]],
    ) -> "Silences":
        """Return these silences with other files, which are not read yet, and other rules."""
        made = Silences(None, files, rules, rules_of_all)
        made._file, made._asked, made._last_id = self._file, self._asked, self._last_id
        made._of_files = self._of_files if files else ()
        made._covered = self._covered
        return made

    def active(self, now: float) -> tuple[Silence, ...]:
        """Return the silences that last beyond `now` (since the epoch), the next to end first.

        A silence that was made while the clock was ahead does not last until that time.
        """
        asked = (it for it in self._asked if it.since <= now + CLOCK_SECS)
        return tuple(
            sorted(
                (it for it in (*asked, *self._of_files) if it.until > now),
                key=lambda it: it.until,
            )
        )

    def add(self, wanted: Mapping[str, Any], conclusions: Conclusions, now: float) -> Silence:
        """Add the silence of a document with KEYS; raise BadSilence."""
        _check_keys(wanted, KEYS)
        self._asked = tuple(it for it in self._asked if it.until > now)
        if len(self._asked) >= MAX_SILENCES:
            raise BadSilence(f"there are {MAX_SILENCES} silences already; end one of them first")
        component = _text(wanted, "component")
        subject = _subject(component, conclusions) if component else None
        ids = {it.id for it in self._asked}
        number = next(it for it in count(self._last_id + 1) if str(it) not in ids)
        made = Silence(
            id=str(number),
            until=_until(wanted, now),
            by=_text(wanted, "by") or UNKNOWN,
            reason=_text(wanted, "reason", is_needed=True),
            since=now,
            rule=_rule(_text(wanted, "rule"), self._rules),
            hw_type=subject.hw_type if subject else "",
            component=subject.hw_id if subject else "",
        )
        self._asked, self._last_id = (*self._asked, made), number
        return made

    def end(self, id_: str, now: float) -> Silence:
        """End a silence before its time; raise BadSilence."""
        for silence in self.active(now):
            if silence.id == id_ and silence.file:
                raise BadSilence(f"silence {id_} is in {silence.file}: remove it there")
            if silence.id == id_:
                self._asked = tuple(it for it in self._asked if it.id != id_)
                return silence
        raise BadSilence(f"there is no silence {id_[:40]!r}; GET /silences lists all")

    @property
    def has_file(self) -> bool:
        """Whether silences of requests can be kept over a restart."""
        return self._file is not None

    def save(self) -> bool:
        """Save the silences of requests; False if that is not possible."""
        if self._file is None:
            return False
        rows = [asdict(silence) for silence in self._asked]
        content = {"silences": rows, "last_id": self._last_id}
        return self._file.save(dump(content, EVERY_BOOT, VERSION))

    def reread(self, now: float) -> None:
        """Read the files of silences again if a file has changed; log each mistake once.

        Files with a mistake are read each minute too: the clock may be wrong.
        """
        if not self._places:
            return
        files = [path for place in self._places for path in toml_files(place)]
        marks = {str(path): _mark(path) for path in files}
        if self.mistakes:
            marks[""] = now // RETRY_SECS
        if marks == self._seen:
            return
        self._seen = marks
        mistakes: list[str] = []
        found: list[Silence] = []
        for path in files:
            found += self._read(path, now, mistakes)
        if len(found) > MAX_SILENCES:
            mistakes.append(f"{files[-1]}: silences after the first {MAX_SILENCES} are left out")
        known = {replace(silence, since=0.0): silence for silence in self._of_files}
        self._of_files = tuple(known.get(replace(it, since=0.0), it) for it in found[:MAX_SILENCES])
        before, self.mistakes = self.mistakes, tuple(mistakes)
        for mistake in mistakes:
            if mistake not in before:
                log.warning("silences: %s", mistake)

    def _read(self, path: Path, now: float, mistakes: list[str]) -> Iterator[Silence]:
        """Yield the silences of one file; a silence with a mistake is skipped."""
        try:
            table = tomllib.loads(read_text(path, MAX_FILE_BYTES))
        except FileUnusable as error:
            mistakes.append(f"{path} {error}")
            return
        except (ValueError, RecursionError) as error:
            mistakes.append(f"{path} is not valid TOML: {error}")
            return
        rows = table.pop("silence", [])
        if table or not isinstance(rows, list):
            mistakes.append(f"{path}: silences must be written as [[silence]]")
            return
        for number, row in enumerate(rows, start=1):
            try:
                yield self._of_file(row, path, number, now)
            except BadSilence as bad:
                mistakes.append(f"{path}: silence {number}: {bad}")

    def _of_file(self, row: object, path: Path, number: int, now: float) -> Silence:
        if not isinstance(row, dict):
            raise BadSilence("must be a table")
        _check_keys(row, KEYS_OF_FILES)
        name = _text(row, "rule")
        known = self._rules if name in ("", *self._rules) else frozenset(self._rules_of_all())
        return Silence(
            id=f"{path.name}:{number}",
            until=_until(row, now, may_be_over=True),
            by=_text(row, "by") or path.name,
            reason=_text(row, "reason", is_needed=True),
            since=now,
            rule=_rule(name, known),
            component=_text(row, "component"),
            file=str(path),
        )

    def applied(self, conclusions: Conclusions, now: float) -> Conclusions:
        """Return the conclusions with the silence of each silenced fault."""
        active = self.active(now)
        known = [self._covered.get(_place(silence), frozenset()) for silence in active]
        found = [covered(*row, conclusions) for row in zip(active, known, strict=True)]
        self._covered = dict(zip(map(_place, active), found, strict=True))
        return silenced(conclusions, active, found) if active else conclusions


def _place(silence: Silence) -> tuple[str, ...]:
    """Return what stays of a silence when its file is read again."""
    return silence.file, silence.id, silence.hw_type, silence.component


def _subject(name: str, conclusions: Conclusions) -> Subject:
    """Find the component of this id or name; raise BadSilence."""
    about = dict.fromkeys((*conclusions.subjects, *(fault.subject for fault in conclusions.faults)))
    named = [subject for subject in about if subject.hw_id == name] or [
        subject for subject in about if plain(name) in map(plain, names_of(subject))
    ]
    if named:
        return named[0]
    known = dict.fromkeys(
        each for it in about if it.kind not in ("process", "workload") for each in names_of(it)[:2]
    )
    raise BadSilence(f"there is no component {name!r}; {did_you_mean(name, known)}")


def _rule(name: str, known: Collection[str]) -> str:
    if name and name not in known:
        raise BadSilence(f"there is no rule {name!r}; {did_you_mean(name, known)}")
    return name


def _check_keys(wanted: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    unknown = [key for key in wanted if key not in allowed]
    if unknown:
        raise BadSilence(f"unknown key {unknown[0][:40]!r}; there are {', '.join(allowed)}")


def _text(wanted: Mapping[str, Any], key: str, *, is_needed: bool = False) -> str:
    value, most = wanted.get(key, ""), MAX_TEXT_CHARS[key]
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise BadSilence(f"{key} must be a text of at most {most} printable characters")
    if is_needed and not value.strip():
        raise BadSilence(f"{key} is missing")
    if key in NARROWING and key in wanted and not value.strip():
        raise BadSilence(f"{key} is empty; without {key} the silence is for every {key}")
    return value.strip()


def _until(wanted: Mapping[str, Any], now: float, *, may_be_over: bool = False) -> float:
    """Return when a silence ends, in seconds since the epoch; raise BadSilence."""
    if ("for" in wanted) == ("until" in wanted):
        raise BadSilence("give either for or until")
    end = _after(wanted["for"], now) if "for" in wanted else _moment(wanted["until"])
    if end <= now and not may_be_over:
        raise BadSilence("until is in the past")
    if end - now > MAX_SECS:
        raise BadSilence(f"a silence may last {MAX_SECS / 86_400:.0f} days at most")
    return end


def _after(value: object, now: float) -> float:
    secs = parse_duration(value) if isinstance(value, str) else None
    if not secs:
        raise BadSilence(f"for must be {ALLOWED}")
    return now + secs


def _moment(value: object) -> float:
    """Return a time of TOML or RFC 3339 in seconds since the epoch; raise BadSilence."""
    text = value.isoformat() if isinstance(value, datetime) else value
    at = parse_moment(text)
    if at is None:
        raise BadSilence("until must be a time with its offset, such as 2030-01-31T18:00:00Z")
    return at


def _mark(path: Path) -> object:
    try:
        status = path.stat()
    except OSError as error:
        return error.errno
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _decode(document: Mapping[str, Any], node: str) -> tuple[tuple[Silence, ...], int]:
    """Decode silences and the last id of the state file's document; raise one of MISFITS."""
    kept = map(_silence, document["silences"][:MAX_SILENCES])
    renamed = (replace(it, component=node) if it.hw_type == NODE and node else it for it in kept)
    return tuple(renamed), count_of(document.get("last_id", 0))


def _silence(row: object) -> Silence:
    silence = decode_strict(Silence, row, Rules(), "silence")
    if not 0 <= silence.until - silence.since <= MAX_SECS + 1:
        raise ValueError("a silence is longer than it may be")
    return silence
