"""Whose sockets and disks the kernel's numbers mean."""

from pathlib import Path

from exporter.collectors.ebpf.kernel_totals import UNKNOWN
from exporter.collectors.ebpf.traced_events import MAX_NAMED, EventOwners
from exporter.collectors.workloads.cgroup_ids import MAX_FOLDERS, CgroupPaths
from exporter.collectors.workloads.values import Workload
from exporter.config import Config, Processes, Sources
from tests.fakes import host_proc
from tests.fakes.host_tree import HostTree
from tests.fakes.source_context import source_context

UID = "11111111-2222-3333-4444-555555555555"
CONTAINER = "c" * 64
SCOPE = f"kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/cri-containerd-{CONTAINER}.scope"
POD = Workload("ml", "train-0", "main")
SSHD = Workload("", "", "sshd.service")


class Node:
    """A node with cgroup v2: a pod, a unit, and the processes that a test adds."""

    def __init__(self, folder: Path, mount: str = "fs/cgroup", words: tuple[str, ...] = ()) -> None:
        self.tree = HostTree(folder)
        self.cgroups = self.tree.sys / mount
        for path in (SCOPE, "system.slice/sshd.service"):
            (self.cgroups / path).mkdir(parents=True)
        (self.cgroups / "cgroup.procs").touch()
        self.tree.write(host_proc.process(1, "systemd", "/init.scope"))
        log = f"/var/log/containers/train-0_ml_main-{CONTAINER}.log"
        self.tree.write({log: "", "/proc/self/cgroup": "0::/\n"})
        self.tree.write({f"/var/log/pods/ml_train-0_{UID}/main/0.log": ""})
        tree = self.tree
        roots = Sources(str(tree.proc), sys_root=str(tree.sys), host_root=str(tree.host))
        config = Config(sources=roots, processes=Processes(redact=words, redact_salt="salt"))
        self.owners = EventOwners(source_context(config))

    def number(self, path: str) -> int:
        """The number of a cgroup."""
        return (self.cgroups / path).stat().st_ino

    def process(self, pid: int, name: str, cgroup: str) -> None:
        """Add a process."""
        self.tree.write(host_proc.process(pid, name, cgroup))

    def user(self, cgroup: int, pid: int) -> tuple[Workload, str]:
        """Whose socket it is."""
        return self.owners.look([(cgroup, pid)], ()).users[cgroup, pid]


def test_a_socket_belongs_to_its_cgroup(tmp_path: Path) -> None:
    """With the process that opened it, or without, when that is unknown or has ended."""
    node = Node(tmp_path)
    node.process(42, "python", f"/{SCOPE}")
    pod = node.number(SCOPE)
    assert node.user(pod, 42) == (POD, "python")
    assert node.user(pod, 43) == (POD, "")
    assert node.user(pod, 0) == (POD, "")
    assert node.user(node.number("system.slice/sshd.service"), 0) == (SSHD, "")


def test_a_number_that_another_process_has_now_names_nobody(tmp_path: Path) -> None:
    """The cgroup is that of the socket: a process elsewhere did not open it."""
    node = Node(tmp_path)
    node.process(42, "sshd", "/system.slice/sshd.service")
    assert node.user(node.number(SCOPE), 42) == (POD, "")


def test_a_process_that_has_ended_keeps_its_name_for_its_last_counts(tmp_path: Path) -> None:
    """They are printed after its end; names are remembered of so many and no more."""
    node = Node(tmp_path)
    node.process(42, "python", f"/{SCOPE}")
    pod = node.number(SCOPE)
    node.user(pod, 42)
    for name in ("stat", "cgroup"):
        node.tree.remove(f"/proc/42/{name}")
    assert node.user(pod, 42) == (POD, "python")
    for pid in range(100, 101 + MAX_NAMED):
        node.process(pid, "crowd", f"/{SCOPE}")
    node.owners.look([(pod, pid) for pid in range(100, 101 + MAX_NAMED)], ())
    assert node.user(pod, 42) == (POD, "")


def test_without_cgroup_v2_the_process_says_whose_it_is(tmp_path: Path) -> None:
    """Sockets are in the root then; without a process they are of nobody known."""
    node = Node(tmp_path, "fs/cgroup/unified")
    node.process(42, "python", f"/{SCOPE}")
    root = node.number(".")
    assert node.user(root, 42) == (POD, "python")
    assert node.user(root, 0) == UNKNOWN
    assert node.user(node.number(SCOPE), 0) == (POD, "")


def test_names_are_hidden_where_that_is_wanted(tmp_path: Path) -> None:
    """Of processes as of pods."""
    node = Node(tmp_path, words=("process", "pod"))
    node.process(42, "python", f"/{SCOPE}")
    workload, name = node.user(node.number(SCOPE), 42)
    assert (workload.namespace, workload.container) == ("ml", "main")
    assert "python" not in name
    assert len(name) == len(workload.pod) == 10


def test_a_cgroup_that_came_later_is_found(tmp_path: Path) -> None:
    """The tree is walked again for a number that is new; one that is gone is left out."""
    node = Node(tmp_path)
    paths = CgroupPaths(node.tree.sys)
    pod = node.number(SCOPE)
    assert paths.paths_of([pod, 1]) == {pod: f"/{SCOPE}"}
    later = node.cgroups / "later.service"
    later.mkdir()
    assert paths.paths_of([later.stat().st_ino]) == {later.stat().st_ino: "/later.service"}
    gone = later.stat().st_ino
    later.rmdir()
    assert CgroupPaths(node.tree.sys).paths_of([gone]) == {}
    assert MAX_FOLDERS > 10_000


def test_disks_are_named_by_what_stands_for_them(tmp_path: Path) -> None:
    """A path to an NVMe namespace is that namespace; hidden and removed disks have no name."""
    node = Node(tmp_path)
    node.tree.link(
        {
            "/sys/dev/block/8:16": "../../devices/pci0000:00/block/sdb",
            "/sys/dev/block/259:1": "../../devices/pci0000:00/nvme/nvme0/nvme0c1n1",
            "/sys/dev/block/7:0": "../../devices/virtual/block/loop0",
        }
    )
    numbers = [8 << 20 | 16, 259 << 20 | 1, 7 << 20, 9 << 20]
    assert node.owners.look([], numbers).disks == {numbers[0]: "sdb", numbers[1]: "nvme0n1"}
