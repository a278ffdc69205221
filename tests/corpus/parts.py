"""Parts of the nodes of recordings, in their words: cards, devices, disks, processes, sensors."""

from typing import Any

Tree = dict[str, Any]

GIB = 2**30
BUSY_LIMITS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
)
LIMITS = (*BUSY_LIMITS, "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clock_setting")
POD_UID = "0a1b2c3d-1111-2222-3333-444455556666"
JOB = {"namespace": "ml", "pod": "trainer-0", "container": "main"}
DIMM = "CPU_SrcID#0_MC#1_Chan#0_DIMM#0"
PORT_ABOVE = {"1b": "1a", "3b": "3a", "9b": "9a", "bb": "ba"}


def limits(*active: str) -> dict[str, int]:
    """What holds the clocks down: 1 for these reasons, 0 for the others."""
    return {reason: int(reason in active) for reason in LIMITS}


def h100(index: int, bus: str, **more: object) -> Tree:
    """One SXM card at work: no fans, NVLink, ECC, far from its limits."""
    card: Tree = {
        "index": index,
        "uuid": f"GPU-{bus}",
        "name": "NVIDIA H100 80GB HBM3",
        "pci_bus_id": f"00000000:{bus.upper()}:00.0",
        "architecture": "hopper",
        "numa_node": index // 2,
        "memory_total_bytes": 80 * GIB,
        "power_limit_watts": 700.0,
        "power_limit_range_watts": {"min": 200, "max": 700, "default": 700, "requested": 700},
        "temperature_threshold_celsius": {
            "shutdown": 92,
            "slowdown": 89,
            "max_operating": 87,
            "memory_max": 95,
        },
        "clock_max_hertz": {"graphics": 1.98e9, "sm": 1.98e9, "memory": 2.619e9},
        "pcie_link_generation_max": 5,
        "pcie_link_width_max": 16,
        "persistence_mode": True,
        "gsp_enabled": True,
        "mig_enabled": False,
        "ecc_enabled": True,
        "memory_used_bytes": 60 * GIB,
        "memory_free_bytes": 19 * GIB,
        "memory_reserved_bytes": GIB,
        "utilization_percent": 97.0,
        "memory_controller_utilization_percent": 45.0,
        "temperature_celsius": 62.0,
        "memory_temperature_celsius": 71.0,
        "thermal_margin_celsius": 25.0,
        "power_draw_watts": 560.0,
        "power_average_watts": 560.0,
        "energy_joules_total": 5.0e9,
        "clock_hertz": {"graphics": 1.755e9, "sm": 1.755e9, "memory": 2.619e9},
        "performance_state": 0,
        "throttle_active": limits(),
        "ecc_errors_total": {
            "corrected": {"volatile": 0, "aggregate": 3},
            "uncorrected": {"volatile": 0, "aggregate": 0},
        },
        "sram_threshold_exceeded": False,
        "remapped_rows_total": {"corrected": 0, "uncorrected": 0},
        "row_remap_pending": False,
        "row_remap_failed": False,
        "row_remap_banks": {"max": 640, "high": 0, "partial": 0, "low": 0, "none": 0},
        "recovery_action": "none",
        "pcie_link_generation": 5,
        "pcie_link_width": 16,
        "pcie_replays_total": 4,
        "vendor": "nvidia",
        "nvlink_up": {str(link): 1 for link in range(18)},
        "nvlink_errors_total": {"crc_flit": 12, "crc_data": 0, "replay": 3, "recovery": 0},
        "fabric_state": "completed",
        "fabric_healthy": True,
        "processes": [{"pid": 4711 + index, "kind": "compute", "used_memory_bytes": 60 * GIB}],
        **more,
    }
    return {"gpu": card}


def backend(**more: object) -> Tree:
    """The driver answers by NVML."""
    return {
        "backend": "nvml",
        "reason": "ok",
        "driver_version": "570.124.06",
        "cuda_version": "12.8",
        "nvml_up": True,
        **more,
    }


def client(pid: int, bus: str, **more: object) -> Tree:
    """One process of the job, on one card."""
    return {
        "pid": pid,
        "name": "trainer",
        "state": "running",
        "started_boottime": -3600,
        "uses": [{"gpu_uuid": f"GPU-{bus}", "kind": "compute", "memory_used_bytes": 60 * GIB}],
        "pod_uid": POD_UID,
        "workload": JOB,
        **more,
    }


def use(bus: str, **more: object) -> Tree:
    """What the job does with one card."""
    return {
        "gpu_uuid": f"GPU-{bus}",
        "workload": JOB,
        "processes": 1,
        "idle_allocated_secs": 0,
        "memory_used_bytes": 60 * GIB,
        "is_allocated": True,
        **more,
    }


def pcie_device(address: str, kind: str, parent: str | None = None, **more: object) -> Tree:
    """A device that runs at its best, without an error."""
    return {
        "device": address,
        "kind": kind,
        "parent": parent,
        "speed_bytes_per_second": 3.94e9,
        "speed_max_bytes_per_second": 3.94e9,
        "speed_reachable_bytes_per_second": 3.94e9,
        "width": 16,
        "width_max": 16,
        "width_reachable": 16,
        "errors_by_severity": {"correctable": 0, "nonfatal": 0, "fatal": 0},
        **more,
    }


def bus() -> Tree:
    """Root ports, the ports above each card, the cards, a network card and two disks."""
    found = {
        "17:01": pcie_device("0000:17:01.0", "port"),
        "5b": pcie_device("0000:5b:00.0", "port"),
    }
    for low, high in PORT_ABOVE.items():
        port = f"0000:{high}:00.0"
        found[high] = pcie_device(port, "port", "0000:17:01.0")
        found[low] = pcie_device(f"0000:{low}:00.0", "gpu", port)
    found["5c"] = pcie_device("0000:5c:00.0", "network", "0000:5b:00.0")
    found["ca"] = pcie_device("0000:ca:00.0", "network", "0000:17:01.0")
    found["cb"] = pcie_device("0000:cb:00.0", "network", "0000:17:01.0")
    for number, place in enumerate(("5e", "5f")):
        four = {"width": 4, "width_max": 4, "width_reachable": 4}
        found[place] = pcie_device(f"0000:{place}:00.0", "nvme", "0000:5b:00.0", **four)
        found[place]["slot"] = str(number)
    return {"devices": found}


def disk(name: str, **more: object) -> Tree:
    """A disk with a little traffic behind it."""
    return {
        "device": name,
        "reads_completed": 1000,
        "read_bytes": 10**9,
        "read_time_seconds": 1.0,
        "writes_completed": 1000,
        "written_bytes": 10**9,
        "write_time_seconds": 1.0,
        "io_in_flight": 0,
        "io_time_seconds": 2.0,
        "queue_time_seconds": 2.0,
        "size_bytes": 3_840_755_982_336,
        "rotational": False,
        "transport": "nvme",
        **more,
    }


def filesystem(device: str, mountpoint: str, fstype: str, **more: object) -> Tree:
    """A filesystem that is half full."""
    return {
        "device": device,
        "mountpoint": mountpoint,
        "fstype": fstype,
        "readonly": False,
        "size_bytes": 10**12,
        "free_bytes": 5 * 10**11,
        "available_bytes": 5 * 10**11,
        "files": 10**7,
        "files_free": 9 * 10**6,
        **more,
    }


def nic(name: str, **more: object) -> Tree:
    """An interface that works."""
    return {
        "device": name,
        "receive_bytes": 10**9,
        "receive_packets": 10**6,
        "receive_errors": 0,
        "receive_drops": 0,
        "transmit_bytes": 10**9,
        "transmit_packets": 10**6,
        "transmit_errors": 0,
        "transmit_drops": 0,
        "up": True,
        "admin_up": True,
        "speed_bytes_per_second": 12.5e9,
        "carrier_changes": 2,
        "driver": "mlx5_core",
        "mtu": 9000,
        "operstate": "up",
        **more,
    }


def ib_port(device: str, address: str, **more: object) -> Tree:
    """An InfiniBand port that works."""
    names = ("symbol_error", "link_error_recovery", "link_downed", "local_link_integrity_errors")
    more_names = ("excessive_buffer_overrun_errors", "port_rcv_errors", "port_xmit_discards")
    return {
        "device": device,
        "port": "1",
        "state": "active",
        "phys_state": "linkup",
        "link_layer": "InfiniBand",
        "rate_bytes_per_second": 50e9,
        "pci_bus_id": address,
        "receive_bytes": 10**12,
        "transmit_bytes": 10**12,
        "wait": 0,
        "errors": dict.fromkeys((*names, *more_names), 0),
        **more,
    }


def sensor(kind: str, name: str, value: float, **more: object) -> Tree:
    """A sensor of the board."""
    place = {"hw_id": "ipmi-0", "hw_name": "ipmi"} if kind != "temperature" else {}
    return {"kind": kind, "hw_id": "nct6798", "hw_name": "nct6798", **place} | {
        "sensor": name,
        "value": value,
        **more,
    }


def controller(number: int, address: str) -> Tree:
    """An NVMe controller that is live."""
    return {"device": f"nvme{number}", "state": "live", "pci_bus_id": address}


def nvme_health(number: int, **more: object) -> Tree:
    """The health log of a disk that is well."""
    return {
        "device": f"nvme{number}",
        "critical_warning": 0,
        "temperature_celsius": 41.0,
        "available_spare_ratio": 1.0,
        "available_spare_threshold_ratio": 0.1,
        "percentage_used_ratio": 0.12,
        "unsafe_shutdowns": 7,
        "media_errors": 0,
        **more,
    }
