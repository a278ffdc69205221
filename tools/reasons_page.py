"""The tables of docs/troubleshooting.md: reasons why GPUs or values cannot be read."""

from collections.abc import Iterator, Mapping
from typing import Any

from exporter.collectors.gpu.nvml_probe.library import REASONS
from exporter.collectors.gpu.smi.output import EXIT_CODES
from exporter.toml import PACKAGE, read_shipped
from tools.tables import row, with_tables

SECTIONS = {"## The node": "node", "## One GPU": "gpu", "## One field": "field"}


def troubleshooting_page() -> str:
    """Return docs/troubleshooting.md with the tables of its reasons."""
    table = read_shipped(PACKAGE / "reports/reasons.toml")
    tables = {
        heading: [_row(reason, words) for reason, words in table[section].items()]
        for heading, section in SECTIONS.items()
    }
    return with_tables("docs/troubleshooting.md", tables)


def _row(reason: str, words: Mapping[str, Any]) -> str:
    fix = _sentence(words["fix"])
    if other := words.get("fix_in_container"):
        fix += f" In a container: {other}."
    return row(f"`{reason}`", _sentence(words["meaning"]), fix, ", ".join(_codes(reason)))


def _codes(reason: str) -> Iterator[str]:
    """Yield the codes of NVML and of nvidia-smi that become this reason."""
    for name, codes in (("NVML", REASONS), ("nvidia-smi", EXIT_CODES)):
        found = sorted(code for code, word in codes.items() if word == reason)
        if found:
            yield f"{name} {' '.join(map(str, found))}"


def _sentence(words: str) -> str:
    start = words if words.startswith("nvidia-smi") else words[0].upper() + words[1:]
    return f"{start}."
