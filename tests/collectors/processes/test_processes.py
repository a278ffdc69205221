"""Processes, threads and open files."""

from pathlib import Path

import pytest

from exporter.collectors.processes import (
    ProcessCounts,
    ProcessCountsReader,
    ProcessStatesReader,
    parse_file_nr,
    parse_state,
    parse_threads,
)
from exporter.reading.source import SourceAbsent
from tests.collectors.small_node import SmallNode
from tests.collectors.test_damage import opened_by
from tests.collectors.whole_node import sources
from tests.fakes.host_tree import cpu_node


def test_the_kernels_own_numbers_are_read(tmp_path: Path) -> None:
    """No process is looked at for them."""
    assert ProcessCountsReader(cpu_node(tmp_path).proc).read().value == ProcessCounts(
        processes_limit=4194304,
        threads=812,
        threads_limit=127012,
        file_descriptors_open=3104,
        file_descriptors_max=9223372036854775807,
    )


@pytest.mark.parametrize(
    ("release", "namespace", "limit"),
    [
        ("6.18.44-x\n", "pid:[4026532000]", None),
        ("6.18.44-x\n", "pid:[4026531836]", 4194304),
        ("6.8.0-45-generic\n", "pid:[4026532000]", 4194304),
    ],
)
def test_the_limit_of_a_container_is_not_the_nodes(
    tmp_path: Path, release: str, namespace: str, limit: int | None
) -> None:
    """Newer kernels have one limit for each PID namespace, and show that of the reader."""
    tree = cpu_node(tmp_path)
    tree.write({"/proc/sys/kernel/osrelease": release, "/proc/self/ns/uts": ""})
    (tree.proc / "self/ns/pid").symlink_to(namespace)
    reading = ProcessCountsReader(tree.proc).read()
    assert reading.value.processes_limit == limit
    assert [it.field for it in reading.missing] == ([] if limit else ["processes_limit"])


async def test_ten_thousand_processes_cost_what_a_hundred_cost(tmp_path: Path) -> None:
    """By default no source opens a file of a process other than the first: the cost is the same."""
    tree = cpu_node(tmp_path)
    for pid in range(2, 102):
        tree.write({f"/proc/{pid}/stat": f"{pid} (x) S 1\n"})
    default = [source for source in sources(tree) if source.name != "process_states"]
    opened = {path for source in default for path in await opened_by(source, tree)}
    folders = {path.relative_to(tree.proc).parts[0] for path in opened if tree.proc in path.parents}
    assert {folder for folder in folders if folder.isdigit()} == {"1"}


def test_a_walk_counts_processes_by_state(node: SmallNode) -> None:
    """A name may hold brackets and blanks; a process that ends meanwhile is not counted."""
    for pid, (name, state) in enumerate(
        [("a", "S"), ("kthreadd", "S"), ("b) R (", "D"), ("c", "Z"), ("e", "x")], start=1
    ):
        node.write(f"proc/{pid}/stat", f"{pid} ({name}) {state} 1 1 1\n")
    (node.proc / "77").mkdir()
    states = dict(ProcessStatesReader(node.proc).read().value.states)
    assert states == {
        "idle": 0, "other": 1, "runnable": 0, "sleeping": 2, "stopped": 0,
        "uninterruptible": 1, "zombie": 1,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "1", "1 (x", "1 (x)", "garbage", "1 (x) SS", "\x00"])
def test_a_cut_stat_has_no_state(text: str) -> None:
    """A process without a state is not counted under a wrong one."""
    assert parse_state(text) is None


@pytest.mark.parametrize(
    "text",
    ["", "0.1 0.2 0.3", "0.1 0.2 0.3 2812 4", "0.1 0.2 0.3 2/x 4", "0.00 0.00 0.00 0/0 0\n"],
)
def test_garbage_has_no_threads(text: str) -> None:
    """Never zero."""
    assert parse_threads(text) is None


@pytest.mark.parametrize("text", ["", "1 2", "x y z", "-1 0 -5"])
def test_garbage_has_no_files(text: str) -> None:
    """Never zero."""
    assert parse_file_nr(text) == (None, None)


def test_processes_of_a_pod_are_not_those_of_the_node(node: SmallNode) -> None:
    """Nor are the exporter's own where hidepid hides the others."""
    for pid, name in ((1, "hw-exporter"), (2, "sh"), (3, "python3")):
        node.write(f"proc/{pid}/stat", f"{pid} ({name}) S 1 1 1\n")
    with pytest.raises(SourceAbsent, match="not show the processes of the node"):
        ProcessStatesReader(node.proc).read()
