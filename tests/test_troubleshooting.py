"""Every reason the program can give is explained."""

import re
from pathlib import Path

from exporter.collectors.gpu.cache import NOT_LISTED
from exporter.collectors.gpu.nvml_probe.known_gpu import TOO_SLOW
from exporter.collectors.gpu.nvml_probe.library import REASONS
from exporter.collectors.gpu.quarantine import HUNG
from exporter.collectors.gpu.smi.fields import ABSENT
from exporter.collectors.gpu.smi.output import EXIT_CODES, SENTENCES
from exporter.collectors.gpu.values import EXPIRED
from exporter.reports.remedies import GPU_REASONS

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


def test_people_read_words_for_each_reason_of_a_gpu() -> None:
    """Page, `status` and `doctor` know in words why one GPU has no values: each row has them."""
    section = PAGE.read_text("utf-8").partition("\n## One GPU\n")[2].partition("\n## ")[0]
    reasons = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert reasons - {"suspended"} - {*GPU_REASONS} == set()
