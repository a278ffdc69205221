"""Errors that amdgpu counts by block of the chip (RAS), and pages of memory taken out of use.

https://docs.kernel.org/gpu/amdgpu/ras.html
"""

import re
from typing import Any

from exporter.collectors.vendors.card_files import CardFiles

COUNT = re.compile(r"^(ue|ce|de): ([0-9]{1,15})$", re.MULTILINE)
FILE = re.compile(r"(?:aca_(?P<newer>[a-z0-9_]{1,24})|(?P<older>[a-z0-9_]{1,24})_err_count)")
"""Chips with an Accelerator Check Architecture (MI300 and newer) have the first form only."""

BAD_PAGE = re.compile(r"^0x[0-9a-f]{1,16} : 0x[0-9a-f]{1,16} : ([RPF])\s*$", re.MULTILINE)
FEATURES = re.compile(r"feature mask: 0x([0-9a-fA-F]{1,16})")
TYPES = {"ce": "corrected", "ue": "uncorrected", "de": "deferred"}
MEMORY_FEATURE = 1
MAX_BLOCKS = 32
MAX_PAGES_BYTES = 256 * 1024


def read_ras(files: CardFiles, *, with_locations: bool) -> dict[str, Any]:
    """Read all of it; nothing where the chip has no RAS.

    The driver counts since it was loaded. Deferred errors are uncorrected ones that nobody has
    used yet.
    """
    totals: dict[str, int] = {}
    rows: list[tuple[str, str, str, float]] = []
    for block, name in _blocks(files):
        text = files.text(f"ras/{name}", 256) or ""
        for kind, digits in COUNT.findall(text):
            totals[TYPES[kind]] = totals.get(TYPES[kind], 0) + int(digits)
            rows.append((TYPES[kind], "volatile", block, int(digits)))
    features = FEATURES.search(files.text("ras/features", 256) or "")
    return {
        "ecc_enabled": bool(int(features[1], 16) & MEMORY_FEATURE) if features else None,
        "ecc_errors_total": tuple(
            (kind, "volatile", count) for kind, count in sorted(totals.items())
        )
        or None,
        "ecc_location_errors_total": tuple(rows) or None if with_locations else None,
        **_pages(files),
    }


def _blocks(files: CardFiles) -> list[tuple[str, str]]:
    """List the blocks with the names of their files."""
    matches = (FILE.fullmatch(name) for name in files.names("ras"))
    return [(match["newer"] or match["older"], match[0]) for match in matches if match][:MAX_BLOCKS]


def _pages(files: CardFiles) -> dict[str, Any]:
    """Count bad pages: those not used any more, and those that wait for a reset or failed to be."""
    text = files.text("ras/gpu_vram_bad_pages", MAX_PAGES_BYTES)
    if text is None:
        return {}
    states = BAD_PAGE.findall(text)
    return {
        "retired_pages_total": (("uncorrected", states.count("R")),),
        "retired_pages_pending": "P" in states or "F" in states,
    }
