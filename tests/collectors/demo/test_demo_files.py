"""The files of the simulated node, read by the real readers."""

import os
from pathlib import Path

from exporter.collectors.cpu.usage import CpuReader
from exporter.collectors.demo.files import KERNEL_LOG, TICKS_PER_SEC, NodeFolder
from exporter.collectors.demo.jobs import BATCH, BATCH_SECS, TRAINING
from exporter.collectors.demo.node import DemoNode
from exporter.collectors.demo.script import FELL_OFF, INCIDENTS, SLOW_DISK
from exporter.collectors.disk.diskstats import DiskReader
from exporter.collectors.kernel_log.record import parse_kmsg
from exporter.collectors.memory.meminfo import MemoryReader
from exporter.collectors.pcie.devices import PcieReader
from exporter.collectors.workloads.kubelet import read_checkpoint
from exporter.collectors.workloads.pod_logs import PodNameReader
from exporter.collectors.workloads.processes import ProcessReader, pid_scope
from exporter.config import Devices

NOW = 5000.0
STARTS = {incident.name: incident.starts for incident in INCIDENTS}


def _written(folder: Path, node: DemoNode, secs: float, *, with_host: bool = False) -> NodeFolder:
    files = NodeFolder(folder, NOW, with_host=with_host)
    files.write(node, node.advance_to(secs), NOW)
    return files


def test_its_processes_are_found_in_their_pods(tmp_path: Path) -> None:
    """Each process has a start before it is seen, a cgroup, and a pod whose name can be found."""
    _written(tmp_path, DemoNode(8, 1, 1.0), 10)
    assert pid_scope(tmp_path / "proc").is_certain
    facts = ProcessReader(tmp_path / "proc", TICKS_PER_SEC).read(TRAINING.first_pid)
    assert facts is not None
    assert facts.started_boottime < NOW
    names = PodNameReader(tmp_path / "root").read()
    workload = names.containers[facts.owner.container_id or ""]
    assert (workload.namespace, workload.pod) == (TRAINING.namespace, TRAINING.pod)
    held = {it.container: len(it.devices) for it in read_checkpoint(tmp_path / "root").allocations}
    assert held == {"trainer": 4, "server": 2, "triton": 1, "notebook": 1}


def test_what_ended_leaves_no_file(tmp_path: Path) -> None:
    """A process that ends is gone, and the next of its kind is another one."""
    node = DemoNode(8, 1, 1.0)
    files = _written(tmp_path, node, 10)
    first = BATCH.first_pid + 7
    assert (tmp_path / "proc" / str(first)).is_dir()
    files.write(node, node.advance_to(BATCH_SECS + 1), NOW + BATCH_SECS)
    assert not (tmp_path / "proc" / str(first)).exists()
    files.write(node, node.advance_to(601), NOW + 601)
    assert (tmp_path / "proc" / str(first + 100)).is_dir()


def test_the_host_is_one_that_our_readers_know(tmp_path: Path) -> None:
    """Processors, memory and disks are read from it as from a real one, and they move."""
    node = DemoNode(8, 1, 1.0)
    files = _written(tmp_path, node, 10, with_host=True)
    cpu = CpuReader(tmp_path / "proc", tmp_path / "sys")
    cpu.read()
    files.write(node, node.advance_to(40), NOW + 30)
    usage = cpu.read().value.usage_percent
    assert usage is not None
    assert 5 < usage < 60
    assert MemoryReader(tmp_path / "proc").read().value.total_bytes == 2**40
    disks = DiskReader(tmp_path / "proc", tmp_path / "sys", Devices()).read().value
    assert [disk.device for disk in disks.disks] == ["nvme0n1", "nvme1n1"]
    files.close()


def test_its_gpus_sit_in_slots_below_ports(tmp_path: Path) -> None:
    """The bus is read as a real one: who is below whom, and in which slot."""
    _written(tmp_path, DemoNode(2, 1, 1.0), 10, with_host=True).close()
    devices = {it.device: it for it in PcieReader(tmp_path / "sys").read().value.devices}
    assert [it.kind for it in devices.values()] == ["port", "gpu", "port", "gpu"]
    assert devices["0000:29:00.0"].parent == "0000:28:01.0"
    assert devices["0000:29:00.0"].slot == "2"


def test_the_kernel_speaks_of_incidents(tmp_path: Path) -> None:
    """Xids and the task that hangs come as records of the kernel."""
    node = DemoNode(8, 1, 1.0)
    node.advance_to(STARTS[FELL_OFF] - 10)  # what was before is not told
    files = _written(tmp_path, node, STARTS[FELL_OFF] - 9, with_host=True)
    files.write(node, node.advance_to(STARTS[FELL_OFF]), NOW + STARTS[FELL_OFF])
    files.write(node, node.advance_to(STARTS[SLOW_DISK] + 130), NOW + STARTS[SLOW_DISK])
    reader = os.open(tmp_path / KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK)
    lines = os.read(reader, 65536).splitlines(keepends=True)
    os.close(reader)
    records = [parse_kmsg(line) for line in lines]
    assert None not in records
    text = b"".join(lines).decode()
    port, gpu = "0000:60:01.0", "0000:61:00.0"
    down, up = (
        text.index(f"pcieport {port}: pciehp: Slot(6): Link {word}") for word in ("Down", "Up")
    )
    assert down < text.index(f"Xid (PCI:{gpu.removesuffix('.0')}): 79") < up
    assert text.count("Xid") == 2  # 79 and, later, 74
    assert ": 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus." in text
    assert "INFO: task python3:41000 blocked for more than 120 seconds." in text
    files.close()
