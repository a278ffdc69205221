"""Disks, memory, sensors, arrays, adapters: fields, names, and what is part of what."""

from dataclasses import replace

import pytest

from exporter.collectors.disk.values import (
    Disk,
    Disks,
    Filesystem,
    Filesystems,
    MdArray,
    MdArrays,
    NvmeController,
    NvmeControllers,
    NvmeHealth,
    NvmeHealths,
)
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.memory.values import Dimm, MemoryController, MemoryErrors
from exporter.collectors.network.values import Infiniband, InfinibandPort, Interface, Network
from exporter.collectors.pcie.values import Pcie, PcieDevice
from exporter.collectors.sensors.values import Sensor, Sensors
from tests.faults.entities.looks import edges, entity, fields, on_the_bus, seen

HOT = Sensor(
    "temperature",
    *("nvme0", "nvme", "Composite", 70.0),
    limits=(("high.degraded", 80.0), ("high.critical", 85.0)),
)
HEALTH = NvmeHealth("nvme0", 1, 55.0, 0.9, 0.1, 0.3, 4, 5)


def test_a_disk_says_what_its_controller_says() -> None:
    """State, health and heat; of the temperature the sensor knows more than the health log."""
    names = (
        *("nvme_state", "critical_warning", "percentage_used_ratio", "temperature_celsius"),
        *("temperature_high_celsius", "temperature_critical_celsius", "io_in_flight"),
    )
    disks = Disks((Disk("nvme0n1", io_in_flight=2), Disk("nvme1n1"), Disk("sda")))
    controllers = NvmeControllers((NvmeController("nvme0", "live"),))
    scene = seen(disks, controllers, NvmeHealths((HEALTH,)), Sensors((HOT,)))
    found = fields(scene, ("disk", "nvme0n1"), *names)
    assert list(found.values()) == ["live", 1, 0.3, 70.0, 80.0, 85.0, 2]
    assert set(fields(scene, ("disk", "nvme1n1"), *names).values()) == {None}
    assert fields(scene, ("disk", "nvme0n1"), "device") == {"device": "nvme0n1"}
    for key in (("disk", "sda"), ("disk", "nvme1n1")):
        assert fields(scene, key, "nvme_state", "temperature_celsius") == {
            "nvme_state": None,
            "temperature_celsius": None,
        }


@pytest.mark.parametrize(
    "other",
    [
        replace(HOT, kind="fan"),
        replace(HOT, hw_name="drivetemp"),
        replace(HOT, sensor="Sensor 1"),
        replace(HOT, value=None),
    ],
)
def test_only_the_temperature_of_the_whole_disk_is_its_temperature(other: Sensor) -> None:
    """Not that of one of its chips, nor one that says nothing; then the health log stands."""
    disks = Disks((Disk("nvme0n1"),))
    names = ("temperature_celsius", "temperature_high_celsius")
    found = fields(
        seen(disks, NvmeHealths((HEALTH,)), Sensors((other,))), ("disk", "nvme0n1"), *names
    )
    assert list(found.values()) == [55.0, None]
    first = replace(HOT, sensor="temp1")
    assert fields(seen(disks, Sensors((first,))), ("disk", "nvme0n1"), *names) == {
        "temperature_celsius": 70.0,
        "temperature_high_celsius": 80.0,
    }


def test_a_disk_sits_in_the_slot_of_its_controller() -> None:
    """Where that is known; a filesystem lies on the disk that is there."""
    controllers = NvmeControllers(
        (
            NvmeController("nvme0", pci_bus_id="0000:61:00.0"),
            NvmeController("nvme1"),
            NvmeController("nvme2", pci_bus_id="0000:62:00.0"),
        )
    )
    disks = Disks((Disk("nvme0n1"), Disk("nvme1n1"), Disk("sda", scsi_address="0:0:1:0")))
    mounts = Filesystems(
        tuple(Filesystem(f"/dev/{d}", f"/{d}", "ext4", readonly=False) for d in ("sda1", "sdb1"))
    )
    scene = seen(disks, controllers, mounts)
    assert edges(scene, "part_of") == {
        ("part_of", ("disk", "nvme0n1"), ("pcie", "0000:61:00.0")),
        ("part_of", ("filesystem", "/sda1"), ("disk", "sda")),
    }
    assert ("physical_disk", "0:0:1:0") in entity(scene, ("disk", "sda")).addresses
    assert edges(seen(controllers, mounts), "part_of") == set()


def test_memory_is_known_by_module_and_controller() -> None:
    """Errors of which the module is unknown have an entity as well, where there are some."""
    lost = Dimm("mc0", "unlocated", corrected_errors=7)
    mc = MemoryController("mc0", dimms=(Dimm("mc0", "A1", corrected_errors=3),), unlocated=lost)
    scene = seen(MemoryErrors((mc, MemoryController("mc1"))))
    keys = [each.key for each in scene.entities if each.kind == "dimm"]
    assert keys == [("dimm", "mc0/A1"), ("dimm", "mc0/unlocated")]
    found = entity(scene, keys[0])
    assert (found.name, found.addresses) == ("A1", (("memory", "A1"),))
    assert found.fields.get("corrected_errors") == 3


def test_sensors_are_known_by_device_and_label() -> None:
    """Each of its kind, with its limits by name."""
    fan = Sensor("fan", "bmc", "ipmi", "FAN1", 900.0, alarm=True)
    scene = seen(Sensors((HOT, fan, replace(fan, kind="power", sensor="PSU1"))))
    kinds = ("temperature", "fan", "power_supply")
    assert [each.key for each in scene.entities if each.kind in kinds] == [
        ("temperature", "nvme0/Composite"),
        ("fan", "bmc/FAN1"),
        ("power_supply", "bmc/PSU1"),
    ]
    assert entity(scene, ("fan", "bmc/FAN1")).name == "ipmi FAN1"
    names = ("value", "high_degraded", "high_critical", "alarm")
    of_disk = fields(scene, ("temperature", "nvme0/Composite"), *names)
    assert list(of_disk.values()) == [70.0, 80.0, 85.0, None]
    assert list(fields(scene, ("fan", "bmc/FAN1"), *names).values()) == [900.0, None, None, True]


@pytest.mark.parametrize(
    ("fstype", "is_device"),
    [("fuseblk", True), ("xfs", True), ("fuse.evil", False), ("fuse", False)],
)
def test_a_mount_of_a_user_is_not_on_the_disk_that_it_names(
    fstype: str, *, is_device: bool
) -> None:
    """`fusermount -o fsname=/dev/sda1` would have the faults of the disk and of its filesystem."""
    mount = Filesystem("/dev/sda1", "/data", fstype, readonly=False)
    scene = seen(Disks((Disk("sda"),)), Filesystems((mount,)))
    found = entity(scene, ("filesystem", "/data"))
    assert (("logical_disk", "sda1") in found.addresses) is is_device
    assert bool(edges(scene, "part_of")) is is_device


@pytest.mark.parametrize(("server", "known_as"), [("nas", "nas"), ("[2001:db8::5]", "2001:db8::5")])
def test_a_server_is_known_by_its_mounts(server: str, known_as: str) -> None:
    """Once for all that are mounted of it, as the kernel log calls it; others are none."""
    mounts = (
        Filesystem(f"{server}:/data", "/data", "nfs4", readonly=False),
        Filesystem(f"{server}:/home", "/home", "nfs", readonly=False),
        Filesystem("ceph:/", "/ceph", "ceph", readonly=False),
        Filesystem("nfsd", "/proc/fs/nfsd", "nfsd", readonly=False),
    )
    scene = seen(Filesystems(mounts))
    assert [each.key for each in scene.entities if each.kind == "nfs_mount"] == [
        ("nfs_mount", known_as)
    ]
    assert edges(scene, "part_of") == {
        ("part_of", ("filesystem", place), ("nfs_mount", known_as)) for place in ("/data", "/home")
    }


def test_an_array_is_a_disk_to_events() -> None:
    """It is called by its device."""
    scene = seen(MdArrays((MdArray("md0", "active", missing_disks=1),)))
    assert entity(scene, ("md_array", "md0")).addresses == (("md_array", "md0"),)
    assert fields(scene, ("md_array", "md0"), "missing_disks", "state") == {
        "missing_disks": 1,
        "state": "active",
    }


PORT = InfinibandPort(
    *("mlx5_0", "1", "active"),
    events=(("out_of_sequence", 5),),
    errors=(("link_downed", 2),),
    pci_bus_id="0000:CA:00.0",
)


def test_a_port_is_known_by_its_number_and_its_adapter() -> None:
    """What RDMA counted has a name of its own: `events` is a function of rules."""
    scene = seen(Infiniband((PORT, InfinibandPort("mlx5_1", "2"))))
    found = entity(scene, ("ib_port", "mlx5_0/1"))
    assert found.addresses == (("network", "mlx5_0/1"), ("network", "0000:ca:00.0"))
    assert entity(scene, ("ib_port", "mlx5_1/2")).addresses == (("network", "mlx5_1/2"),)
    names = ("up", "rdma_events[out_of_sequence]", "errors[link_downed]")
    assert list(fields(scene, found.key, *names).values()) == [True, 5, 2]


def test_an_adapter_without_an_interface_is_known_by_its_address() -> None:
    """Once for its ports; one that has an interface is that interface."""
    second = replace(PORT, port="2")
    other = replace(PORT, device="mlx5_1", pci_bus_id="0000:cb:00.0")
    away = InfinibandPort("mlx5_2", "1")
    ports = Infiniband((PORT, second, other, away))
    nic = Interface("ib0", pci_bus_id="0000:cb:00.0")
    scene = seen(ports, Network("host", (nic, Interface("lo"))))
    adapters = {each.name: each.addresses for each in scene.entities if each.kind == "nic"}
    assert adapters == {
        "ib0": (("network", "ib0"), ("network", "0000:cb:00.0")),
        "lo": (("network", "lo"),),
        "mlx5_0": (("network", "0000:ca:00.0"),),
    }
    assert [each.name for each in seen(ports).entities if each.kind == "nic"] == [
        *("mlx5_0", "mlx5_1"),
    ]


def test_a_roce_port_is_its_interface() -> None:
    """On the same function and Ethernet; of two interfaces there the first."""
    ports = (
        replace(PORT, link_layer="Ethernet"),
        replace(PORT, port="2", link_layer="InfiniBand"),
        replace(PORT, device="mlx5_1", link_layer="Ethernet", pci_bus_id=None),
        replace(PORT, device="mlx5_2", link_layer="Ethernet", pci_bus_id="0000:cc:00.0"),
    )
    nics = (
        *(Interface(name, pci_bus_id="0000:CA:00.0") for name in ("eth0", "eth0v1")),
        Interface("veth1"),
    )
    scene = seen(Infiniband(ports), Network("host", nics))
    assert edges(scene, "part_of") == {("part_of", ("ib_port", "mlx5_0/1"), ("nic", "eth0"))}


def test_what_uses_a_device_is_part_of_it() -> None:
    """A GPU, an interface and a port, where the bus shows the device of their address."""
    bus = ("0000:3b:00.0", "0000:5c:00.0", "0000:ca:00.0")
    cards = (
        Gpu(0, "GPU-a", "H100", pci_bus_id="00000000:3B:00.0"),
        Gpu(1, "GPU-b", "H100"),
        Gpu(2, "GPU-c", "H100", pci_bus_id="0000:99:00.0"),
    )
    nics = (Interface("eth0", pci_bus_id="0000:5c:00.0"), Interface("lo"))
    scene = seen(
        Pcie(tuple(PcieDevice(each, "gpu") for each in bus)),
        Gpus(GpuBackend("nvml", "ok"), tuple(GpuState(card, 1000.0) for card in cards)),
        Network("host", nics),
        Infiniband((PORT, InfinibandPort("mlx5_1", "1"))),
    )
    assert edges(scene, "part_of", "below") == set()
    assert on_the_bus(scene) == {
        (("gpu", "GPU-a"), ("pcie", bus[0])),
        (("nic", "eth0"), ("pcie", bus[1])),
        (("nic", "mlx5_0"), ("pcie", bus[2])),
        (("ib_port", "mlx5_0/1"), ("pcie", bus[2])),
    }
