"""Pages of docs/ whose text is written by hand, and whose tables are written anew."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def with_tables(page: str, tables: Mapping[str, Iterable[str]]) -> str:
    """Return a page with new rows in its tables: for each heading the first table behind it.

    Raises ValueError for a heading that the page does not have.
    """
    lines = (ROOT / page).read_text("utf-8").splitlines()
    for heading, rows in tables.items():
        titles = next(at for at in range(lines.index(heading), len(lines)) if lines[at][:1] == "|")
        end = next((at for at in range(titles, len(lines)) if lines[at][:1] != "|"), len(lines))
        lines[titles + 2 : end] = rows
    return "\n".join(lines) + "\n"


def introduction(page: str) -> str:
    """Return the text of a page before its first section, which is written by hand."""
    return (ROOT / page).read_text("utf-8").partition("\n\n## ")[0]


def row(*cells: object) -> str:
    """Return a row of a table, with any bar in its cells escaped."""
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def head(*titles: str) -> Iterator[str]:
    """Yield the two lines that a table begins with."""
    yield row(*titles)
    yield row(*("---" for _ in titles))
