"""What the kernel says about one process."""

from pathlib import Path

import pytest

from exporter.collectors.workloads.processes import (
    PidScope,
    ProcessReader,
    parse_stat,
    parse_uid,
    pid_scope,
)
from exporter.reading.seldom import LOOKS
from tests.collectors.node_tree import TICKS, NodeTree
from tests.fakes.refused import refuse

TAIL = " ".join(["0"] * 18 + ["4200"] + ["0"] * 19 + ["7", "0", "0"])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("python3", "python3"),
        ("a) S (b", "a) S (b"),
        ("tmux: server", "tmux: server"),
        ("x\ny", "x y"),
        ("", "unknown"),
    ],
)
def test_a_name_may_hold_anything(name: str, shown: str) -> None:
    """Blanks, parentheses and newlines in a name shift no field."""
    stat = parse_stat(f"10 ({name}) D {TAIL}")
    assert stat is not None
    assert (stat.name, stat.state, stat.started_ticks) == (shown, "uninterruptible", 4200)


def test_a_line_cut_anywhere_is_no_process() -> None:
    """A truncated line gives nothing or the same start, never another number."""
    whole = f"10 (a b) R {TAIL}"
    for cut in range(len(whole)):
        stat = parse_stat(whole[:cut])
        assert stat is None or stat.started_ticks in (4, 42, 420, 4200)


def test_the_effective_user_counts() -> None:
    """Of the four numbers the second is the one that opens devices."""
    assert parse_uid("Name:\tx\nUid:\t1\t2\t3\t4\n") == 2
    assert parse_uid("Uid:\tx\n") is None
    assert parse_uid("") is None


def test_a_process_is_read_with_its_start(tmp_path: Path) -> None:
    """The start in seconds since boot tells a process from a later one with its pid."""
    tree = NodeTree(tmp_path)
    tree.process(10, "0::/system.slice/a.service", started=12.5)
    facts = ProcessReader(tree.proc, TICKS).read(10)
    assert facts is not None
    assert (facts.started_boottime, facts.owner.unit, facts.uid) == (12.5, "a.service", None)


def test_a_pid_that_is_used_again_is_another_process(tmp_path: Path) -> None:
    """Whose a process is, is read seldom: for the next process of its pid at once."""
    tree = NodeTree(tmp_path)
    reader = ProcessReader(tree.proc, TICKS)
    for unit, started in (("a.service", 12.5), ("b.service", 80.0)):
        tree.process(10, f"0::/system.slice/{unit}", started=started)
        facts = reader.read(10)
        assert facts is not None
        assert facts.owner.unit == unit


def test_a_process_that_is_moved_is_where_it_was_moved_to(tmp_path: Path) -> None:
    """Some readings later: processes are moved when they begin, hardly ever afterwards."""
    tree = NodeTree(tmp_path)
    reader = ProcessReader(tree.proc, TICKS)
    tree.process(10, "0::/system.slice/a.service", started=12.5)
    reader.read(10)
    tree.process(10, "0::/system.slice/b.service", started=12.5)
    seen = [facts.owner.unit for _ in range(LOOKS) if (facts := reader.read(10))]
    assert seen == ["a.service"] * (LOOKS - 1) + ["b.service"]


@pytest.mark.parametrize("file", ["stat", "cgroup"])
def test_a_process_that_vanishes_between_two_reads_is_gone(tmp_path: Path, file: str) -> None:
    """Files that disappear in between are normal and no error."""
    tree = NodeTree(tmp_path)
    tree.process(10, "0::/")
    (tree.proc / "10" / file).unlink()
    assert ProcessReader(tree.proc, TICKS).read(10) is None
    assert ProcessReader(tree.proc, TICKS).read(11) is None


def _scope(tree: NodeTree, *, kthreadd: bool, first: str | None, namespace: str | None) -> PidScope:
    if not kthreadd:
        tree.ends(2)
    tree.ends(1)
    if first is not None:
        tree.process(1, "0::/", name=first)
    if namespace is not None:
        (tree.proc / "self/ns").mkdir(parents=True)
        (tree.proc / "self/ns/pid").symlink_to(namespace)
    return pid_scope(tree.proc)


@pytest.mark.parametrize(
    ("kthreadd", "first", "namespace", "scope"),
    [
        (True, "systemd", "pid:[4026531836]", PidScope(None, is_certain=True)),
        (True, "systemd", "pid:[4026532999]", PidScope(None, is_certain=True)),
        (False, "systemd", "pid:[4026531836]", PidScope(None, is_certain=True)),
        (False, "systemd", "pid:[4026532999]", PidScope("no_host_pids")),
        (False, "hw-exporter", None, PidScope("no_host_pids")),
        (False, "systemd", None, PidScope(None)),
        (False, None, None, PidScope("proc_hidden")),
    ],
    ids=["host", "host's proc mounted", "hidepid", "kind or LXC", "pod", "a tree", "no proc"],
)
def test_the_hosts_pids_are_told_from_others(
    tmp_path: Path, *, kthreadd: bool, first: str | None, namespace: str | None, scope: PidScope
) -> None:
    """Only the host's own namespace has kernel threads; without them its number must be right."""
    tree = NodeTree(tmp_path)
    assert _scope(tree, kthreadd=kthreadd, first=first, namespace=namespace) == scope


def test_processes_that_refuse_to_be_read_are_hidden(tmp_path: Path) -> None:
    """With hidepid=1 the folders of processes of others are there, and nothing in them is."""
    tree = NodeTree(tmp_path)
    tree.ends(2)
    tree.process(1, "0::/", name="systemd")
    (tree.proc / "1/stat").unlink()
    refuse(tree.proc / "1/stat")
    assert pid_scope(tree.proc) == PidScope("proc_hidden")
