"""Every reason the program can give is explained."""

import re
from pathlib import Path

from exporter.model.gpu import EXPIRED
from exporter.probes.nvml.known_gpu import TOO_SLOW
from exporter.probes.nvml.library import REASONS
from exporter.sources.gpu.cache import NOT_LISTED
from exporter.sources.gpu.quarantine import HUNG
from exporter.sources.gpu.smi_fields import ABSENT
from exporter.sources.gpu.smi_output import EXIT_CODES, SENTENCES

PAGE = Path(__file__).resolve().parent.parent / "docs/troubleshooting.md"
SAID_IN_PASSING = {
    "ok",
    "pending",
    "disabled",
    "no_driver",
    "timeout",
    "stuck",
    "crashed",
    "crashes",
    "released",
    "access_lost",
    "no_program",
    "garbage",
    "flood",
    "duplicate_uuid",
    "no_identity",
    "not_said",
    HUNG,
    EXPIRED,
}


def test_every_reason_is_explained() -> None:
    """Each word has a row that says what it means and what to do."""
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    explained = {word for word, meaning, fix in rows if meaning and fix}
    words = {*REASONS.values(), *ABSENT.values(), *EXIT_CODES.values(), TOO_SLOW, NOT_LISTED}
    words |= {word for _, word in SENTENCES} | SAID_IN_PASSING
    assert words - explained == set()
