"""Captures of real machines: their origin is written down, and they do not say who is who."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "captures"
FILES = {path.relative_to(FOLDER).as_posix(): path for path in FOLDER.glob("*/*")}
LIMIT_BYTES = 400_000
UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4})-[0-9a-f]{12}")
MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)


def test_every_capture_has_its_origin() -> None:
    """Machine, project and licence stand in one table, of each file that is there."""
    rows = re.findall(r"^\|([^|]+)\|", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == FILES.keys()


def test_no_capture_names_a_machine() -> None:
    """UUIDs are made up, and there is no address of a network card."""
    for name, path in FILES.items():
        text = path.read_text("utf-8")
        assert set(UUID.findall(text)) <= {"0000-4000-8000"}, name
        assert MAC.findall(text) == [], name


def test_captures_are_small() -> None:
    """Only what tests read is kept."""
    assert sum(path.stat().st_size for path in FILES.values()) < LIMIT_BYTES
