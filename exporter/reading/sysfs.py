"""Reads kernel files with single values, and records which could not be read and why.

A number in another form than the kernel's is None, never zero.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.reading.files import SMALL_FILE_BYTES, read_text
from exporter.reading.source import SourceAbsent, SourceFailed

MAX_SKIPPED = 50
LARGEST_COUNTER = 2**64 - 1
LONGEST_NUMBER = 24
OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


class FieldReader:
    """Reads single values; a missing file is None, a malformed one is skipped with a reason.

    Paths of many files are strings: making a `Path` takes as long as reading the file.
    """

    def __init__(self) -> None:
        self._missing: list[Missing] = []

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The skipped fields so far, at most fifty, with the reasons."""
        return tuple(self._missing)

    def skip(self, field: str, reason: str) -> None:
        """Record a skipped field and the reason."""
        if len(self._missing) < MAX_SKIPPED:
            self._missing.append(Missing(clean_text(field), clean_text(reason)))

    def truncated(self, limit: int, count: int, devices: str) -> int:
        """Return the number of devices beyond the limit, and record them as skipped."""
        beyond = max(0, count - limit)
        if beyond:
            self.skip(devices, f"{beyond} more than are shown at most")
        return beyond

    def text(self, field: str, path: Path | str, limit: int = SMALL_FILE_BYTES) -> str | None:
        """Read the text of a file; None if the file is missing or unreadable.

        Raise SourceFailed where no file can be opened: nothing is known of any field then.
        """
        try:
            return read_text(path, limit, is_one_piece=limit <= SMALL_FILE_BYTES)
        except SourceAbsent:
            return None  # the hardware lacks the file, or has just gone
        except SourceFailed as failed:
            if getattr(failed.__cause__, "errno", None) in OUT_OF_DESCRIPTORS:
                raise
            self.skip(field, str(failed))
            return None

    def label(self, field: str, path: Path | str) -> str | None:
        """Read the text of a file as a label; None if it is empty."""
        text = self.text(field, path)
        return None if text is None else clean_text(text) or None

    def count(self, field: str, path: Path | str) -> int | None:
        """Read a counter from 0 to 2⁶⁴ − 1; None if there is none."""
        return self._parsed(field, path, parse_counter, "a counter")

    def number(self, field: str, path: Path | str) -> int | None:
        """Read a whole number, which may be negative; None if there is none."""
        return self._parsed(field, path, parse_integer, "a number")

    def _parsed(
        self, field: str, path: Path | str, parse: Callable[[str], int | None], what: str
    ) -> int | None:
        text = self.text(field, path, 64)
        number = None if text is None else parse(text)
        if text is not None and number is None:
            self.skip(field, f"{path} does not hold {what}")
        return number


def parse_counter(word: str) -> int | None:
    """Parse decimal digits, 0 to 2⁶⁴ − 1; None for other texts, negative numbers too."""
    digits = word.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > LONGEST_NUMBER:
        return None
    number = int(digits)
    return number if number <= LARGEST_COUNTER else None


def parse_integer(word: str) -> int | None:
    """Parse a whole number, which may be negative, such as millidegrees; None for other texts."""
    text = word.strip()
    number = parse_counter(text.removeprefix("-"))
    if number is None:
        return None
    return -number if text.startswith("-") else number


def parse_decimal(word: str) -> float | None:
    """Parse a non-negative decimal number; None for other texts."""
    before, _, after = word.strip().partition(".")
    units, fraction = parse_counter(before), parse_counter(after or "0")
    return None if units is None or fraction is None else float(f"{before}.{after or 0}")


def names_in(folder: Path, what: str) -> list[str]:
    """List a folder, sorted; raise SourceAbsent if it is missing or empty.

    `what` names the missing hardware, in the plural.
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


def names_or_none(folder: Path | str) -> list[str]:
    """List a folder, sorted; empty if it is missing."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, not paths
    except OSError:
        return []  # the hardware lacks the folder, or has just gone


def link_name(path: Path | str) -> str | None:
    """Return the last part of a link's target; None without a link."""
    try:
        return clean_text(os.readlink(path).rpartition("/")[2]) or None  # noqa: PTH115 - no Path: slow
    except OSError:
        return None  # the hardware lacks the link, or has just gone
