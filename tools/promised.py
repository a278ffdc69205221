"""The names of metric families that are promised: a list that grows by itself and never shrinks."""

import re

from exporter.collectors.everything import FAMILIES, LIVE_FAMILIES
from exporter.exposition.family import Family
from tools.tables import ROOT

LIST = "tests/golden/promised.txt"
STABILITY = ROOT / "docs/stability.md"

_RENAMED = re.compile(r"^\| `(hw_\w+)` \| (?:`(hw_\w+)`|gone) \|", re.MULTILINE)


def offered() -> dict[str, str]:
    """Name, type and labels of each family of this tree, as one line each."""
    families: list[Family] = [*FAMILIES, *LIVE_FAMILIES]
    return {it.name: f"{it.name} {it.type.in_text} {','.join(it.labels) or '-'}" for it in families}


def promised() -> dict[str, str]:
    """Read the lines that were promised once, by name."""
    path = ROOT / LIST
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {line.split(" ")[0]: line for line in lines}


def promised_list() -> str:
    """Everything promised before as it was, and what is new; only by hand is a line taken out."""
    return "\n".join(sorted((offered() | promised()).values())) + "\n"


def renamed() -> dict[str, str]:
    """Old names and the new ones (empty for those that are gone) of `docs/stability.md`."""
    return dict(_RENAMED.findall(STABILITY.read_text("utf-8")))


def broken(offers: dict[str, str], promises: dict[str, str], names: dict[str, str]) -> list[str]:
    """Each promise that is not kept, as a sentence; a rename that is listed keeps it."""
    found = []
    for name, line in promises.items():
        if name not in offers and name not in names:
            found.append(f"{name} is gone, and docs/stability.md does not list it as renamed")
        elif name in offers and offers[name] != line:
            found.append(f"promised was «{line}», this is «{offers[name]}»")
    found += [
        f"docs/stability.md names {new}, which is no family"
        for new in names.values()
        if new and new not in offers
    ]
    return found
