"""From readings to entities: fields by the names of families, stale is unknown, who uses what."""

from dataclasses import replace

from exporter.collectors.disk.values import Disk, Disks, Filesystem, Filesystems
from exporter.collectors.everything import VOCABULARY, scene_of
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.network.values import Interface, Network
from exporter.collectors.pcie.values import Pcie, PcieDevice
from exporter.collectors.workloads.values import (
    GpuClient,
    ProcessUse,
    Workload,
    Workloads,
    WorkloadUse,
)
from exporter.model.snapshot import Snapshot
from tests.faults.entities.looks import entity, fields, seen

CARD = Gpu(
    index=3,
    uuid="GPU-a",
    name="H100",
    pci_bus_id="00000000:3B:00.0",
    temperature_celsius=61.0,
    ecc_errors_total=(("corrected", "volatile", 2), ("uncorrected", "volatile", 5)),
    nvlink_up=(("0", 1), ("7", 0)),
)


def gpus(state: GpuState) -> Gpus:
    """One GPU read by NVML."""
    return Gpus(GpuBackend("nvml", "ok", nvml_up=True), (state,))


def test_a_gpu_is_known_by_uuid_and_address() -> None:
    """Its fields have the names of the families; labels stand in brackets."""
    scene = seen(gpus(GpuState(CARD, 1000.0)))
    assert entity(scene, ("gpu", "GPU-a")).addresses == (
        ("gpu", "GPU-a"),
        ("gpu", "0000:3b:00.0"),
    )
    names = ("temperature_celsius", "ecc_errors_total[uncorrected,volatile]", "up", "links_down")
    expected = dict(zip(names, (61.0, 5, True, 1), strict=True))
    assert fields(scene, ("gpu", "GPU-a"), *names) == expected
    assert entity(scene, ("nvlink", "0000:3b:00.0/7")).name == "GPU 3 link 7"


def test_processes_use_gpus_and_work_for_somebody() -> None:
    """The edges say who uses what; a process asleep says for how long."""
    client = GpuClient(
        7,
        (ProcessUse("GPU-a", "compute"),),
        name="train",
        state="uninterruptible",
        waits_since_boottime=940.0,
        pod_uid="uid",
        workload=Workload("ns", "pod", "main"),
    )
    scene = seen(gpus(GpuState(CARD, 1000.0)), Workloads("ok", clients=(client,)))
    edges = {(e.relation, e.source, e.target) for e in scene.edges}
    process = ("process", "7")
    assert ("consumes", process, ("gpu", "GPU-a")) in edges
    assert ("runs_in", process, ("workload", "ns/pod/main")) in edges
    assert fields(scene, process, "waiting_secs") == {"waiting_secs": 60.0}
    assert ("workload", "uid") in entity(scene, ("workload", "ns/pod/main")).addresses


def test_over_use_is_that_of_the_worst_gpu() -> None:
    """A workload on several GPUs has the excess of the one where it is largest, each by itself."""
    trainer = Workload("ns", "pod", "main")
    use = WorkloadUse("GPU-a", trainer, 1, 100, 10.0, quota_memory_excess_bytes=-5)
    uses = (
        use,
        replace(use, gpu_uuid="GPU-b", quota_memory_excess_bytes=7, quota_sm_excess_percent=-9.0),
        replace(use, gpu_uuid="GPU-c", quota_memory_excess_bytes=None, quota_sm_excess_percent=4.0),
        WorkloadUse("GPU-a", Workload("", "", "bash"), 1, 1),
    )
    scene = seen(gpus(GpuState(CARD, 1000.0)), Workloads("ok", uses=uses))
    names = ("memory_used_bytes", "quota_memory_excess_bytes", "quota_sm_excess_percent")
    found = fields(scene, ("workload", "ns/pod/main"), *names)
    assert list(found.values()) == [100, 7, 4.0]
    assert list(fields(scene, ("workload", "bash"), *names).values()) == [1, None, None]


def test_what_a_workload_without_a_reading_uses_is_unknown() -> None:
    """Its process is known and its use is not: each field is absent, and no rule breaks on it."""
    client = GpuClient(7, (), workload=Workload("ns", "pod", "main"))
    scene = seen(gpus(GpuState(CARD, 1000.0)), Workloads("ok", clients=(client,)))
    names = tuple(VOCABULARY.names["workload"])
    assert len(names) > 3
    assert set(fields(scene, ("workload", "ns/pod/main"), *names).values()) == {None}


def test_the_bus_leads_from_a_card_to_the_root() -> None:
    """Devices are below their ports."""
    devices = (
        PcieDevice("0000:3b:00.0", "gpu", parent="0000:3a:00.0"),
        PcieDevice("0000:3a:00.0", "port"),
    )
    scene = seen(Pcie(devices), Network("host", (Interface("eth0", pci_bus_id="0000:5c:00.0"),)))
    edges = {(e.relation, e.source, e.target) for e in scene.edges}
    assert ("below", ("pcie", "0000:3b:00.0"), ("pcie", "0000:3a:00.0")) in edges
    assert ("network", "0000:5c:00.0") in entity(scene, ("nic", "eth0")).addresses


def test_a_disk_is_also_called_by_its_controller() -> None:
    """nvme1n1 is meant by lines about nvme1; a filesystem by its mount point and its device."""
    scene = seen(
        Disks((Disk("nvme1n1"),)),
        Filesystems((Filesystem("/dev/nvme1n1p2", "/data", "ext4", readonly=False),)),
    )
    assert ("physical_disk", "nvme1") in entity(scene, ("disk", "nvme1n1")).addresses
    found = entity(scene, ("filesystem", "/data")).addresses
    assert found == (("logical_disk", "/data"), ("logical_disk", "nvme1n1p2"))


def test_what_is_read_between_two_collections_is_judged_at_its_own_time() -> None:
    """A source read again seven seconds after the snapshot was taken moves the rules' clock."""
    snapshot = Snapshot("n", 1, 5e8, 1000.0, 0.1, renewed_secs=7.0)
    scene = scene_of(snapshot, (), frozenset())
    assert (scene.now, scene.wall) == (1007.0, 5e8 + 7)


def test_accelerators_that_nobody_reads_are_not_missed() -> None:
    """A GPU counts on the bus where it should answer: no graphics of a processor, NPU or FPGA."""
    bus = Pcie(
        (
            PcieDevice("0000:00:02.0", "gpu", driver="i915", vendor="0x8086"),
            PcieDevice("0000:00:0b.0", "gpu", driver="intel_vpu", vendor="0x8086"),
            PcieDevice("0000:3b:00.0", "gpu", driver="nvidia", vendor="0x10de"),
            PcieDevice("0000:5e:00.0", "gpu"),
            PcieDevice("0000:61:00.0", "gpu", driver="xocl", vendor="0x10ee"),
            PcieDevice("0000:83:00.0", "gpu", driver="amdgpu", vendor="0x1002"),
            PcieDevice("0000:a3:00.0", "gpu", driver="vfio-pci"),
        )
    )
    amd = replace(CARD, uuid="GPU-b", pci_bus_id="0000:83:00.0", vendor="amd")
    states = (GpuState(CARD, 1000.0), GpuState(amd, 1000.0))
    scene = seen(Gpus(GpuBackend("nvml", "ok"), states), bus)
    assert entity(scene, ("node", "n")).fields.get("gpu_pci_count") == 3
    without = seen(Gpus(GpuBackend("nvml", "ok"), states[:1]), bus)
    assert entity(without, ("node", "n")).fields.get("gpu_pci_count") == 2
