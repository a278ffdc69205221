"""Formats numbers for people; an unknown value is a dash."""

import math
import time

from exporter.model.transition import KEPT_DAYS

UNKNOWN = "–"
KIND_NAMES = {"gpu": "GPU", "cpu": "CPU", "pcie": "PCIe device", "exporter": "source"}
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")
_LARGE = 100
_SMALL = 10
_DAY_SECS = 86_400
_AHEAD_SECS = 5.0  # a time since boot, as of a kernel line, may be a moment ahead of the wall clock
MAX_SENTENCE = 1000
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def number(value: float | None, unit: str = "") -> str:
    """Format a number, rounded, with its unit."""
    return UNKNOWN if value is None else f"{value:.0f}{unit}"


def size(value: float | None) -> str:
    """Format bytes in binary units: 71 GiB."""
    return _scaled(value, 1024.0, _BINARY)


def rate(value: float | None) -> str:
    """Format bytes per second in decimal units, as links are sold: 12.5 GB/s."""
    return _scaled(value, 1000.0, _DECIMAL)


def _scaled(value: float | None, step: float, units: tuple[str, ...]) -> str:
    if value is None:
        return UNKNOWN
    scaled, unit = float(value), 0
    while scaled >= step and unit < len(units) - 1:
        scaled /= step
        unit += 1
    digits = 0 if scaled >= _LARGE or not unit else 1
    return f"{scaled:.{digits}f}".removesuffix(".0") + f" {units[unit]}"


def used_of(used: float | None, total: float | None) -> str:
    """Format a part of a whole in one unit: 71.2 / 80 GiB."""
    if used is None or total is None:
        return f"{size(used)} / {size(total)}"
    unit = max(0, min(len(_BINARY) - 1, int(math.log(max(total, 1.0) / _SMALL, 1024.0))))
    part, whole = used / 1024.0**unit, total / 1024.0**unit
    digits = 1 if unit and whole < _LARGE else 0
    return f"{part:.{digits}f} / {whole:.{digits}f} {_BINARY[unit]}"


def duration(secs: float | None) -> str:
    """Format a duration roughly: 45 s, 12 min, 5 h, 12 days."""
    if secs is None:
        return UNKNOWN
    for per, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if secs >= 2 * per:
            return f"{secs / per:.0f} {unit}"
    return f"{max(0.0, secs):.0f} s"


def printable(text: str) -> str:
    """Replace characters that control a terminal or cannot be shown."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def one_line(sentence: str) -> str:
    """Return a sentence that is printable and at most MAX_SENTENCE characters long."""
    return printable(sentence if len(sentence) <= MAX_SENTENCE else f"{sentence[:MAX_SENTENCE]}…")


def ranges(numbers: list[int]) -> str:
    """Format numbers as ranges: 0–3, 5."""
    runs: list[list[int]] = []
    for each in sorted(numbers):
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def moment(wall: float, now: float) -> str:
    """Format a time in UTC; without the date if within a day."""
    form = "%H:%M:%SZ" if -_AHEAD_SECS <= now - wall < _DAY_SECS else "%Y-%m-%d %H:%M:%SZ"
    return time.strftime(form, time.gmtime(wall))


def kind_name(kind: str) -> str:
    """Return the display name of a component's type."""
    return KIND_NAMES.get(kind, kind.replace("_", " "))


def counted(number: int, kind: str) -> str:
    """Format a number of components: 1 GPU, 16 PCIe devices."""
    word = kind_name(kind)
    if number != 1:
        word += "es" if word.endswith("s") else "s"
    return f"{number} {word}"


def times_text(times: int) -> str:
    """Say how often a fault began in the last days; empty for the first time."""
    if times < 2:  # noqa: PLR2004 - the second time
        return ""
    which = ORDINALS[times - 1] if times <= len(ORDINALS) else f"{times}th"
    return f"{which} time in {KEPT_DAYS} days"
