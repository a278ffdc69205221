"""The directory for state files: used when it is ours, left alone with one sentence when not."""

import errno
import fcntl
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.state import StateFile, dump
from exporter.state_folder import LOCK_NAME, StateFolder, look_at

TEXT = dump({"numbers": [1]}, "boot", 1)


def test_one_program_uses_a_directory_at_a_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The second one keeps its state in memory and says why; a link to the directory is fine."""
    (tmp_path / "real").mkdir()
    (tmp_path / "state").symlink_to("real")
    first = StateFolder(str(tmp_path / "state"))
    assert first.path == tmp_path / "state"
    assert StateFolder(str(tmp_path / "real"), pause=lambda _: None).path is None
    assert "is used by another hw-exporter" in caplog.text
    assert len(caplog.records) == 1


def test_a_program_that_is_about_to_end_is_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The next one of a restart uses the directory, and has nothing to say."""
    lock = os.open(tmp_path / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert StateFolder(str(tmp_path), pause=lambda _: os.close(lock)).path == tmp_path
    assert not caplog.records


def test_a_filesystem_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A network filesystem without a lock service is not taken for another program."""

    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert StateFolder(str(tmp_path)).path is None
    assert "cannot be locked: No locks available" in caplog.text


def test_no_directory_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    """Then there is nothing to say."""
    folder = StateFolder("")
    folder.check()
    assert folder.path is None
    assert not caplog.records


def _link_as_lock(folder: Path) -> None:
    folder.mkdir()
    (folder / LOCK_NAME).symlink_to(folder.parent / "victim")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda _: None, "cannot be used: No such file or directory"),
        (Path.touch, "is no directory"),
        (os.mkfifo, "is no directory"),
        (_link_as_lock, "cannot be used: Too many levels of symbolic links"),
        (lambda path: path.symlink_to(path), "cannot be used: Too many levels of symbolic links"),
    ],
)
def test_what_is_no_directory_of_ours_is_one_sentence(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    make: Callable[[Path], None],
    sentence: str,
) -> None:
    """Nothing is followed and nothing is made outside."""
    make(tmp_path / "state")
    assert StateFolder(str(tmp_path / "state")).path is None
    assert [record.getMessage() for record in caplog.records] == [
        f"state.dir: {tmp_path / 'state'} {sentence}; state will be lost at a restart"
    ]
    assert not (tmp_path / "victim").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_somebody_else_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its owner could change what we believe."""
    os.chown(tmp_path, 4711, -1)
    assert StateFolder(str(tmp_path)).path is None
    assert "belongs to user 4711" in caplog.text


def test_a_directory_that_all_may_change_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is used, since volumes of Kubernetes are made so; not said where others own no names."""
    for mode, count in ((0o755, 0), (0o775, 0), (0o1777, 0), (0o777, 1)):
        path = tmp_path / f"{mode:o}"
        path.mkdir()
        path.chmod(mode)
        assert StateFolder(str(path)).path == path
        assert len(caplog.records) == count
    assert "can be changed by every user of this machine: chmod o-w" in caplog.text


def test_a_directory_that_goes_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """So is that it is back, and that it is another."""
    caplog.set_level(logging.INFO)
    path = tmp_path / "state"
    path.mkdir()
    folder = StateFolder(str(path))
    folder.check()
    path.rename(tmp_path / "away")
    folder.check()
    folder.check()
    (tmp_path / "away").rename(path)
    folder.check()
    path.rename(tmp_path / "away")
    path.mkdir()
    (path / LOCK_NAME).touch()
    folder.check()
    said = [record.getMessage().split(";")[0].split(str(path))[1] for record in caplog.records]
    assert said == [
        " is gone: No such file or directory",
        " is available again",
        " was replaced by another directory",
    ]


def _linked(path: Path) -> None:
    path.write_text(TEXT)
    path.with_name("second").hardlink_to(path)


def _open_to_all(path: Path) -> None:
    path.write_text(TEXT)
    path.chmod(0o666)


def _given_away(path: Path) -> None:
    path.write_text(TEXT)
    os.chown(path, 4711, -1)


@pytest.mark.parametrize(
    ("plant", "sentence"),
    [
        (_linked, "it has a second name"),
        (_open_to_all, "others may write it"),
        pytest.param(
            _given_away,
            "it belongs to user 4711",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away"),
        ),
    ],
)
def test_a_planted_file_is_not_believed(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    plant: Callable[[Path], None],
    sentence: str,
) -> None:
    """What others have written, or can, is not read."""
    plant(tmp_path / "a.json")
    assert StateFile(tmp_path / "a.json", "boot", 1).load(lambda document: document) is None
    assert sentence in caplog.text


def test_writing_follows_no_link(tmp_path: Path) -> None:
    """A link in the place of the file, or of what is written beside it, is replaced."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("a.json", ".a.json.new"):
        (tmp_path / name).symlink_to(victim)
    StateFile(tmp_path / "a.json", "boot", 1).save(TEXT)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "a.json").is_symlink()
    assert (tmp_path / "a.json").read_text() == TEXT


def test_files_that_were_set_aside_are_named_until_they_are_deleted(tmp_path: Path) -> None:
    """A state file that cannot be parsed is a sentence of the directory; a good one is none."""
    folder = StateFolder(str(tmp_path))
    file = tmp_path / "faults.json"
    file.write_text("{")
    StateFile(file, "boot", 1).load(dict)
    StateFile(file, "boot", 1).save(TEXT)
    folder.check()
    assert folder.problems() == (f"{file}.bad is a state file that could not be parsed",)
    Path(f"{file}.bad").unlink()
    folder.check()
    assert folder.problems() == ()
    (second,) = StateFolder(str(tmp_path), pause=lambda _: None).problems()
    assert second.startswith(f"state.dir: {tmp_path} is used by another hw-exporter")


@pytest.mark.parametrize(
    ("flag", "reason"), [(os.ST_RDONLY, "Read-only file system"), (0, "Permission denied")]
)
def test_why_nothing_can_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: int, reason: str
) -> None:
    """Rights do not help where the root of a container is read-only."""
    values = [*os.statvfs(tmp_path)]
    values[8] = flag
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(values))
    assert look_at(str(tmp_path)) == (f"cannot be used: {reason}", "")


def test_a_disk_that_fails_is_a_problem_of_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look at its files fails as well; the checks go on."""
    folder = StateFolder(str(tmp_path))

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", broken)
        folder.check()
    assert folder.problems() == (f"state.dir: {tmp_path} is gone: Input/output error",)
    folder.check()
    assert folder.problems() == ()
