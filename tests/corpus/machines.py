"""Nodes that recordings begin with, in the words of recordings: readings by type and field."""

from tests.corpus.parts import (
    DIMM,
    GIB,
    PORT_ABOVE,
    Tree,
    backend,
    bus,
    client,
    controller,
    disk,
    filesystem,
    h100,
    ib_port,
    nic,
    nvme_health,
    sensor,
    use,
)


def board() -> Tree:
    """What every server has: processors, memory, disks, a network card, sensors."""
    size = 32 * GIB
    dimm = {"controller": "mc1", "corrected_errors": 0, "uncorrected_errors": 0, "size_bytes": size}
    pressures = [
        {"resource": word, "kind": kind, "seconds": 10.0, "avg10": 0.0, "avg60": 0.0, "avg300": 0.0}
        for word in ("cpu", "memory", "io")
        for kind in ("some", "full")
    ]
    return {
        "Host": {
            "hostname": "node",
            "os_name": "Ubuntu",
            "os_version": "22.04",
            "cpu_model": "Xeon",
            "kernel_version": "5.15.0",
            "uptime_secs": 10_000.0,
        },
        "Cpu": {
            "cores": 64,
            "threads": 128,
            "usage_percent": 20.0,
            "used_cores": 25.0,
            "load1": 26.0,
            "load5": 26.0,
            "load15": 26.0,
            "processes_running": 26,
            "processes_blocked": 0,
        },
        "Memory": {
            "total_bytes": 1024 * GIB,
            "available_bytes": 700 * GIB,
            "free_bytes": 40 * GIB,
            "swap_total_bytes": 0,
            "swap_free_bytes": 0,
        },
        "Paging": {"swap_in_bytes": 0, "swap_out_bytes": 0, "major_faults": 100, "oom_kills": 0},
        "CpuHealth": {
            "frequencies": {"min": 8e8, "avg": 2.9e9, "max": 3.5e9},
            "frequency_max_hertz": 3.8e9,
            "thermal_throttles": {"core": 3, "package": 3},
            "machine_checks": 0,
        },
        "Clock": {"synchronized": True, "offset_seconds": 1e-5, "error_seconds": 0.002},
        "KernelLog": {
            "source": "kmsg",
            "reason": "ok",
            "records": 2000,
            "lost": 0,
            "suppressed": 0,
        },
        "Pressures": {"pressures": {f"{p['resource']}_{p['kind']}": p for p in pressures}},
        "Disks": {"disks": {"nvme0n1": disk("nvme0n1"), "nvme1n1": disk("nvme1n1")}},
        "NvmeControllers": {
            "controllers": {
                "nvme0": controller(0, "0000:5e:00.0"),
                "nvme1": controller(1, "0000:5f:00.0"),
            }
        },
        "NvmeHealths": {"controllers": {"nvme0": nvme_health(0), "nvme1": nvme_health(1)}},
        "Filesystems": {
            "filesystems": {
                "/": filesystem("/dev/nvme0n1p2", "/", "ext4"),
                "/data": filesystem("/dev/nvme1n1", "/data", "xfs"),
                "/home": filesystem("192.0.2.10:/export/home", "/home", "nfs4"),
            }
        },
        "Network": {
            "namespace": "host",
            "interfaces": {"eth0": nic("eth0", pci_bus_id="0000:5c:00.0", numa_node=0)},
        },
        "NetworkStack": {
            "tcp_segments_received": 10**7,
            "tcp_segments_sent": 10**7,
            "tcp_retransmitted_segments": 500,
            "tcp_resets": 10,
            "tcp_listen_drops": 0,
            "softnet_dropped": 0,
            "softnet_squeezed": 0,
            "conntrack_entries": 2000,
            "conntrack_limit": 262_144,
        },
        "MemoryErrors": {
            "controllers": {
                "mc1": {
                    "controller": "mc1",
                    "corrected_errors": 0,
                    "uncorrected_errors": 0,
                    "dimms": {"a": {"dimm": DIMM, **dimm}, "b": {"dimm": "DIMM_B1", **dimm}},
                }
            }
        },
        "Sensors": {
            "sensors": {
                **{f"fan{n}": sensor("fan", f"FAN{n}", 8400.0, alarm=False) for n in (1, 2, 3)},
                "inlet": sensor("temperature", "Inlet Temp", 24.0, limits={"high.degraded": 40}),
            }
        },
        "ProcessCounts": {
            "processes_limit": 4_194_304,
            "threads": 3000,
            "file_descriptors_open": 20_000,
            "file_descriptors_max": 9_000_000,
        },
        "Pcie": bus(),
    }


def trainer() -> Tree:
    """Four H100 with NVLink and two InfiniBand ports; one pod trains on all of them."""
    places = list(enumerate(PORT_ABOVE))
    return {
        **board(),
        "Gpus": {"backend": backend(), "states": {b: h100(i, b) for i, b in places}},
        "Infiniband": {
            "ports": {
                "mlx5_0": ib_port("mlx5_0", "0000:ca:00.0"),
                "mlx5_1": ib_port("mlx5_1", "0000:cb:00.0"),
            }
        },
        "Workloads": {
            "reason": "ok",
            "attribution_ratio": 1.0,
            "clients": {str(4711 + i): client(4711 + i, b) for i, b in places},
            "uses": {b: use(b) for b in PORT_ABOVE},
            "totals": [{"gpu_uuid": f"GPU-{b}", "orphan_memory_bytes": 0} for b in PORT_ABOVE],
        },
    }


def blackwell() -> Tree:
    """The same with cards whose links report by Xid 144 to 150."""
    node = trainer()
    for state in node["Gpus"]["states"].values():
        state["gpu"] |= {"name": "NVIDIA B200", "architecture": "blackwell"}
    return node


def processors_only() -> Tree:
    """A server without any GPU: no driver, nobody on GPUs."""
    node = board()
    cards = [key for key, device in node["Pcie"]["devices"].items() if device["kind"] == "gpu"]
    for key in cards:
        del node["Pcie"]["devices"][key]
    return node


def workstation() -> Tree:
    """One card with fans, without ECC and NVLink, that also drives a display."""
    node = board()
    geforce = h100(
        0,
        "3b",
        name="NVIDIA GeForce RTX 4090",
        architecture="ada",
        ecc_enabled=None,
        persistence_mode=False,
        fan_speed_percent={"0": 38, "1": 38},
        power_limit_watts=450.0,
        power_limit_range_watts={"min": 150, "max": 600, "default": 450, "requested": 450},
        power_draw_watts=380.0,
        processes=[{"pid": 4711, "kind": "compute"}, {"pid": 900, "kind": "graphics"}],
    )
    for name in list(geforce["gpu"]):
        if name.startswith(("ecc_errors", "sram", "remapped", "row_remap", "nvlink", "fabric")):
            del geforce["gpu"][name]
    node["Gpus"] = {"backend": backend(), "states": {"3b": geforce}}
    node["Workloads"] = {
        "reason": "ok",
        "attribution_ratio": 1.0,
        "clients": {"4711": client(4711, "3b")},
        "uses": {"3b": use("3b")},
        "totals": [],
    }
    keep = ("17:01", "3a", "3b", "5b", "5c", "5e", "5f")
    devices = node["Pcie"]["devices"]
    node["Pcie"]["devices"] = {key: devices[key] for key in keep}
    return node
