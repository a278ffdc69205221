"""Nodes of the tenth batch, and what happens on many of them in the same way."""

from collections.abc import Callable

from tests.corpus.fifth.nodes import AMPERE_LACKS, BOARD_LACKS, links, with_cards
from tests.corpus.machines import processors_only
from tests.corpus.parts import GIB, Tree, disk, filesystem, ib_port, nic, pcie_device, sensor
from tests.corpus.story import Story

HOUR = 3600
POD = {
    "1a": "19",
    "3d": "3c",
    "4e": "4d",
    "62": "61",
    "9a": "99",
    "b2": "b0",
    "c2": "c0",
    "de": "dd",
}
RAILS = {"mlx5_0": "18", "mlx5_1": "4b", "mlx5_2": "98", "mlx5_3": "bf"}
INFERENCE = {"21": "20", "41": "40", "a1": "a0", "e1": "e0"}
SPIN = (
    *("gpu_busy_without_work", "gpu_idle_allocated", "gpu_allocated_unused", "gpu_app_fault"),
    *("nccl_hang", "nccl_rank_missing", "nccl_straggler", "process_crashed"),
    *("gpu_unlike_siblings", "gpu_unlike_itself"),
)
GONE = (
    *SPIN,
    *("gpu_count_low", "gpu_recovery_required", "gpu_reset_required", "nvlink_down"),
    *("telemetry_stale", "gpu_memory_orphan", "backend_stuck", "gpu_channel_timeout"),
    *("gpu_xid_critical", "gpu_xid_warning", "nvlink_errors", "attribution_low"),
)
WAITING = (
    *("io_stall", "disk_slow", "disk_stalled", "process_waits_for_storage", "hung_task"),
    *("filesystem_stuck", *SPIN),
)
BROKEN_DISK = (
    *("disk_io_errors", "filesystem_error", "filesystem_shutdown", "filesystem_readonly"),
    *("filesystem_stuck", "io_stall", "disk_stalled", "disk_slow", "process_waits_for_storage"),
)


def holding(node: Tree, gib: int) -> Tree:
    """Let each process of the job hold so much memory of its card."""
    for state in node["Gpus"]["states"].values():
        card = state["gpu"]
        card["memory_used_bytes"] = gib * GIB
        card["memory_free_bytes"] = card["memory_total_bytes"] - (gib + 1) * GIB
        for process in card["processes"]:
            process["used_memory_bytes"] = gib * GIB
    for each in node["Workloads"]["clients"].values():
        each["uses"][0]["memory_used_bytes"] = gib * GIB
    for each in node["Workloads"]["uses"].values():
        each["memory_used_bytes"] = gib * GIB
    return node


def _limits(default: float, low: float) -> dict[str, float]:
    return {"min": low, "max": default, "default": default, "requested": default}


def _with_rails(node: Tree, rate: float) -> Tree:
    devices = node["Pcie"]["devices"]
    for gone in ("ca", "cb"):
        del devices[gone]
    ports = {}
    for name, place in RAILS.items():
        address = f"0000:{place}:00.0"
        devices[f"rail {place}"] = pcie_device(address, "network", driver="mlx5_core")
        ports[name] = ib_port(
            name, address, rate_bytes_per_second=rate, link_was_up=True, peers_up=3
        )
    node["Infiniband"] = {"ports": ports}
    return node


def pod_of_h100() -> Tree:
    """Eight H100 SXM behind NVSwitches, driver 570, four rails of NDR InfiniBand."""
    node = with_cards(POD, "570.172.08", "12.8", (), nvlink_up=links(18))
    node["Host"] |= {"cpu_model": "Xeon 8480C", "kernel_version": "5.15.0-1079-nvidia"}
    return _with_rails(node, 50e9)


def pod_of_h200() -> Tree:
    """Eight H200 SXM behind NVSwitches, driver 565, four rails of NDR InfiniBand."""
    node = with_cards(
        POD,
        "565.57.01",
        "12.7",
        (),
        name="NVIDIA H200",
        memory_total_bytes=141 * GIB,
        nvlink_up=links(18),
        power_draw_watts=605.0,
        power_average_watts=605.0,
    )
    node["Host"] |= {"cpu_model": "AMD EPYC 9655", "kernel_version": "6.8.0-60"}
    return holding(_with_rails(node, 50e9), 118)


def pod_of_b200() -> Tree:
    """Eight B200 with links of the fifth generation, driver 575, four rails of NDR."""
    node = with_cards(
        POD,
        "575.57.08",
        "12.9",
        (),
        name="NVIDIA B200",
        architecture="blackwell",
        memory_total_bytes=180 * GIB,
        power_limit_watts=1000.0,
        power_limit_range_watts=_limits(1000.0, 200.0),
        power_draw_watts=830.0,
        power_average_watts=830.0,
        nvlink_up=links(18),
    )
    node["Host"] |= {"cpu_model": "Xeon 6960P", "kernel_version": "6.8.0-1030-nvidia"}
    return holding(_with_rails(node, 50e9), 147)


def pod_of_a100() -> Tree:
    """Eight A100 SXM of 80 GiB, driver 550, four rails of HDR InfiniBand."""
    node = with_cards(
        POD,
        "550.127.05",
        "12.4",
        AMPERE_LACKS,
        name="NVIDIA A100-SXM4-80GB",
        architecture="ampere",
        power_limit_watts=400.0,
        power_limit_range_watts=_limits(400.0, 100.0),
        power_draw_watts=345.0,
        power_average_watts=345.0,
        clock_max_hertz={"graphics": 1.41e9, "sm": 1.41e9, "memory": 1.593e9},
        clock_hertz={"graphics": 1.38e9, "sm": 1.38e9, "memory": 1.593e9},
        pcie_link_generation=4,
        pcie_link_generation_max=4,
        nvlink_up=links(12),
        temperature_celsius=57.0,
        memory_temperature_celsius=66.0,
    )
    node["Host"] |= {"cpu_model": "AMD EPYC 7742", "kernel_version": "5.4.0-193"}
    return _with_rails(node, 25e9)


def inference_l40s() -> Tree:
    """Four L40S in slots that answer requests, driver 570; no links between them."""
    node = with_cards(
        INFERENCE,
        "570.133.20",
        "12.8",
        BOARD_LACKS,
        name="NVIDIA L40S",
        architecture="ada",
        memory_total_bytes=45 * GIB,
        power_limit_watts=350.0,
        power_limit_range_watts=_limits(350.0, 100.0),
        power_draw_watts=262.0,
        power_average_watts=262.0,
        temperature_threshold_celsius={"shutdown": 93, "slowdown": 90, "max_operating": 87},
        clock_max_hertz={"graphics": 2.52e9, "sm": 2.52e9, "memory": 9.001e9},
        clock_hertz={"graphics": 2.34e9, "sm": 2.34e9, "memory": 9.001e9},
        pcie_link_generation=4,
        pcie_link_generation_max=4,
        utilization_percent=81.0,
        memory_controller_utilization_percent=52.0,
    )
    node["Host"] |= {"cpu_model": "AMD EPYC 9124", "kernel_version": "6.1.0-37-amd64"}
    return holding(node, 36)


def desk() -> Tree:
    """A workstation with two RTX 6000 Ada that have fans, driver 560."""
    node = with_cards(
        {"17": "16", "65": "64"},
        "560.35.05",
        "12.6",
        BOARD_LACKS,
        name="NVIDIA RTX 6000 Ada Generation",
        architecture="ada",
        memory_total_bytes=48 * GIB,
        power_limit_watts=300.0,
        power_limit_range_watts=_limits(300.0, 100.0),
        power_draw_watts=281.0,
        power_average_watts=281.0,
        fan_speed_percent={"0": 51},
        temperature_celsius=74.0,
        clock_max_hertz={"graphics": 3.105e9, "sm": 3.105e9, "memory": 1.0001e10},
        clock_hertz={"graphics": 2.4e9, "sm": 2.4e9, "memory": 1.0001e10},
        pcie_link_generation=4,
        pcie_link_generation_max=4,
    )
    node["Host"] |= {"cpu_model": "AMD Threadripper PRO 7965WX", "os_version": "24.04"}
    return holding(node, 39)


def file_server() -> Tree:
    """A file server: eight SATA disks, six of them one RAID 6, ext4 for the users."""
    node = processors_only()
    node["Host"] |= {"cpu_model": "Xeon Silver 4314", "kernel_version": "6.1.0-32-amd64"}
    for number, letter in enumerate("abcdefgh"):
        node["Disks"]["disks"][f"sd{letter}"] = disk(
            f"sd{letter}",
            transport="sata",
            rotational=True,
            scsi_address=f"{number}:0:0:0",
            scsi_state="running",
            size_bytes=16_000_900_661_248,
        )
    node["Disks"]["disks"]["md127"] = disk(
        "md127", transport="md", slaves=["sda", "sdb", "sdc", "sdd", "sde", "sdf"]
    )
    node["MdArrays"] = {
        "arrays": {
            "md127": {
                "device": "md127",
                "state": "active",
                "level": "raid6",
                "active_disks": 6,
                "failed_disks": 0,
                "spare_disks": 0,
                "missing_disks": 0,
            }
        }
    }
    node["Filesystems"]["filesystems"]["/export"] = filesystem("/dev/md127", "/export", "ext4")
    node["Network"]["interfaces"]["eth0"] |= {"driver": "ixgbe", "mtu": 1500}
    return node


def database() -> Tree:
    """A database server on two Xeons: mirrored NVMe disks, two ports of 25 Gbit/s."""
    node = processors_only()
    node["Host"] |= {"cpu_model": "Xeon Gold 6430", "kernel_version": "5.14.0-503.el9"}
    node["Network"]["interfaces"] = {
        "ens3f0np0": nic("ens3f0np0", driver="bnxt_en", pci_bus_id="0000:5c:00.0"),
        "ens3f1np1": nic("ens3f1np1", driver="bnxt_en", pci_bus_id="0000:5c:00.1"),
    }
    for number in (1, 2):
        place = {"hw_id": f"psu-{number}", "hw_name": "pmbus", "alarm": False}
        node["Sensors"]["sensors"][f"psu{number}"] = sensor("power", "pin", 410.0, **place)
    return node


def card_away(node: Story, bus: str) -> None:
    """NVML gets no answer of a card any more, and its process is gone."""
    node.lose(bus)
    pid = str(4711 + node.bus_addresses.index(bus))
    node.put("Workloads", "clients", **{pid: None})


def reboots(node: Story, machine: Callable[[], Tree], *lines: str, secs: int = 300) -> None:
    """The node goes down for some minutes and comes back with fresh counters and its job."""
    node.wait(secs, secs)
    fresh = machine()
    fresh["Host"]["uptime_secs"] = 95.0
    version = fresh["Host"]["kernel_version"]
    node.log(f"Linux version {version} (buildd@lcy02-amd64-116)", *lines)
    node.put(**fresh)
    _answer(node)
    node.wait(120)


def job_starts(node: Story, machine: Callable[[], Tree]) -> None:
    """A job like the one that the machine began with runs again on all cards."""
    fresh = machine()
    node.put(Gpus=fresh["Gpus"], Workloads=fresh["Workloads"])
    _answer(node)
    node.wait(60)


def _answer(node: Story) -> None:
    for bus in node.bus_addresses:
        node.state(bus, up=True, reason=None, stale=False)
