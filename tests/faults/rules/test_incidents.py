"""What the kernel prints in an incident, and the fault that all of it must follow from."""

import pytest

from exporter.collectors.everything import TRAITS, VOCABULARY
from exporter.collectors.kernel_log.events import KernelLines
from exporter.faults.evaluate import Evaluator
from exporter.faults.values import Entity, Scene
from exporter.model.verdict import Conclusions, Edge
from tests.faults.events.feeding import interpreted
from tests.faults.rules.board_table import NODE_OOM, POD_OOM
from tests.faults.rules.bus_table import CARD, CORRECTED, FATAL, PORT
from tests.faults.rules.trials import EVENT_SOURCES, START, WALL, shipped

MLX5 = "mlx5_core 0000:17:00.0"
XID_79 = f"NVRM: Xid (PCI:{CARD[:-2]}): 79, pid=7, name=trainer, GPU has fallen off the bus."
NVME_DIES = (
    "nvme nvme9: I/O 312 QID 7 timeout, aborting",
    "nvme nvme9: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
    "nvme nvme9: Device not ready; aborting reset, CSTS=0x1",
    "I/O error, dev nvme9n1, sector 499204104 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2",
    "Buffer I/O error on dev nvme9n1p1, logical block 1024, lost async page write",
    "EXT4-fs error (device nvme9n1p1): ext4_find_entry:1663: inode #2: comm ls: reading",
    "EXT4-fs (nvme9n1p1): Remounting filesystem read-only",
    "INFO: task trainer:4242 blocked for more than 122 seconds.",
)
INCIDENTS: dict[str, tuple[tuple[str, ...], str, dict[str, str]]] = {
    "a bus error takes a GPU": (
        (FATAL, XID_79),
        f"pcie_aer_uncorrected {CARD}",
        {"gpu_lost": CARD},
    ),
    "an NVMe disk dies": (
        NVME_DIES,
        "nvme_controller_failed nvme9",
        {
            "disk_io_errors": "nvme9n1",
            "filesystem_error": "nvme9n1p1",
            "filesystem_readonly": "nvme9n1p1",
            "hung_task": "4242",
        },
    ),
    "a GPU and a disk fail together": (
        (XID_79, *NVME_DIES),
        "nvme_controller_failed nvme9",
        {"filesystem_readonly": "nvme9n1p1", "hung_task": "4242"},
    ),
    "an array loses a member": (
        (
            "I/O error, dev sdb, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
            "md/raid1:md7: Disk failure on sdb1, disabling device.",
        ),
        "disk_io_errors sdb",
        {"md_array_degraded": "md7"},
    ),
    "a memory module fails": (
        (
            "EDAC MC0: 1 UE memory read error on CPU0_DIMM_A1 (channel:0 slot:0 page:0x12f345)",
            "Memory failure: 0x12f345: recovery action for dirty LRU page: Recovered",
        ),
        "memory_uncorrected CPU0_DIMM_A1",
        {"memory_page_offlined": "n"},
    ),
    "an adapter fails": (
        (
            f"{MLX5}: health_care:158:(pid 99): device's health compromised - reached miss count",
            "INFO: task kworker/u64:1:99 blocked for more than 122 seconds.",
        ),
        "nic_driver_fatal 0000:17:00.0",
        {"hung_task": "99"},
    ),
    "a server is gone": (
        (
            "nfs: server filer1 not responding, still trying",
            "INFO: task loader:55 blocked for more than 122 seconds.",
        ),
        "nfs_server_stalled filer1",
        {"hung_task": "55"},
    ),
    "the system processor of a GPU hangs": (
        (
            f"NVRM: Xid (PCI:{CARD[:-2]}): 119, pid=7, name=nvidia-smi, Timeout after 6s of wait",
            "INFO: task nvidia-smi:77 blocked for more than 122 seconds.",
        ),
        f"gpu_gsp_failure {CARD}",
        {"hung_task": "77"},
    ),
    "the node has no memory": ((NODE_OOM,), "node_oom_kill n", {}),
}


def conclude(*texts: str) -> Conclusions:
    """What is said of these texts a second apart, on a node of which nothing else is known."""
    judge = Evaluator(shipped(), TRAITS, stopwatch=lambda: 0.0)
    lines = KernelLines()
    told = [
        e for n, text in enumerate(texts) for e in map(interpreted, lines.events(text, START + n))
    ]
    node = Entity(("node", "n"), "n", addresses=(("node", ""),))
    edges = (Edge("below", ("pcie", CARD), ("pcie", PORT)),)
    kinds = frozenset(VOCABULARY.names)
    now = START + len(texts)
    scenes = (
        Scene("n", now, WALL + now, (node,), edges, tuple(told), EVENT_SOURCES, kinds),
        Scene("n", now + 40, WALL + now + 40, (node,), edges, (), EVENT_SOURCES, kinds),
    )
    said = [judge.evaluate(scene) for scene in scenes]
    return said[-1]


@pytest.mark.parametrize("name", INCIDENTS)
def test_all_follows_from_the_root(name: str) -> None:
    """The root is one, and each named symptom leads to it."""
    texts, root, symptoms = INCIDENTS[name]
    faults = {f"{fault.rule} {fault.subject.hw_id}": fault for fault in conclude(*texts).active}
    assert faults[root].is_root
    for rule, hw_id in symptoms.items():
        last = faults[f"{rule} {hw_id}"].causes[-1]
        assert f"{last.rule} {last.subject.hw_id}" == root, rule


@pytest.mark.parametrize(
    "texts",
    [
        (CORRECTED, CORRECTED, CORRECTED),
        ("I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",),
        (f"{MLX5}: port_module:268:(pid 0): Detected insufficient power on the PCIe slot (27W).",),
        (f"{MLX5} ens1np0: Link down", f"{MLX5} ens1np0: Link up"),
        ("nfs: server filer1 not responding, still trying", "nfs: server filer1 OK"),
        ("EDAC MC0: 1 CE memory read error on CPU0_DIMM_A1 (channel:0 slot:0 page:0x1)",),
        ("mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 8: cc00010000010091",),
        ("mce: CPU0: Thermal monitoring enabled (TM1)", "EDAC MC: Ver: 3.0.0"),
        ("unregister_netdevice: waiting for lo to become free. Usage count = 1",),
    ],
    ids=lambda texts: texts[0][:40],
)
def test_what_healthy_nodes_print_is_no_fault(texts: tuple[str, ...]) -> None:
    """Lines that look bad and are not make nobody get up."""
    assert conclude(*texts).active == ()


def test_the_limit_of_a_container_is_no_fault_of_the_node() -> None:
    """A kill within a container's own limit is told, as information, about the container."""
    (fault,) = conclude(POD_OOM).active
    assert (fault.rule, fault.severity, fault.subject.kind) == ("pod_oom_kill", "info", "workload")


@pytest.mark.parametrize(
    ("action", "severity"),
    [
        ("0x1 (GPU Reset Required)", "critical"),
        ("0x3 (Drain P2P)", "warning"),
        ("0x4 (Drain and Reset)", "critical"),
        ("0x5 (Recover IMEX Domain)", "warning"),
    ],
)
def test_a_gpu_that_can_go_on_is_not_critical(action: str, severity: str) -> None:
    """Where only the log has the action, peer traffic and IMEX domains remain a warning."""
    line = (
        f"NVRM: Xid (PCI:{CARD[:-2]}): 154, GPU recovery action changed from 0x0 (None) to {action}"
    )
    (fault,) = conclude(line).active
    assert (fault.rule, fault.severity) == ("gpu_recovery_required", severity)
