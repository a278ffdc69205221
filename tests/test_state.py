"""Files of state: of one boot, replaced whole, and never believed blindly."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from exporter.state import RETRY_SECS, StateFile, dump, read_boot_id


def numbers(document: Mapping[str, Any]) -> list[int]:
    """What the file of these tests holds."""
    return [int(number) for number in document["numbers"]]


def test_what_was_saved_is_loaded_within_the_same_boot(tmp_path: Path) -> None:
    """Nothing is left beside the file; another boot and an unknown one take over nothing."""
    file = StateFile(tmp_path / "a.json", "boot", 1)
    assert file.load(numbers) is None
    file.save(dump({"numbers": [1]}, "boot", 1))
    file.save(dump({"numbers": [1, 2]}, "boot", 1))
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert file.load(numbers) == [1, 2]
    assert StateFile(tmp_path / "a.json", "another", 1).load(numbers) is None
    assert StateFile(tmp_path / "a.json", "", 1).load(numbers) is None
    assert StateFile(tmp_path / "a.json", "boot", 2).load(numbers) is None
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"7",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"version":1,"boot_id":"boot"}',
        b'{"version":1,"boot_id":"boot","numbers":5}',
        b'{"version":1,"boot_id":"boot","numbers":["x"]}',
        b'{"version":1,"boot_id":"boot","numbers":[1e999]}',
        b'{"version":1,"boot_id":"boot","numbers":[' + b"9" * 5000 + b"]}",
        b'{"version":1,"boot_id":"boot","numbers":[' + b"9," * 500 + b"9]}",
    ],
)
def test_a_file_that_makes_no_sense_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    """It is reported once, kept for whoever wants to look, and the next save begins anew."""
    path = tmp_path / "a.json"
    path.write_bytes(content)
    file = StateFile(path, "boot", 1, max_bytes=512)
    assert file.load(numbers) is None
    assert file.load(numbers) is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert (tmp_path / "a.json.bad").read_bytes() == content
    file.save(dump({"numbers": [3]}, "boot", 1))
    assert file.load(numbers) == [3]


def test_only_regular_files_are_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A link is not followed, and nobody waits for a pipe; what it is instead is said."""
    (tmp_path / "real.json").write_text(dump({"numbers": [1]}, "boot", 1))
    (tmp_path / "link.json").symlink_to("real.json")
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("link.json", "pipe.json", "."):
        assert StateFile(tmp_path / name, "boot", 1).load(numbers) is None
    assert sum("it is no regular file" in record.message for record in caplog.records) == 1


def test_a_failed_save_leaves_the_file_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The new text is written beside the file first; what persists is logged once."""
    file = StateFile(tmp_path / "a.json", "boot", 1)
    file.save(dump({"numbers": [1]}, "boot", 1))
    (tmp_path / ".a.json.new").mkdir()  # the place of the new text is taken
    file.save(dump({"numbers": [2]}, "boot", 1))
    file.save(dump({"numbers": [3]}, "boot", 1))
    assert file.load(numbers) == [1]
    assert sum("cannot be saved" in record.message for record in caplog.records) == 1


def test_a_power_loss_costs_no_file_that_outlasts_boots(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is on the disk before it is in its place; an empty file is no file."""
    synced: list[tuple[int, bool]] = []
    path = tmp_path / "a.json"

    def fsync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    text = dump({"numbers": [1]}, "boot", 1)
    StateFile(path, "boot", 1, outlasts_boots=True).save(text)
    StateFile(path, "boot", 1).save(text)
    assert synced == [(len(text), False)]
    path.write_bytes(b"")
    assert StateFile(path, "boot", 1).load(numbers) is None
    assert StateFile(path, "boot", 1).lines() == []
    assert [found.name for found in tmp_path.iterdir()] == ["a.json"]
    assert caplog.records == []


def test_what_a_full_disk_refused_is_saved_later(tmp_path: Path) -> None:
    """The last text is written once there is room, and takes no room before."""
    now = 100.0
    file = StateFile(tmp_path / "a.json", "boot", 1, clock=lambda: now)
    (tmp_path / ".a.json.new").mkdir()
    assert not file.save(dump({"numbers": [1]}, "boot", 1))
    assert not file.save(dump({"numbers": [2]}, "boot", 1))
    (tmp_path / ".a.json.new").rmdir()
    file.save_again()
    assert file.load(numbers) is None  # a full disk is not tried at every moment
    now += RETRY_SECS
    file.save_again()
    assert file.load(numbers) == [2]
    assert file.unsaved is None


def test_a_boot_id_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    """Then nothing is kept, since nothing tells this boot from another."""
    assert read_boot_id(tmp_path / "none") == ""
    (tmp_path / "id").write_bytes(b"\xff")
    assert read_boot_id(tmp_path / "id") == ""
    (tmp_path / "id").write_bytes(b"abc\n")
    assert read_boot_id(tmp_path / "id") == "abc"


def test_a_file_as_large_as_the_limit_is_read(tmp_path: Path) -> None:
    """To the byte; one more is too large."""
    text = dump({"numbers": [1, 2, 3]}, "boot", 1)
    (tmp_path / "a.json").write_text(text)
    assert StateFile(tmp_path / "a.json", "boot", 1, max_bytes=len(text)).load(numbers) == [1, 2, 3]
    assert StateFile(tmp_path / "a.json", "boot", 1, max_bytes=len(text) - 1).load(numbers) is None


def test_a_file_is_for_us_alone(tmp_path: Path) -> None:
    """Serials and pods are in it."""
    StateFile(tmp_path / "a.json", "boot", 1).save(dump({"numbers": []}, "boot", 1))
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600


def test_trouble_that_comes_again_is_logged_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once each time it begins; a save that worked ended the one before."""
    file = StateFile(tmp_path / "a.json", "boot", 1)
    for _ in range(2):
        (tmp_path / ".a.json.new").mkdir()
        file.save("x")
        file.save("x")
        (tmp_path / ".a.json.new").rmdir()
        file.save("x")
    assert sum("cannot be saved" in record.message for record in caplog.records) == 2
