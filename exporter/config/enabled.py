"""The groups of metric families that are read, and the single families that are exported."""

from dataclasses import fields
from typing import Any

from exporter.config.setting import setting
from exporter.record import dataclass


def _family(name: str) -> Any:
    """Return the setting of one family, which system-info-exporter had too."""
    return setting(True, f"`{name}`.", family=name)


@dataclass(frozen=True, slots=True)
class Enabled:
    """Groups of metric families, and single families; each true or false.

    A group that is off is not read; a family that is off is read but not exported.
    """

    node: bool = setting(True, "Name, operating system, uptime.")
    cpu: bool = setting(True, "CPUs.")
    memory: bool = setting(True, "Main memory.")
    pressure: bool = setting(True, "Pressure stall information (PSI).")
    processes: bool = setting(True, "Numbers of processes, threads and open files.")
    clock: bool = setting(True, "Clock synchronization.")
    disk: bool = setting(True, "Disks and their I/O.")
    filesystem: bool = setting(True, "Space in mounted filesystems.")
    nvme: bool = setting(
        True, "State of NVMe disks; also their health with the source nvme_health."
    )
    raid: bool = setting(True, "Software RAID.")
    network: bool = setting(True, "Network interfaces and the network stack.")
    infiniband: bool = setting(True, "Ports of InfiniBand and RoCE cards.")
    pcie: bool = setting(True, "PCIe links and errors.")
    sensors: bool = setting(True, "Temperatures, fans, voltages, power, energy.")
    gpu: bool = setting(True, "GPUs.")
    workloads: bool = setting(True, "Processes on GPUs, and the containers they belong to.")
    services: bool = setting(True, "Services of systemd, where the system bus can be reached.")
    probes: bool = setting(True, "External probes.")
    kernel_log: bool = setting(True, "Events in the kernel log.")
    exporter: bool = setting(True, "Resource usage of the exporter itself.")

    node_info: bool = _family("hw_node_info")
    node_uptime: bool = _family("hw_node_uptime_seconds")
    cpu_cores: bool = _family("hw_cpu_cores")
    cpu_threads: bool = _family("hw_cpu_threads")
    cpu_usage: bool = _family("hw_cpu_usage_percent")
    cpu_used_cores: bool = _family("hw_cpu_used_cores")
    memory_total: bool = _family("hw_memory_total_bytes")
    memory_used: bool = _family("hw_memory_used_bytes")
    memory_available: bool = _family("hw_memory_available_bytes")
    memory_usage: bool = _family("hw_memory_usage_percent")
    gpu_count: bool = _family("hw_gpu_count")
    gpu_used_count: bool = _family("hw_gpu_used_count")
    gpu_type_count: bool = _family("hw_gpu_type_count")
    gpu_memory_total: bool = _family("hw_gpu_memory_total_bytes")
    gpu_memory_used: bool = _family("hw_gpu_memory_used_bytes")
    gpu_memory_free: bool = _family("hw_gpu_memory_free_bytes")
    gpu_utilization: bool = _family("hw_gpu_utilization_percent")
    gpu_temperature: bool = _family("hw_gpu_temperature_celsius")
    gpu_power_draw: bool = _family("hw_gpu_power_draw_watts")
    gpu_power_limit: bool = _family("hw_gpu_power_limit_watts")

    def families_off(self) -> frozenset[str]:
        """Return the names of the single families that are off."""
        return frozenset(name for key, name in FAMILIES.items() if not getattr(self, key))


FAMILIES = {
    item.name: item.metadata["family"] for item in fields(Enabled) if item.metadata["family"]
}
"""The family of each setting for a single family; system-info-exporter had these settings."""
