"""Roots: where a container has the node's files mounted."""

from pathlib import Path

from exporter.config import Sources
from exporter.config.roots import mistakes, resolved


def test_without_mounts_the_roots_stay() -> None:
    """On a plain machine nothing changes."""
    assert resolved(Sources(), lambda _path: False) == Sources()


def test_what_is_mounted_under_host_is_used() -> None:
    """Each root goes by itself, so that one missing mount costs that one."""
    there = {"/host/proc/stat", "/host/etc"}
    found = resolved(Sources(), there.__contains__)
    assert (found.proc_root, found.sys_root, found.host_root) == ("/host/proc", "/sys", "/host")


def test_a_root_that_was_chosen_stays() -> None:
    """What somebody wrote into the configuration is not second-guessed."""
    chosen = Sources(proc_root="/proc/.", sys_root="/fake/sys", host_root="/fake")
    assert resolved(chosen, lambda _path: True) == chosen


def test_a_chosen_root_without_files_of_a_node_is_a_mistake() -> None:
    """Empty, relative or not mounted: the node would be healthy with nothing of it read."""
    chosen = Sources(proc_root="", sys_root="host/sys", host_root="/host")
    assert [each.split()[0] for each in mistakes(chosen, lambda path: path != "/host/")] == [
        "sources.proc_root",
        "sources.sys_root",
        "sources.host_root",
    ]
    assert not list(mistakes(Sources(proc_root="/proc/."), lambda _path: True))
    assert not list(mistakes(Sources(), lambda _path: False))


def test_a_chosen_root_that_is_an_empty_directory_is_a_mistake(tmp_path: Path) -> None:
    """The mount point is there in a container whose mount was forgotten."""
    assert [*mistakes(Sources(proc_root=str(tmp_path)))]
    (tmp_path / "stat").touch()
    assert not [*mistakes(Sources(proc_root=str(tmp_path)))]
