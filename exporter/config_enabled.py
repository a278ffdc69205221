"""Which groups of metric families are read, and which single families are exported."""

from dataclasses import dataclass

from exporter.config_setting import setting

FAMILIES = {
    "node_info": "hw_node_info",
    "node_uptime": "hw_node_uptime_seconds",
    "cpu_cores": "hw_cpu_cores",
    "cpu_threads": "hw_cpu_threads",
    "cpu_usage": "hw_cpu_usage_percent",
    "cpu_used_cores": "hw_cpu_used_cores",
    "memory_total": "hw_memory_total_bytes",
    "memory_used": "hw_memory_used_bytes",
    "memory_available": "hw_memory_available_bytes",
    "memory_usage": "hw_memory_usage_percent",
    "gpu_count": "hw_gpu_count",
    "gpu_used_count": "hw_gpu_used_count",
    "gpu_type_count": "hw_gpu_type_count",
    "gpu_memory_total": "hw_gpu_memory_total_bytes",
    "gpu_memory_used": "hw_gpu_memory_used_bytes",
    "gpu_memory_free": "hw_gpu_memory_free_bytes",
    "gpu_utilization": "hw_gpu_utilization_percent",
    "gpu_temperature": "hw_gpu_temperature_celsius",
    "gpu_power_draw": "hw_gpu_power_draw_watts",
    "gpu_power_limit": "hw_gpu_power_limit_watts",
}
"""The keys for single families, those of system-info-exporter, and the family of each."""


@dataclass(frozen=True, slots=True)
class Enabled:
    """What is read and exported.

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
    probes: bool = setting(True, "External probes.")
    kernel_log: bool = setting(True, "Events in the kernel log.")
    exporter: bool = setting(True, "Resource usage of the exporter itself.")

    node_info: bool = setting(True, "`hw_node_info`.")
    node_uptime: bool = setting(True, "`hw_node_uptime_seconds`.")
    cpu_cores: bool = setting(True, "`hw_cpu_cores`.")
    cpu_threads: bool = setting(True, "`hw_cpu_threads`.")
    cpu_usage: bool = setting(True, "`hw_cpu_usage_percent`.")
    cpu_used_cores: bool = setting(True, "`hw_cpu_used_cores`.")
    memory_total: bool = setting(True, "`hw_memory_total_bytes`.")
    memory_used: bool = setting(True, "`hw_memory_used_bytes`.")
    memory_available: bool = setting(True, "`hw_memory_available_bytes`.")
    memory_usage: bool = setting(True, "`hw_memory_usage_percent`.")
    gpu_count: bool = setting(True, "`hw_gpu_count`.")
    gpu_used_count: bool = setting(True, "`hw_gpu_used_count`.")
    gpu_type_count: bool = setting(True, "`hw_gpu_type_count`.")
    gpu_memory_total: bool = setting(True, "`hw_gpu_memory_total_bytes`.")
    gpu_memory_used: bool = setting(True, "`hw_gpu_memory_used_bytes`.")
    gpu_memory_free: bool = setting(True, "`hw_gpu_memory_free_bytes`.")
    gpu_utilization: bool = setting(True, "`hw_gpu_utilization_percent`.")
    gpu_temperature: bool = setting(True, "`hw_gpu_temperature_celsius`.")
    gpu_power_draw: bool = setting(True, "`hw_gpu_power_draw_watts`.")
    gpu_power_limit: bool = setting(True, "`hw_gpu_power_limit_watts`.")

    def families_off(self) -> frozenset[str]:
        """Return the names of the single families that are off."""
        return frozenset(name for key, name in FAMILIES.items() if not getattr(self, key))
