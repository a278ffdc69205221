"""Roots: where a container has the node's files mounted."""

from exporter.config import Sources
from exporter.reading.roots import resolved


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
