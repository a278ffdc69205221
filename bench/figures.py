"""What was measured, against what was allowed, and how both are written down."""

import json
import platform
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Figure:
    """One number; `budget` is the most it may be, or the least where `at_least`."""

    name: str
    value: float
    unit: str = ""
    budget: float | None = None
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """`held`, `MISSED`, or nothing where there is no budget."""
        if self.budget is None:
            return ""
        is_held = self.value >= self.budget if self.at_least else self.value <= self.budget
        return "held" if is_held else "MISSED"

    @property
    def allowed(self) -> str:
        """The budget in words."""
        if self.budget is None:
            return ""
        return f"{'≥' if self.at_least else '≤'} {shown(self.budget)} {self.unit}".rstrip()


T = TypeVar("T")


def measured(
    parts: Mapping[str, Callable[[Path, T], Iterable[Figure]]], only: list[str] | None, effort: T
) -> list[Figure]:
    """Return the figures of all parts, or of some by name, each said as soon as it is known."""
    figures: list[Figure] = []
    for name, part in parts.items():
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory(prefix="hw-bench-") as folder:
            for figure in part(Path(folder), effort):
                reported = f"{figure.name}: {figure.value:.4g} {figure.unit} {figure.verdict}"
                print(f"  {reported}", flush=True)
                figures.append(figure)
    print(f"\n{table(figures)}\n")
    return figures


def shown(value: float) -> str:
    """Three significant digits, whole numbers whole."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}"


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as a table in Markdown."""
    rows = [("figure", "measured", "budget", "")]
    rows += [(f.name, f"{shown(f.value)} {f.unit}".rstrip(), f.allowed, f.verdict) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def write(figures: list[Figure], folder: Path, date: str, mode: str) -> Path:
    """Write `<date>.json` and `<date>.md` into the folder; the path of the second."""
    machine = f"{platform.machine()}, {_processors()}, Python {platform.python_version()}"
    entries = [{**asdict(figure), "verdict": figure.verdict} for figure in figures]
    document = {"date": date, "mode": mode, "machine": machine, "figures": entries}
    folder.mkdir(exist_ok=True)
    (folder / f"{date}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    page = folder / f"{date}.md"
    page.write_text(f"# Figures of {date}\n\nMode {mode}; {machine}.\n\n{table(figures)}\n")
    return page


def _processors() -> str:
    text = Path("/proc/cpuinfo").read_text()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return f"{len(names)} × {names[0]}" if names else "processor unknown"
