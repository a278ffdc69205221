"""What is said of the node as a whole: counts, pressures, backends, and fields with labels."""

from dataclasses import replace

import pytest

from exporter.collectors.disk.values import Disk, Disks
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.kernel_log.values import KernelLog
from exporter.collectors.memory.values import Memory
from exporter.collectors.network.values import Interface, Network
from exporter.collectors.pcie.values import Pcie, PcieDevice
from exporter.collectors.pressure import Pressure, Pressures
from exporter.faults.values import Value
from exporter.model.snapshot import Outcome, SourceReport
from tests.faults.entities.looks import entity, fields, seen

CARD = GpuState(Gpu(0, "GPU-a", "H100", pci_bus_id="00000000:3B:00.0"), 1000.0)
BACKEND = GpuBackend("nvml", "ok", nvml_up=True)
BUS = Pcie(
    (
        PcieDevice("0000:3b:00.0", "gpu", driver="nvidia"),
        PcieDevice("0000:3c:00.0", "gpu", driver="vfio-pci"),
        PcieDevice("0000:3d:00.0", "gpu", driver="vfio-pci"),
        PcieDevice("0000:5c:00.0", "network", driver="mlx5_core"),
        PcieDevice("0000:5d:00.0", "network", driver="vfio-pci"),
        *(PcieDevice(f"0000:6{n}:00.0", "nvme", driver="nvme") for n in range(3)),
        PcieDevice("0000:00:01.0", "port"),
    )
)


def said(name: str, *readings: object) -> Value:
    """This field of the node after a look with these readings."""
    return fields(seen(*readings), ("node", "n"), name)[name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpu_pci_count", 1),
        ("gpu_passthrough_count", 2),
        ("network_pci_count", 2),
        ("nvme_pci_count", 3),
    ],
)
def test_devices_on_the_bus_are_counted_by_kind(name: str, expected: int) -> None:
    """GPUs given to a virtual machine apart; without a look at the bus it is unknown."""
    assert said(name, BUS) == expected
    assert said(name) is None


@pytest.mark.parametrize(
    ("name", "reading", "expected"),
    [
        ("disk_count", Disks((Disk("sda"), Disk("sdb"))), 2),
        ("disk_count", Disks((Disk("sda"),), truncated=1), None),
        ("interface_count", Network("host", (Interface("eth0"),)), 1),
        ("interface_count", Network("host", (Interface("eth0"),), truncated=1), None),
        ("interface_count", Network("pod"), None),
        ("gpu_up_count", Gpus(BACKEND, (CARD, replace(CARD, up=False))), 1),
        ("gpu_up_count", Gpus(BACKEND, (CARD, replace(CARD, stale=True))), None),
        ("gpu_up_count", Gpus(BACKEND, (CARD, replace(CARD, stale=True, up=False))), 1),
        ("gpu_backend", Gpus(BACKEND), "nvml"),
        ("gpu_backend_reason", Gpus(BACKEND), "ok"),
        ("gpu_nvml_up", Gpus(BACKEND), True),
        ("gpu_releases", Gpus(BACKEND, releases=3), 3),
        ("gpu_release_overdue", Gpus(BACKEND, release_overdue=True), True),
        ("pressure_cpu_some_avg10", Pressures((Pressure("cpu", "some", 1.0, avg10=3.0),)), 3.0),
        ("pressure_irq_full_avg300", Pressures((Pressure("irq", "full", 1.0, avg300=2.0),)), 2.0),
        ("memory_available_bytes", Memory(100, 40), 40),
        ("pressure_io_some_avg60", Pressures((Pressure("cpu", "some", 1.0, avg60=2.0),)), None),
    ],
)
def test_a_count_is_said_where_all_of_them_are_seen(
    name: str, reading: object, expected: Value
) -> None:
    """A list that was cut, another namespace or an old value make it unknown, as does no look."""
    assert said(name, reading) == expected
    assert said(name) is None


def test_fields_with_labels_are_read_by_reading() -> None:
    """The kinds of the kernel log, for one; what has no such field was not said."""
    log = KernelLog("kmsg", "ok", 9, 0, 0, kinds=(("xid", 3), ("oom_kill", 1)))
    assert said("kernel_log_kinds[xid]", log) == 3
    assert said("kernel_log_records", log) == 9
    assert said("kernel_log_kinds[lost]", log) is None
    assert said("kernel_log_kinds[xid]") is None
    assert said("kernel_log_records[xid]", log) is None


@pytest.mark.parametrize("outcome", [Outcome.STUCK, Outcome.FAILED, Outcome.ABSENT])
def test_a_source_is_in_one_state_at_a_time(outcome: Outcome) -> None:
    """Stuck, failed or absent, with its reason."""
    scene = seen(reports=(SourceReport("gpu", outcome, 1.0, "no answer"),))
    assert fields(scene, ("source", "gpu"), "reason") == {"reason": "no answer"}
    states = fields(scene, ("source", "gpu"), "stuck", "failed", "absent")
    assert [name for name, holds in states.items() if holds] == [outcome.value]


def test_gpus_of_the_log_are_known_by_their_address() -> None:
    """What the driver wrote when it was loaded; only kinds that were read can be gone."""
    log = KernelLog("kmsg", "ok", 9, 0, 0, gpu_uuids=(("0000:3b:00.0", "GPU-a"),))
    scene = seen(log, Disks(()))
    assert scene.names == ((("gpu", "0000:3b:00.0"), ("gpu", "GPU-a")),)
    assert {"disk"} <= scene.read_kinds
    assert not {"gpu", "process", "nic"} & scene.read_kinds
    assert entity(scene, ("node", "n")).addresses == (("node", ""), ("node", "n"))
