"""The fix for each reason why GPUs or processes cannot be read, from `reasons.toml`."""

from pathlib import Path
from typing import NamedTuple

from exporter.toml import read_shipped


class Remedy(NamedTuple):
    """The meaning of a reason, and the fix on the host and, if another, in a container."""

    meaning: str
    host: str
    container: str = ""

    def fix(self, *, in_container: bool) -> str:
        """Return the fix for this place."""
        return self.container if in_container and self.container else self.host


def _remedies(section: str) -> dict[str, Remedy]:
    """Return the remedies of a section by reason, without Markdown."""
    keys = ("meaning", "fix", "fix_in_container")
    return {
        reason: Remedy(*(row.get(key, "").replace("`", "") for key in keys))
        for reason, row in _TABLE[section].items()
    }


_TABLE = read_shipped(Path(__file__).with_name("reasons.toml"))

NODE_REASONS = _remedies("node")
GPU_REASONS = _remedies("gpu")
VENDOR_REASONS = _remedies("vendor")
ATTRIBUTION_REASONS = _remedies("processes")
EBPF_REASONS = _remedies("ebpf")
"""Remedies by words in the reason of a source."""


def gpu_meaning(reason: str | None) -> str:
    """Say in a few words why a GPU has no current values; empty for an unknown reason."""
    remedy = (NODE_REASONS | GPU_REASONS).get(reason or "")
    words = remedy.meaning if remedy else (reason or "").replace("_", " ")
    return words.partition(";")[0].partition(" (")[0]
