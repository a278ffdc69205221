"""The tables of docs/troubleshooting.md: reasons why GPUs or values cannot be read."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from exporter.collectors.gpu.nvml_probe.library import REASONS
from exporter.collectors.gpu.smi.output import EXIT_CODES
from exporter.toml import read_shipped

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "exporter/reports/reasons.toml"
PAGE = ROOT / "docs/troubleshooting.md"
SECTIONS = {"The node": "node", "One GPU": "gpu", "One field": "field"}
HEAD = "| reason | what it means | what to do | code |\n|---|---|---|---|\n"


def troubleshooting_page() -> str:
    """Return docs/troubleshooting.md with the tables of its reasons."""
    text = PAGE.read_text("utf-8")
    table = read_shipped(TABLE)
    for title, section in SECTIONS.items():
        before, heading, after = text.partition(f"## {title}\n\n")
        rows = "".join(_row(reason, row) for reason, row in table[section].items())
        text = before + heading + HEAD + rows + re.sub(r"^(\|.*\n)*", "", after)
    return text


def _row(reason: str, row: Mapping[str, Any]) -> str:
    fix = _sentence(row["fix"])
    if other := row.get("fix_in_container"):
        fix += f" In a container: {other}."
    return f"| `{reason}` | {_sentence(row['meaning'])} | {fix} | {', '.join(_codes(reason))} |\n"


def _codes(reason: str) -> Iterator[str]:
    """Yield the codes of NVML and of nvidia-smi that become this reason."""
    for name, codes in (("NVML", REASONS), ("nvidia-smi", EXIT_CODES)):
        found = sorted(code for code, word in codes.items() if word == reason)
        if found:
            yield f"{name} {' '.join(map(str, found))}"


def _sentence(words: str) -> str:
    start = words if words.startswith("nvidia-smi") else words[0].upper() + words[1:]
    return f"{start}.".replace("|", r"\|")
