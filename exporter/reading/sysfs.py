"""Reads kernel files with single values, and records which could not be read and why.

Numbers that are not written as kernels write them are None, never zero.
"""

import os
from pathlib import Path

from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent, SourceFailed

MAX_SKIPPED = 50
MAX_VALUE_BYTES = 4096
LARGEST_COUNTER = 2**64 - 1
LONGEST_NUMBER = 24


class FieldReader:
    """Reads single values; a file that is not there is None, one that is wrong is skipped.

    Paths of many files are strings: to make a `Path` takes as long as to read the file.
    """

    def __init__(self, max_skipped: int = MAX_SKIPPED) -> None:
        self._max_skipped = max_skipped
        self._missing: list[Missing] = []

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The fields skipped so far, at most fifty, with their reasons."""
        return tuple(self._missing)

    def skip(self, field: str, reason: str) -> None:
        """Remember one field that is left out."""
        if len(self._missing) < self._max_skipped:
            self._missing.append(Missing(clean_text(field), clean_text(reason)))

    def truncated(self, limit: int, count: int, devices: str) -> int:
        """Count the devices beyond the limit, and remember that there are any."""
        beyond = max(0, count - limit)
        if beyond:
            self.skip(devices, f"{beyond} more than are shown at most")
        return beyond

    def text(self, field: str, path: Path | str, limit: int = MAX_VALUE_BYTES) -> str | None:
        """Read the text of a file; None where there is none."""
        try:
            return read_text(path, limit)
        except SourceAbsent:
            return None  # hardware without it, or it has just gone
        except SourceFailed as failed:
            self.skip(field, str(failed))
            return None

    def label(self, field: str, path: Path | str) -> str | None:
        """Read the text of a file as a label; None where it is empty."""
        text = self.text(field, path)
        return None if text is None else clean_text(text) or None

    def count(self, field: str, path: Path | str) -> int | None:
        """Read a counter: 0 to 2⁶⁴ − 1."""
        text = self.text(field, path, 64)
        number = None if text is None else parse_counter(text)
        if text is not None and number is None:
            self.skip(field, f"{path} does not hold a counter")
        return number

    def number(self, field: str, path: Path | str) -> int | None:
        """Read a whole number, which may be below zero."""
        text = self.text(field, path, 64)
        number = None if text is None else parse_integer(text)
        if text is not None and number is None:
            self.skip(field, f"{path} does not hold a number")
        return number


def parse_counter(word: str) -> int | None:
    """Parse decimal digits, 0 to 2⁶⁴ − 1; None for anything else, negative numbers too."""
    digits = word.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > LONGEST_NUMBER:
        return None
    number = int(digits)
    return number if number <= LARGEST_COUNTER else None


def parse_integer(word: str) -> int | None:
    """Parse a whole number that may be below zero, such as a temperature in thousandths."""
    text = word.strip()
    number = parse_counter(text.removeprefix("-"))
    if number is None:
        return None
    return -number if text.startswith("-") else number


def parse_decimal(word: str) -> float | None:
    """Parse a number with or without a fraction, not negative."""
    before, _, after = word.strip().partition(".")
    units, fraction = parse_counter(before), parse_counter(after or "0")
    return None if units is None or fraction is None else float(f"{before}.{after or 0}")


class MonotonicCounters:
    """Keeps counters from stepping back although their files do, now and then.

    A step back of at most `tolerance` is held at the value before; a longer one is believed: the
    counter began anew.
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._highest: dict[str, float] = {}

    def update(self, name: str, value: float) -> float:
        """Take what the file says; return the value to show."""
        before = self._highest.get(name, value)
        shown = before if value < before <= value + self._tolerance else value
        self._highest[name] = shown
        return shown


class WrappingCounters:
    """Adds up counters that start again at zero behind a known highest value."""

    def __init__(self) -> None:
        self._raw: dict[str, int] = {}
        self._total: dict[str, int] = {}

    def update(self, name: str, raw: int, highest: int) -> int:
        """Take what the file says; return the first value seen and every step since, summed.

        Without a usable `highest`, a step back means that the counter began anew at zero.
        """
        before = self._raw.get(name, 0)
        step = raw - before
        if step < 0:
            step = raw + highest - before if highest >= before else raw
        self._raw[name] = raw
        self._total[name] = self._total.get(name, 0) + step
        return self._total[name]


def names_in(folder: Path, what: str) -> list[str]:
    """List a folder, sorted; raise SourceAbsent where it is not there or empty.

    `what` says in the plural what was looked for.
    """
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, not paths
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SourceAbsent(f"{folder} is not there: no {what}") from error
    except OSError as error:
        raise SourceFailed(f"{folder} cannot be listed: {error.strerror}") from error
    if not names:
        raise SourceAbsent(f"{folder} is empty: no {what}")
    return names


def names_or_none(folder: Path) -> list[str]:
    """List a folder that may be missing, sorted."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, not paths
    except OSError:
        return []  # hardware without it, or it has just gone


def link_name(path: Path) -> str | None:
    """Read the last part of where a link points; None where there is no link."""
    try:
        return clean_text(path.readlink().name) or None
    except OSError:
        return None  # hardware without it, or it has just gone
