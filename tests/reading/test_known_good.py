"""What has worked before: remembered over restarts, bounded, and never guessed."""

from pathlib import Path

import pytest

from exporter.reading.known_good import KnownGood


def test_what_was_good_once_stays_known(tmp_path: Path) -> None:
    """Over a restart as well; what was never good is not."""
    first = KnownGood(tmp_path)
    assert not first.update("a", is_good=False)
    assert not first.update("a", is_good=None)
    assert first.update("a", is_good=True)
    assert first.update("a", is_good=False)
    assert KnownGood(tmp_path).update("a", is_good=False)
    assert not KnownGood(tmp_path).update("b", is_good=False)


def test_without_a_directory_it_lasts_as_long_as_the_program() -> None:
    """Nothing is written and nothing is read."""
    known = KnownGood()
    known.update("a", is_good=True)
    assert known.update("a", is_good=False)
    assert not KnownGood().update("a", is_good=False)


@pytest.mark.parametrize("keys", ["5", '"a"', "[1]", "null"])
def test_a_file_that_makes_no_sense_is_no_memory(tmp_path: Path, keys: str) -> None:
    """Whatever the file holds, it begins anew."""
    (tmp_path / "known_good.json").write_text(f'{{"boot_id":"any","version":1,"keys":{keys}}}')
    known = KnownGood(tmp_path)
    assert not known.update("a", is_good=False)
    assert known.update("a", is_good=True)


def test_it_is_bounded(tmp_path: Path) -> None:
    """At the limit the known stay and no further one is added."""
    known = KnownGood(tmp_path, max_keys=2)
    assert [known.update(key, is_good=True) for key in "abc"] == [True, True, False]
    assert known.update("a", is_good=False)
    assert [KnownGood(tmp_path).update(key, is_good=False) for key in "abc"] == [True, True, False]


def test_a_full_disk_costs_no_memory(tmp_path: Path) -> None:
    """While nothing can be saved it is kept by the program; with room all of it is saved."""
    (tmp_path / ".known_good.json.new").mkdir()  # the place of the new text is taken
    known = KnownGood(tmp_path)
    assert known.update("a", is_good=True)
    assert known.update("a", is_good=False)
    assert not KnownGood(tmp_path).update("a", is_good=False)
    (tmp_path / ".known_good.json.new").rmdir()
    known.update("b", is_good=True)
    assert [KnownGood(tmp_path).update(key, is_good=False) for key in "ab"] == [True, True]


@pytest.mark.parametrize("content", [b"{", b"\xff\x00", b'{"boot_id":"any","version":1'])
def test_a_damaged_file_is_set_aside(tmp_path: Path, content: bytes) -> None:
    """What a crash left of it is kept for whoever looks, and the next save is whole."""
    (tmp_path / "known_good.json").write_bytes(content)
    known = KnownGood(tmp_path)
    assert known.update("a", is_good=True)
    assert (tmp_path / "known_good.json.bad").read_bytes() == content
    assert KnownGood(tmp_path).update("a", is_good=False)
