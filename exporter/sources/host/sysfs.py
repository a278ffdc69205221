"""Reading many small files of which any may be missing: what was left out, and why."""

import os
from pathlib import Path

from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.sources.files import read_text
from exporter.sources.host.numbers import signed, whole
from exporter.sources.interface import SourceAbsent, SourceFailed

MAX_GAPS = 50
MAX_VALUE_BYTES = 4096


class Gaps:
    """Reads single values; a file that is not there is None, one that is wrong is noted as well."""

    def __init__(self) -> None:
        self._missing: list[Missing] = []

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The fields left out so far, at most fifty."""
        return tuple(self._missing)

    def note(self, field: str, reason: str) -> None:
        """Remember one field that is left out."""
        if len(self._missing) < MAX_GAPS:
            self._missing.append(Missing(clean_text(field), clean_text(reason)))

    def beyond(self, limit: int, found: int, what: str) -> int:
        """How many of the devices found are more than are shown; noted where there are any."""
        left_out = max(0, found - limit)
        if left_out:
            self.note(what, f"{left_out} more than are shown at most")
        return left_out

    def text(self, field: str, path: Path, limit: int = MAX_VALUE_BYTES) -> str | None:
        """The text of the file; None without a note where there is none."""
        try:
            return read_text(path, limit)
        except SourceAbsent:
            return None  # hardware without it, or it has just gone
        except SourceFailed as failed:
            self.note(field, str(failed))
            return None

    def word(self, field: str, path: Path) -> str | None:
        """The text of the file fit for a label; None where it is empty."""
        text = self.text(field, path)
        return None if text is None else clean_text(text) or None

    def count(self, field: str, path: Path) -> int | None:
        """The counter in the file: 0 to 2⁶⁴ − 1."""
        text = self.text(field, path, 64)
        number = None if text is None else whole(text)
        if text is not None and number is None:
            self.note(field, f"{path} does not hold a counter")
        return number

    def number(self, field: str, path: Path) -> int | None:
        """The whole number in the file, which may be below zero."""
        text = self.text(field, path, 64)
        number = None if text is None else signed(text)
        if text is not None and number is None:
            self.note(field, f"{path} does not hold a number")
        return number


def names_in(folder: Path, what: str) -> list[str]:
    """The names in a folder, sorted; raises SourceAbsent where it is not there or empty.

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
    """The names in a folder that may be missing, sorted."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, not paths
    except OSError:
        return []  # hardware without it, or it has just gone


def link_name(path: Path) -> str | None:
    """The last part of where a link points; None where there is no link."""
    try:
        return clean_text(path.readlink().name) or None
    except OSError:
        return None  # hardware without it, or it has just gone
