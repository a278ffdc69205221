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
