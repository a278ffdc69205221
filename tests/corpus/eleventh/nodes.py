"""What happens on many nodes of the eleventh batch in the same way, and what may be said of it."""

from collections.abc import Callable

from tests.corpus.parts import Tree, client, use
from tests.corpus.story import Story

HOUR = 3600
CARDS_OF_A_CHASSIS = 8  # their drivers tell margins and the heat of the memory
LOAD = (
    *("utilization_percent", "memory_controller_utilization_percent", "power_draw_watts"),
    *("power_average_watts", "temperature_celsius", "memory_temperature_celsius"),
    *("thermal_margin_celsius", "clock_hertz", "memory_used_bytes", "memory_free_bytes"),
    *("performance_state", "pcie_link_generation", "fan_speed_percent"),
)
SPIN = (
    *("gpu_busy_without_work", "gpu_idle_allocated", "gpu_allocated_unused", "gpu_app_fault"),
    *("nccl_hang", "nccl_rank_missing", "nccl_straggler", "process_crashed"),
    *("gpu_unlike_siblings", "gpu_unlike_itself"),
)
GONE = (
    *SPIN,
    *("gpu_count_low", "gpu_recovery_required", "gpu_reset_required", "nvlink_down"),
    *("telemetry_stale", "gpu_memory_orphan", "backend_stuck", "gpu_channel_timeout"),
    *("gpu_xid_critical", "gpu_xid_warning", "nvlink_errors", "attribution_low", "gpu_unhealthy"),
)
WAITING = (
    *("io_stall", "disk_slow", "disk_stalled", "process_waits_for_storage", "hung_task"),
    *("filesystem_stuck", *SPIN),
)
BROKEN_DISK = (
    *("disk_io_errors", "filesystem_error", "filesystem_shutdown", "filesystem_readonly"),
    *("filesystem_stuck", "io_stall", "disk_stalled", "disk_slow", "process_waits_for_storage"),
    *("hung_task", "nvme_media_errors"),
)
NET = (
    *("tcp_retransmit_burst", "net_drop", "net_link_down", "net_link_flap", "net_errors"),
    *("nic_cable_unplugged",),
)
HOT = (
    *("gpu_overheat", "gpu_memory_overheat", "gpu_thermal_throttle", "gpu_thermal_slowdown"),
    *("gpu_clock_low", "nccl_straggler", "gpu_unlike_siblings", "gpu_unlike_itself"),
)
MACHINE = (
    *("machine_check", "machine_check_exceptions", "machine_check_corrected_rate"),
    *("memory_corrected_rate", "memory_uncorrected", "memory_page_offlined"),
    "firmware_hardware_error",
)


def aborts(
    node: Story, *but: str, watts: float = 92.0, heat: float = 34.0, first: int = 4711
) -> None:
    """All ranks of the job are gone, and its cards idle; those that are lost say nothing new."""
    for number, low in enumerate(node.bus_addresses):
        node.put("Workloads", "clients", **{str(first + number): None})
        node.put("Workloads", "uses", **{low: None})
        if low in but:
            continue
        node.gpu(low, processes=[], memory_used_bytes=0, utilization_percent=0.0)
        node.gpu(low, memory_controller_utilization_percent=0.0, power_draw_watts=watts)
        node.gpu(low, power_average_watts=watts, temperature_celsius=heat)
        node.gpu(low, throttle_active={"gpu_idle": 1})
        node.gpu(low, clock_hertz={"graphics": 3.45e8, "sm": 3.45e8})
        if len(node.bus_addresses) == CARDS_OF_A_CHASSIS:
            node.gpu(low, thermal_margin_celsius=87.0 - heat, memory_temperature_celsius=heat + 5.0)


def starts(node: Story, machine: Callable[[], Tree], first: int, *but: str) -> None:
    """A new job runs on these cards as the first one did, with process numbers of its own."""
    fresh = machine()["Gpus"]["states"]
    for number, low in enumerate(node.bus_addresses):
        if low in but:
            continue
        pid, card = first + number, fresh[low]["gpu"]
        held = card["memory_used_bytes"]
        node.gpu(low, **{name: card[name] for name in LOAD if card.get(name) is not None})
        node.gpu(low, throttle_active={"gpu_idle": 0})
        node.gpu(low, processes=[{"pid": pid, "kind": "compute", "used_memory_bytes": held}])
        one = client(pid, low, started_boottime=node.at)
        one["uses"][0]["memory_used_bytes"] = held
        node.put("Workloads", "clients", **{str(pid): one})
        node.put("Workloads", "uses", **{low: use(low, memory_used_bytes=held)})


def loses(node: Story, low: str, reason: str = "gpu_lost", first: int = 4711) -> None:
    """NVML gets no answer of a card any more, and its process is gone."""
    node.lose(low, reason)
    node.put("Workloads", "clients", **{str(first + node.bus_addresses.index(low)): None})


def port_falls(node: Story, name: str, count: int) -> None:
    """A port of InfiniBand loses its link, and counts that."""
    node.put("Infiniband", "ports", name, state="down", phys_state="polling")
    node.put("Infiniband", "ports", name, errors={"link_downed": count})


def port_rises(node: Story, name: str) -> None:
    """A port of InfiniBand is active again."""
    node.put("Infiniband", "ports", name, state="active", phys_state="linkup")
