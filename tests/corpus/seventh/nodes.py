"""Nodes of the seventh batch: cards of four makers, storage of every kind, guests and ARM."""

from collections.abc import Mapping

from tests.corpus.fifth.nodes import links, with_cards
from tests.corpus.machines import board, processors_only
from tests.corpus.parts import GIB, Tree, disk, filesystem, nic, pcie_device, sensor
from tests.corpus.story import Story

HGX = {"19": "18", "2d": "2c", "3f": "3e", "66": "65", "9b": "9a", "ae": "ad", "bf": "be"}
EIGHT = {**HGX, "e4": "e3"}
FOUR = {"25": "24", "43": "42", "a5": "a4", "c2": "c1"}
PAIR = {"0a": "08", "8c": "8a"}
PRO_LACKS = ("fabric", "nvlink", "memory_temperature")
GDDR_LACKS = (*PRO_LACKS, "thermal_margin", "recovery_action", "sram_threshold")
DESK_LACKS = (*GDDR_LACKS, "ecc_errors", "remapped_rows", "row_remap", "ecc_enabled")
AMD_LACKS = (
    *DESK_LACKS,
    *("gsp", "mig", "persistence", "performance", "clock_max", "pcie_replays"),
)
NOBODY = {"pid": "'<unknown>'", "name": "<unknown>"}
HEAT = ("gpu_thermal_throttle", "gpu_thermal_slowdown", "gpu_clock_low", "gpu_overheat")
SPINS = ("gpu_busy_without_work", "gpu_idle_allocated", "gpu_allocated_unused")
LINKS = ("nvlink_down", "nvlink_fatal", "gpu_nvlink_fatal", "nvlink_errors", "fabric_not_ready")


def power(default: float, low: float, draws: float) -> Tree:
    """The limits of a board, and what it draws now."""
    span = {"min": low, "max": default, "default": default, "requested": default}
    draw = {"power_draw_watts": draws, "power_average_watts": draws}
    return {"power_limit_watts": default, "power_limit_range_watts": span, **draw}


def memory(total: int, used: int) -> Tree:
    """The memory of a card in gibibytes."""
    return {
        "memory_total_bytes": total * GIB,
        "memory_used_bytes": used * GIB,
        "memory_free_bytes": (total - used - 1) * GIB,
    }


def clocks(sm: float, sm_max: float, memory_hertz: float) -> Tree:
    """The clocks of a card now, and the highest."""
    return {
        "clock_max_hertz": {"graphics": sm_max, "sm": sm_max, "memory": memory_hertz},
        "clock_hertz": {"graphics": sm, "sm": sm, "memory": memory_hertz},
    }


def bus(generation: int, width: int = 16) -> Tree:
    """The PCIe link of a card, at its best."""
    best = {"pcie_link_generation_max": generation, "pcie_link_width_max": width}
    return {"pcie_link_generation": generation, "pcie_link_width": width, **best}


def hgx() -> Tree:
    """Eight H100 SXM with NVSwitches and driver 550, on a Xeon board."""
    node = with_cards(EIGHT, "550.163.01", "12.4", (), nvlink_up=links(18))
    node["Host"] |= {"cpu_model": "Xeon 8480C", "kernel_version": "5.15.0-1074"}
    return node


def pro_6000s() -> Tree:
    """Four RTX PRO 6000 Blackwell of the server kind, driver 580."""
    return with_cards(
        FOUR,
        "580.95.05",
        "13.0",
        PRO_LACKS,
        name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
        architecture="blackwell",
        **memory(96, 71),
        **power(600.0, 300.0, 505.0),
        **clocks(2.28e9, 2.43e9, 1.2481e10),
    )


def a10s() -> Tree:
    """Four A10 that serve models, driver 535."""
    return with_cards(
        FOUR,
        "535.247.01",
        "12.2",
        GDDR_LACKS,
        name="NVIDIA A10",
        architecture="ampere",
        **memory(23, 17),
        **power(150.0, 60.0, 132.0),
        **clocks(1.56e9, 1.695e9, 6.251e9),
        **bus(4),
    )


def rtx_3090s() -> Tree:
    """Four GeForce RTX 3090 in a tower of a laboratory, driver 570."""
    return with_cards(
        FOUR,
        "570.153.02",
        "12.8",
        DESK_LACKS,
        name="NVIDIA GeForce RTX 3090",
        architecture="ampere",
        **memory(24, 20),
        **power(350.0, 100.0, 320.0),
        **clocks(1.71e9, 2.1e9, 9.751e9),
        **bus(4),
        fan_speed_percent={"0": 71, "1": 71},
        temperature_celsius=72.0,
        temperature_threshold_celsius={"shutdown": 98, "slowdown": 95, "max_operating": 93},
    )


def rtx_5090s() -> Tree:
    """Two GeForce RTX 5090 of a render farm, open driver 575."""
    return with_cards(
        PAIR,
        "575.64.05",
        "12.9",
        DESK_LACKS,
        name="NVIDIA GeForce RTX 5090",
        architecture="blackwell",
        **memory(32, 25),
        **power(575.0, 400.0, 470.0),
        **clocks(2.61e9, 3.09e9, 1.4001e10),
        fan_speed_percent={"0": 58, "1": 58},
        temperature_celsius=66.0,
        temperature_threshold_celsius={"shutdown": 95, "slowdown": 92, "max_operating": 90},
    )


def grace_hopper() -> Tree:
    """One GH200: a Grace processor and a Hopper card, driver 570."""
    node = with_cards(
        {"1": "0"},
        "570.172.08",
        "12.8",
        ("fabric", "nvlink"),
        name="NVIDIA GH200 480GB",
        **memory(95, 60),
        **power(900.0, 100.0, 540.0),
    )
    devices = node["Pcie"]["devices"]
    devices["1"] = pcie_device("0009:01:00.0", "gpu", "0009:00:00.0")
    devices["port 0"] = pcie_device("0009:00:00.0", "port")
    node["Gpus"]["states"]["1"]["gpu"]["pci_bus_id"] = "00000009:01:00.0"
    node["Host"] |= {"cpu_model": "Neoverse-V2", "kernel_version": "6.8.0-1028-nvidia-64k"}
    del node["MemoryErrors"]
    return node


def _other(
    ports: Mapping[str, str], vendor: str, driver: str, version: str, **card: object
) -> Tree:
    """Put cards of another maker where those of NVIDIA are."""
    lacks = (*AMD_LACKS, "throttle") if vendor != "amd" else AMD_LACKS
    node = with_cards(ports, "", "", lacks, vendor=vendor, **card)
    for low, state in node["Gpus"]["states"].items():
        state["gpu"] |= {"pci_bus_id": f"0000:{low}:00.0"}
    node["Gpus"]["backend"] = {"backend": "none", "reason": "no_driver"}
    there = {"backend": driver, "reason": "ok", "driver_version": version}
    node["Gpus"]["others"] = {driver: there}
    return node


def mi300s() -> Tree:
    """Eight MI300X with ROCm on an EPYC board."""
    node = _other(
        EIGHT,
        "amd",
        "amdgpu",
        "6.12.12",
        name="AMD Instinct MI300X OAM",
        architecture="gfx942",
        **memory(192, 150),
        **power(750.0, 0.0, 610.0),
        clock_hertz={"graphics": 1.95e9, "memory": 1.3e9},
        throttle_active={"hw_thermal_slowdown": 0, "sw_power_cap": 0},
        temperature_threshold_celsius={"shutdown": 110, "slowdown": 100, "memory_max": 105},
        thermal_margin_celsius=38.0,
    )
    for state in node["Gpus"]["states"].values():
        state["gpu"]["ecc_errors_total"] = {
            kind: {"volatile": 0} for kind in ("corrected", "uncorrected", "deferred")
        }
    node["Host"] |= {"cpu_model": "AMD EPYC 9575F", "kernel_version": "6.8.0-60-generic"}
    return node


def radeons() -> Tree:
    """Two Radeon RX 7900 XTX that serve models at home, driver of the kernel."""
    return _other(
        PAIR,
        "amd",
        "amdgpu",
        "6.14.0",
        name="AMD Radeon RX 7900 XTX",
        architecture="gfx1100",
        **memory(24, 19),
        **power(339.0, 0.0, 280.0),
        clock_hertz={"graphics": 2.4e9, "memory": 1.25e9},
        throttle_active={"hw_thermal_slowdown": 0, "sw_power_cap": 0},
        temperature_threshold_celsius={"shutdown": 105, "slowdown": 100},
        fan_speed_percent={"0": 61.0},
        **bus(4),
    )


def arcs() -> Tree:
    """Two Arc Pro B60 with the driver xe."""
    return _other(
        PAIR,
        "intel",
        "xe",
        "6.14.0",
        name="Intel GPU e211",
        **memory(24, 16),
        **power(200.0, 0.0, 150.0),
        clock_hertz={"graphics": 2.4e9},
        temperature_celsius=68.0,
        **bus(5, 8),
    )


def npus() -> Tree:
    """Eight Ascend 910B on a Kunpeng board: only npu-smi tells of them."""
    node = _other(
        EIGHT,
        "ascend",
        "npu-smi",
        "24.1.0",
        name="Ascend 910B3",
        health="ok",
        memory_total_bytes=64 * GIB,
        memory_used_bytes=40 * GIB,
        memory_free_bytes=24 * GIB,
        power_draw_watts=290.0,
        temperature_celsius=51.0,
        utilization_percent=88.0,
    )
    node["Host"] |= {"cpu_model": "Kunpeng-920", "kernel_version": "4.19.90-aarch64"}
    return node


def guest() -> Tree:
    """A virtual machine without any card: virtio, no sensors, no memory controller."""
    node = processors_only()
    for gone in ("Sensors", "MemoryErrors", "NvmeControllers", "NvmeHealths"):
        del node[gone]
    node["Pcie"] = {"devices": {}}
    node["Disks"]["disks"] = {n: disk(n, transport="virtio") for n in ("vda", "vdb")}
    node["Filesystems"]["filesystems"] |= {
        "/": filesystem("/dev/vda1", "/", "ext4"),
        "/data": filesystem("/dev/vdb", "/data", "xfs"),
    }
    node["Network"]["interfaces"] = {
        "eth0": nic("eth0", driver="virtio_net", mtu=1500, pci_bus_id="0000:00:03.0")
    }
    return node


def epyc() -> Tree:
    """A server of two EPYC without cards; its modules are named by rows and channels."""
    node = _without_cards()
    node["Host"] |= {"cpu_model": "AMD EPYC 7763", "kernel_version": "6.1.0-28-amd64"}
    rows = {}
    for row, channel in ((2, 1), (3, 1), (2, 5)):
        label = f"mc#0csrow#{row}channel#{channel}"
        zero = {"corrected_errors": 0, "uncorrected_errors": 0, "size_bytes": 32 * GIB}
        rows[f"{row}{channel}"] = {"controller": "mc0", "dimm": label, **zero}
    counts = {"controller": "mc0", "corrected_errors": 0, "uncorrected_errors": 0}
    node["MemoryErrors"] = {"controllers": {"mc0": {**counts, "dimms": rows}}}
    return node


def altra() -> Tree:
    """An ARM server; its firmware reads the errors of the memory first."""
    node = _without_cards()
    node["Host"] |= {"cpu_model": "Neoverse-N1", "kernel_version": "6.6.0-aarch64"}
    del node["MemoryErrors"]
    del node["CpuHealth"]
    return node


def disk_shelf() -> Tree:
    """A storage server: eight SAS disks, two SATA disks in a mirror, a SAS adapter."""
    node = _without_cards()
    for target, letter in enumerate("abcdefgh"):
        name, address = f"sd{letter}", f"7:0:{target}:0"
        spins = {"transport": "sas", "rotational": True, "scsi_address": address}
        node["Disks"]["disks"][name] = disk(name, **spins, scsi_state="running")
    for port, letter in ((0, "y"), (1, "z")):
        name = f"sd{letter}"
        spins = {"transport": "sata", "scsi_address": f"{port}:0:0:0", "scsi_state": "running"}
        node["Disks"]["disks"][name] = disk(name, **spins)
    whole = {"failed_disks": 0, "missing_disks": 0, "spare_disks": 0}
    mirror = {"device": "md127", "state": "active", "level": "raid1", "active_disks": 2, **whole}
    node["MdArrays"] = {"arrays": {"md127": mirror}}
    node["Filesystems"]["filesystems"] |= {
        "/srv/a": filesystem("/dev/sda1", "/srv/a", "xfs"),
        "/srv/b": filesystem("/dev/sdb1", "/srv/b", "ext4"),
        "/tank": filesystem("tank", "/tank", "zfs", files=None, files_free=None),
    }
    return node


def _without_cards() -> Tree:
    node = board()
    cards = [key for key, device in node["Pcie"]["devices"].items() if device["kind"] == "gpu"]
    for key in cards:
        del node["Pcie"]["devices"][key]
    sensors = node["Sensors"]["sensors"]
    for number in (1, 2):
        place = {"hw_id": f"pmbus-{number}", "hw_name": "pmbus", "alarm": False}
        sensors[f"psu{number}"] = sensor("power", "pin", 410.0, **place)
    return node


def rests(node: Story, watts: float = 60.0) -> None:
    """All jobs end in good order, and the cards have nothing to do."""
    for pid in range(4711, 4711 + len(node.bus_addresses)):
        node.put("Workloads", "clients", **{str(pid): None})
    node.put("Workloads", "uses", **dict.fromkeys(node.bus_addresses))
    node.gpus(processes=[], utilization_percent=0.0, memory_used_bytes=0, power_draw_watts=watts)
    node.gpus(power_average_watts=watts, temperature_celsius=33.0)
    node.gpus(memory_controller_utilization_percent=0.0, throttle_active={"gpu_idle": 1})


def restarts(node: Story, away: int = 75) -> None:
    """The exporter is started again: no look for a while, then one before the cards are read."""
    node.wait(away, away)
    backend = {"backend": "none", "reason": "pending", "nvml_up": None}
    cards = node.take_away("Gpus", "states")
    node.put("Gpus", backend=backend, states=dict.fromkeys(cards))
    node.wait(15)
    node.put("Gpus", backend={"backend": "nvml", "reason": "ok", "nvml_up": True}, states=cards)
    node.wait(30)
