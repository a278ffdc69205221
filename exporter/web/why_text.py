"""`/why` in sentences for people: first what is broken and why, then in one line what is well."""

from collections.abc import Iterable, Iterator
from typing import Any

MAX_LINES = 10
MAX_NAMES = 6
"""What is named of what could not be judged, unless everything is asked for."""


def why_text(document: dict[str, Any], *, everything: bool = False) -> str:
    """The document of `/why` as text; `everything` also names what is well, one line each."""
    subject = document["subject"]
    lines = [f"{_name(subject)} on {document['node']}"]
    lines += [f"waits for {_name(row['entity'])}: {row['evidence']}" for row in document["waits"]]
    lines += _causes(document["causes"])
    broken = [cause["fault"]["entity"] for cause in document["causes"]]
    well = [row for row in document["healthy"] if row["entity"] not in broken]
    unknown = document["unknown"]
    if everything:
        lines += _section("Judged and well:", map(_all_named, well))
        lines += _section("Could not be judged:", map(_all_named, unknown))
    else:
        lines += _counted(well, "other " if broken else "")
        some = [*map(_named, unknown[:MAX_LINES]), *_more(len(unknown) - MAX_LINES)]
        lines += _section("Could not be judged:", some)
    return "\n".join(lines) + "\n"


def _causes(causes: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Each cause with the way to it and what to do."""
    number = 0
    for number, cause in enumerate(causes, start=1):
        yield f"{number}. {cause['fault']['summary']} ({cause['fault']['severity']})"
        yield from (f"   {step}" for step in cause["path"])
        yield f"   do: {cause['fault']['action']}"
    if not number:
        yield "Nothing that was looked at is broken."


def _counted(rows: list[dict[str, Any]], word: str) -> Iterator[str]:
    """One line: how many components nothing is wrong with, and of what kinds."""
    kinds: dict[str, int] = {}
    for row in rows:
        kind = row["entity"]["hw_type"]
        kinds[kind] = kinds.get(kind, 0) + 1
    if kinds:
        said = "things were judged and are well"
        said = said if len(rows) > 1 else "thing was judged and is well"
        which = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        yield f"{len(rows)} {word}{said}: {which}"


def _section(title: str, rows: Iterable[str]) -> Iterator[str]:
    """A title with lines below it; nothing without lines."""
    lines = [f"   {row}" for row in rows]
    yield from [title, *lines] if lines else []


def _all_named(row: dict[str, Any]) -> str:
    return f"{_name(row['entity'])}: {', '.join(row['rules'])}"


def _named(row: dict[str, Any]) -> str:
    names = [*row["rules"][:MAX_NAMES], *_more(len(row["rules"]) - MAX_NAMES)]
    return f"{_name(row['entity'])}: {', '.join(names)}"


def _more(number: int) -> list[str]:
    return [f"and {number} more"] if number > 0 else []


def _name(entity: dict[str, str]) -> str:
    return f"{entity['hw_type']} {entity['hw_name']}"
