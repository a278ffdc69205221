"""GPU families that export one field each."""

from exporter.collectors.gpu.labels import EACH_GPU
from exporter.exposition.rows import Row, families

MEMORY = (
    Row(
        "memory_reserved_bytes", "Framebuffer (FB) memory reserved by the driver and the firmware."
    ),
    Row(
        "memory_controller_utilization_percent",
        "Memory utilization: share of the driver's last sample period in which memory was "
        "read or written.",
    ),
    Row(
        "bar1_memory_total_bytes",
        "BAR1 memory: size of the window through which PCIe maps the GPU's memory.",
    ),
    Row("bar1_memory_used_bytes", "BAR1 memory in use: mapped into the window at present."),
)
ENGINES = (
    Row(
        "encoder_utilization_percent",
        "Video encoder (NVENC) utilization in the last sample period, 0 to 100.",
    ),
    Row(
        "decoder_utilization_percent",
        "Video decoder (NVDEC) utilization in the last sample period, 0 to 100.",
    ),
    Row(
        "jpeg_utilization_percent",
        "JPEG decoder (NVJPG) utilization in the last sample period, 0 to 100.",
    ),
    Row(
        "ofa_utilization_percent",
        "Optical flow accelerator (OFA) utilization in the last sample period, 0 to 100.",
    ),
)
THERMAL = (
    Row("memory_temperature_celsius", "Memory (HBM or GDDR) temperature of the GPU."),
    Row(
        "temperature_threshold_celsius",
        "Temperature thresholds: shutdown, slowdown, max_operating, memory_max, target.",
        labels=("threshold",),
    ),
    Row(
        "thermal_margin_celsius",
        "Thermal margin (T.Limit): degrees left before the clocks are throttled.",
    ),
    Row(
        "thermal_margin_threshold_celsius",
        "Thermal margin (T.Limit) at which the board acts: shutdown, slowdown, max_operating, "
        "memory_max; only with gpu.thermal_margin_thresholds.",
        labels=("threshold",),
    ),
    Row(
        "fan_speed_percent",
        "Requested fan speed, in percent of the maximum speed.",
        labels=("fan",),
    ),
)
POWER = (
    Row("power_average_watts", "Average power usage over the last second."),
    Row(
        "power_limit_range_watts",
        "Power management limits: min, max, default, and the requested one.",
        labels=("limit",),
    ),
    Row("energy_joules_total", "Total energy consumption since the driver was loaded."),
)
CLOCKS = (
    Row("clock_hertz", "Current clocks: graphics, sm, memory, video.", labels=("clock",)),
    Row(
        "clock_max_hertz",
        "Maximum clocks of the GPU: graphics, sm, memory, video.",
        labels=("clock",),
    ),
    Row("performance_state", "Performance state (P-state): 0 is the fastest, 15 the slowest."),
    Row(
        "throttle_active",
        "Clocks event (throttle) reason: 1 while it throttles the clocks, else 0.",
        labels=("reason",),
    ),
    Row(
        "throttle_seconds_total",
        "Time throttled by clocks event (throttle) reason since the driver was loaded "
        "(violation time).",
        labels=("reason",),
    ),
)
COUNTED_SINCE = (
    ("volatile", "since the driver was loaded (volatile)"),
    ("aggregate", "over the life of the board (aggregate)"),
)
ECC_COUNTS = (
    ("ecc", "ECC errors, corrected and uncorrected,", "ecc_errors_total", ("error_type",)),
    (
        "ecc_location",
        "ECC errors by location on the GPU (device memory, SRAM, caches)",
        "ecc_location_errors_total",
        ("error_type", "location"),
    ),
    (
        "sram_ecc",
        "Uncorrected SRAM ECC errors by kind, parity or SEC-DED,",
        "sram_ecc_errors_total",
        ("error_type",),
    ),
)
"""Volatile and aggregate counters of the same errors are metrics of their own."""
ECC = (
    Row("ecc_enabled", "ECC mode: 1 when ECC protection of the memory is enabled."),
    *(
        Row(
            f"{place}_{counter}_errors_total",
            f"{what} {since}.",
            field,
            labels,
            counter=counter,
        )
        for place, what, field, labels in ECC_COUNTS
        for counter, since in COUNTED_SINCE
    ),
    Row(
        "sram_ecc_sources_total",
        "Aggregate uncorrected SRAM ECC errors by source (l2, sm, microcontroller, pcie,"
        " other); absent if zero.",
        labels=("unit",),
        max_with_zeros=0,
    ),
    Row(
        "sram_threshold_exceeded",
        "Whether uncorrectable SRAM ECC errors exceeded the threshold for replacing the "
        "board (RMA).",
    ),
)
REPAIR = (
    Row("remapped_rows_total", "Remapped rows of memory (row remapping).", labels=("error_type",)),
    Row("row_remap_pending", "Row remapping pending: a row is replaced at the next GPU reset."),
    Row("row_remap_failed", "Row remapping failed: a row could not be replaced."),
    Row(
        "row_remap_banks",
        "Row remapper histogram: memory banks by remaining spare rows (max, high, partial,"
        " low, none); absent if zero.",
        labels=("availability",),
        max_with_zeros=0,
    ),
    Row("retired_pages_total", "Retired pages of memory (page retirement).", labels=("cause",)),
    Row(
        "retired_pages_pending", "Page retirement pending: a page is retired at the next GPU reset."
    ),
    Row(
        "recovery_action",
        "GPU recovery action that the driver requests (none, reset, reboot, drain_p2p,"
        " drain_and_reset, recover_imex, bus_reset); 1 for the requested one.",
        labels=("action",),
    ),
)
PCIE = (
    Row("pcie_link_generation", "Current PCIe link generation; an idle GPU may lower it."),
    Row("pcie_link_generation_max", "Maximum PCIe link generation of this GPU in this slot."),
    Row("pcie_link_width", "Current PCIe link width, in lanes."),
    Row("pcie_link_width_max", "Maximum PCIe link width of this GPU in this slot, in lanes."),
    Row("pcie_replays_total", "PCIe replay counter: packets that were retransmitted."),
    Row("pcie_receive_bytes_per_second", "PCIe RX throughput, sampled over 20 ms."),
    Row("pcie_transmit_bytes_per_second", "PCIe TX throughput, sampled over 20 ms."),
)
NVLINK = (
    Row(
        "nvlink_up",
        "NVLink state of each link: 1 if active, 0 if inactive; only with gpu.nvlink_per_link.",
        labels=("link",),
    ),
    Row(
        "nvlink_errors_total",
        "NVLink errors, sum over all links: CRC, replay, recovery.",
        labels=("error",),
    ),
    Row(
        "nvlink_link_errors_total",
        "NVLink errors of each link: CRC, replay, recovery.",
        labels=("link", "error"),
    ),
    Row("nvlink_receive_bytes_total", "NVLink RX data (payload) over all links."),
    Row("nvlink_transmit_bytes_total", "NVLink TX data (payload) over all links."),
    Row(
        "fabric_state",
        "NVLink fabric registration state (not_started, in_progress, completed); 1 for the "
        "current one.",
        labels=("state",),
    ),
    Row(
        "fabric_condition",
        "NVLink fabric health condition that is not healthy; always 1, absent if healthy.",
        labels=("condition",),
        max_with_zeros=0,
    ),
    Row("fabric_healthy", "NVLink fabric health: whether the GPU's part of the fabric is healthy."),
)
PROFILING = (
    Row(
        "activity_ratio",
        "GPM activity (DCGM profiling): share of the interval in which the unit was active.",
        labels=("unit",),
    ),
    Row(
        "pcie_profile_bytes_per_second",
        "GPM (DCGM profiling) PCIe throughput over the interval, including headers.",
        labels=("direction",),
    ),
    Row(
        "nvlink_profile_bytes_per_second",
        "GPM (DCGM profiling) NVLink throughput over the interval, including headers.",
        labels=("direction",),
    ),
)
MODES = (
    Row("mig_enabled", "MIG mode: 1 when Multi-Instance GPU is enabled."),
    Row(
        "persistence_mode",
        "Persistence mode: 1 when the driver keeps an unused GPU initialized.",
    ),
    Row(
        "compute_mode",
        "Compute mode (default, exclusive_process, prohibited); 1 for the current one.",
        labels=("mode",),
    ),
    Row(
        "health",
        "Health of an Ascend NPU as its driver reports it (ok, warning, alarm, critical); 1 for "
        "the current one.",
        labels=("state",),
        states=("ok", "warning", "alarm", "critical"),
    ),
    Row("gsp_enabled", "GSP firmware: 1 when driver tasks run on the GPU System Processor."),
)

ROWS = (
    *MEMORY,
    *ENGINES,
    *THERMAL,
    *POWER,
    *CLOCKS,
    *ECC,
    *REPAIR,
    *PCIE,
    *NVLINK,
    *PROFILING,
    *MODES,
)
FAMILIES = families("hw_gpu_", EACH_GPU, *ROWS)
