"""One GPU: each value is declared here, once."""

import re
from typing import Any

from exporter.collectors.gpu.fabric import words_of
from exporter.collectors.gpu.parts import (
    ALWAYS,
    BYTES,
    CACHED,
    CELSIUS,
    COUNT,
    DRIVERS_OWN_BYTES,
    DRIVERS_OWN_SHARE,
    IDLE_MEMORY_BYTES,
    PERCENT,
    WATTS,
    WORDS_OF_32_BITS,
    GpuProcess,
    MigInstance,
    declared,
    value,
)
from exporter.model.reading import Labeled, Labeled2, Labeled3
from exporter.record import dataclass, replace

_WITH_GRACE = re.compile(r"\bG[BH]\d{3}")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as one pass read it; `None` is what the driver did not report.

    A field is named as its family without `hw_gpu_`, and families stand in this order on the page.
    """

    index: int
    uuid: str
    name: str
    pci_bus_id: str | None = value(shown=ALWAYS)
    serial: str | None = value(shown=ALWAYS)
    architecture: str | None = value(shown=ALWAYS)
    compute_capability: str | None = value(shown=ALWAYS)
    vbios_version: str | None = value(shown=ALWAYS)
    board_part_number: str | None = value(shown=ALWAYS)
    numa_node: int | None = value(bounds=(0, 2**16), shown=ALWAYS)
    minor_number: int | None = value(bounds=(0, 2**16), shown=ALWAYS)
    vendor: str | None = value(shown=ALWAYS)  # nvidia, amd, intel, ascend
    memory_total_bytes: int | None = value(
        "Framebuffer (FB) memory of the GPU.", bounds=(1, 2**50), shown=CACHED
    )
    memory_used_bytes: int | None = value(
        "Framebuffer (FB) memory in use, excluding memory reserved by the driver if the "
        "driver reports it.",
        bounds=BYTES,
    )  # without the driver's reserved part where it says so
    memory_free_bytes: int | None = value("Free framebuffer (FB) memory of the GPU.", bounds=BYTES)
    utilization_percent: float | None = value(
        "GPU utilization: share of the driver's last sample period in which a kernel ran, 0 "
        "to 100.",
        bounds=PERCENT,
    )
    temperature_celsius: float | None = value(
        "Temperature of the GPU: the GPU core temperature.", bounds=CELSIUS
    )
    power_draw_watts: float | None = value("Power usage (draw) of the board.", bounds=WATTS)
    power_limit_watts: float | None = value(
        "Enforced power limit: the lowest of all limits of the board.",
        bounds=(1, 100_000),
        shown=CACHED,
    )  # the enforced limit
    memory_reserved_bytes: int | None = value(
        "Framebuffer (FB) memory reserved by the driver and the firmware.", bounds=BYTES
    )
    memory_controller_utilization_percent: float | None = value(
        "Memory utilization: share of the driver's last sample period in which memory was "
        "read or written.",
        bounds=PERCENT,
    )
    bar1_memory_total_bytes: int | None = value(
        "BAR1 memory: size of the window through which PCIe maps the GPU's memory.",
        bounds=BYTES,
        shown=CACHED,
    )
    bar1_memory_used_bytes: int | None = value(
        "BAR1 memory in use: mapped into the window at present.", bounds=BYTES
    )
    encoder_utilization_percent: float | None = value(
        "Video encoder (NVENC) utilization in the last sample period, 0 to 100.", bounds=PERCENT
    )
    decoder_utilization_percent: float | None = value(
        "Video decoder (NVDEC) utilization in the last sample period, 0 to 100.", bounds=PERCENT
    )
    jpeg_utilization_percent: float | None = value(
        "JPEG decoder (NVJPG) utilization in the last sample period, 0 to 100.", bounds=PERCENT
    )
    ofa_utilization_percent: float | None = value(
        "Optical flow accelerator (OFA) utilization in the last sample period, 0 to 100.",
        bounds=PERCENT,
    )
    memory_temperature_celsius: float | None = value(
        "Memory (HBM or GDDR) temperature of the GPU.", bounds=(1, 250)
    )  # boards without the sensor say 0
    temperature_threshold_celsius: Labeled | None = value(
        "Temperature thresholds: shutdown, slowdown, max_operating, memory_max, target.",
        bounds=CELSIUS,
        labels=("threshold",),
        shown=CACHED,
    )
    thermal_margin_celsius: float | None = value(
        "Thermal margin (T.Limit): degrees left before the clocks are throttled.",
        bounds=(-250, 250),
    )
    thermal_margin_threshold_celsius: Labeled | None = value(
        "Thermal margin (T.Limit) at which the board acts: shutdown, slowdown, max_operating, "
        "memory_max; only with gpu.thermal_margin_thresholds.",
        bounds=(-250, 250),
        labels=("threshold",),
    )
    fan_speed_percent: Labeled | None = value(
        "Requested fan speed, in percent of the maximum speed.", bounds=(0, 200), labels=("fan",)
    )  # by fan # some boards run their fans above what is called full
    power_average_watts: float | None = value(
        "Average power usage over the last second.", bounds=WATTS
    )
    power_limit_range_watts: Labeled | None = value(
        "Power management limits: min, max, default, and the requested one.",
        bounds=WATTS,
        labels=("limit",),
        shown=CACHED,
    )  # min, max, default, requested
    energy_joules_total: float | None = value(
        "Total energy consumption since the driver was loaded.", bounds=(0, 2**53)
    )
    clock_hertz: Labeled | None = value(
        "Current clocks: graphics, sm, memory, video.", bounds=(0, 20e9), labels=("clock",)
    )
    clock_max_hertz: Labeled | None = value(
        "Maximum clocks of the GPU: graphics, sm, memory, video.",
        bounds=(1, 20e9),
        labels=("clock",),
        shown=CACHED,
    )
    performance_state: int | None = value(
        "Performance state (P-state): 0 is the fastest, 15 the slowest.", bounds=(0, 15)
    )
    throttle_active: Labeled | None = value(
        "Clocks event (throttle) reason: 1 while it throttles the clocks, else 0.",
        labels=("reason",),
    )  # by reason, 0 or 1
    throttle_seconds_total: Labeled | None = value(
        "Time throttled by clocks event (throttle) reason since the driver was loaded "
        "(violation time).",
        bounds=(0, 2**34),
        labels=("reason",),
    )
    ecc_enabled: bool | None = value(
        "ECC mode: 1 when ECC protection of the memory is enabled.", shown=CACHED
    )
    ecc_errors_total: Labeled2 | None = value(
        "ECC errors, corrected and uncorrected,",
        bounds=COUNT,
        labels=("error_type",),
        counted="ecc",
    )  # by error type and counter
    ecc_location_errors_total: Labeled3 | None = value(
        "ECC errors by location on the GPU (device memory, SRAM, caches)",
        bounds=COUNT,
        labels=("error_type", "location"),
        counted="ecc_location",
    )  # the same by location
    sram_ecc_errors_total: Labeled2 | None = value(
        "Uncorrected SRAM ECC errors by kind, parity or SEC-DED,",
        bounds=COUNT,
        labels=("error_type",),
        counted="sram_ecc",
    )  # uncorrected, by parity or SEC-DED, and counter
    sram_ecc_sources_total: Labeled | None = value(
        "Aggregate uncorrected SRAM ECC errors by source (l2, sm, microcontroller, pcie, "
        "other); absent if zero.",
        bounds=COUNT,
        labels=("unit",),
        max_with_zeros=0,
    )  # uncorrected, aggregate, by unit
    sram_threshold_exceeded: bool | None = value(
        "Whether uncorrectable SRAM ECC errors exceeded the threshold for replacing the "
        "board (RMA)."
    )
    remapped_rows_total: Labeled | None = value(
        "Remapped rows of memory (row remapping).", bounds=WORDS_OF_32_BITS, labels=("error_type",)
    )  # by error type
    row_remap_pending: bool | None = value(
        "Row remapping pending: a row is replaced at the next GPU reset."
    )
    row_remap_failed: bool | None = value("Row remapping failed: a row could not be replaced.")
    row_remap_banks: Labeled | None = value(
        "Row remapper histogram: memory banks by remaining spare rows (max, high, partial, "
        "low, none); absent if zero.",
        bounds=WORDS_OF_32_BITS,
        labels=("availability",),
        max_with_zeros=0,
    )  # by availability
    retired_pages_total: Labeled | None = value(
        "Retired pages of memory (page retirement).", bounds=WORDS_OF_32_BITS, labels=("cause",)
    )  # by cause
    retired_pages_pending: bool | None = value(
        "Page retirement pending: a page is retired at the next GPU reset."
    )
    recovery_action: str | None = value(
        "GPU recovery action that the driver requests (none, reset, reboot, drain_p2p, "
        "drain_and_reset, recover_imex, bus_reset); 1 for the requested one.",
        labels=("action",),
    )
    pcie_link_generation: int | None = value(
        "Current PCIe link generation; an idle GPU may lower it.", bounds=(1, 15)
    )
    pcie_link_generation_max: int | None = value(
        "Maximum PCIe link generation of this GPU in this slot.", bounds=(1, 15), shown=CACHED
    )
    pcie_link_width: int | None = value("Current PCIe link width, in lanes.", bounds=(1, 64))
    pcie_link_width_max: int | None = value(
        "Maximum PCIe link width of this GPU in this slot, in lanes.", bounds=(1, 64), shown=CACHED
    )
    pcie_replays_total: int | None = value(
        "PCIe replay counter: packets that were retransmitted.", bounds=WORDS_OF_32_BITS
    )
    pcie_receive_bytes_per_second: float | None = value(
        "PCIe RX throughput, sampled over 20 ms.", bounds=(0, 2**39)
    )
    pcie_transmit_bytes_per_second: float | None = value(
        "PCIe TX throughput, sampled over 20 ms.", bounds=(0, 2**39)
    )
    nvlink_up: Labeled | None = value(
        "NVLink state of each link: 1 if active, 0 if inactive; only with gpu.nvlink_per_link.",
        labels=("link",),
    )  # by link, 0 or 1
    nvlink_errors_total: Labeled | None = value(
        "NVLink errors, sum over all links: CRC, replay, recovery.", bounds=COUNT, labels=("error",)
    )  # by error, summed over links
    nvlink_link_errors_total: Labeled2 | None = value(
        "NVLink errors of each link: CRC, replay, recovery.", bounds=COUNT, labels=("link", "error")
    )  # by link and error
    nvlink_receive_bytes_total: int | None = value(
        "NVLink RX data (payload) over all links.", bounds=(0, 2**62)
    )
    nvlink_transmit_bytes_total: int | None = value(
        "NVLink TX data (payload) over all links.", bounds=(0, 2**62)
    )
    fabric_state: str | None = value(
        "NVLink fabric registration state (not_started, in_progress, completed); 1 for the "
        "current one.",
        labels=("state",),
    )
    fabric_condition: Labeled | None = value(
        "NVLink fabric health condition that is not healthy; always 1, absent if healthy.",
        labels=("condition",),
        max_with_zeros=0,
    )  # by health condition, 0 or 1
    fabric_healthy: bool | None = value("NVLink fabric health: 1 when the GPU's part is healthy.")
    activity_ratio: Labeled | None = value(
        "GPM activity (DCGM profiling): share of the interval in which the unit was active.",
        bounds=(0, 1.02),
        labels=("unit",),
    )  # by unit
    pcie_profile_bytes_per_second: Labeled | None = value(
        "GPM (DCGM profiling) PCIe throughput over the interval, including headers.",
        bounds=(0, 2**43),
        labels=("direction",),
    )  # by direction
    nvlink_profile_bytes_per_second: Labeled | None = value(
        "GPM (DCGM profiling) NVLink throughput over the interval, including headers.",
        bounds=(0, 2**43),
        labels=("direction",),
    )
    mig_enabled: bool | None = value(
        "MIG mode: 1 when Multi-Instance GPU is enabled.", shown=CACHED
    )
    persistence_mode: bool | None = value(
        "Persistence mode: 1 when the driver keeps an unused GPU initialized.", shown=CACHED
    )
    compute_mode: str | None = value(
        "Compute mode (default, exclusive_process, prohibited); 1 for the current one.",
        labels=("mode",),
        shown=CACHED,
    )
    health: str | None = value(
        "Health of an Ascend NPU as its driver reports it (ok, warning, alarm, critical); 1 "
        "for the current one.",
        labels=("state",),
        states=("ok", "warning", "alarm", "critical"),
    )  # what Ascend says of a chip: ok, warning, alarm, critical
    gsp_enabled: bool | None = value(
        "GSP firmware: 1 when driver tasks run on the GPU System Processor.", shown=CACHED
    )
    mig_mode_pending: bool | None = value(shown=CACHED)  # after the next reset
    ecc_mode_pending: bool | None = value(shown=CACHED)  # likewise
    channel_repair_pending: bool | None = None
    tpc_repair_pending: bool | None = None
    unrepairable_memory: bool | None = None
    inforom_valid: bool | None = None
    fabric_clique: int | None = value(bounds=WORDS_OF_32_BITS)
    fabric_cluster: str | None = None
    npu_id: int | None = value(bounds=COUNT, shown=ALWAYS)  # both as Ascend's npu-smi numbers
    chip_id: int | None = value(bounds=COUNT, shown=ALWAYS)  # its cards, and the chips of one
    chassis_serial: str | None = value(shown=ALWAYS)
    chassis_slot: int | None = value(bounds=(0, 255), shown=ALWAYS)
    chassis_tray: int | None = value(bounds=(0, 255), shown=ALWAYS)
    mig_instances: tuple[MigInstance, ...] | None = None
    processes: tuple[GpuProcess, ...] | None = None  # None: they cannot be seen
    unprinted: tuple[str, ...] | None = None  # what may be there and this backend cannot tell

    def with_identity_of(self, known: "Gpu") -> "Gpu":
        """Add what was known of the GPU's identity and is not reported now."""
        unsaid = [name for name in IDENTITY_FIELDS if getattr(self, name) is None]
        reported: dict[str, Any] = {name: getattr(known, name) for name in unsaid}
        return replace(self, **reported) if any(v is not None for v in reported.values()) else self

    @property
    def fabric_standing(self) -> str | None:
        """Say in a few words how it stands in the NVLink fabric; None for a GPU outside any."""
        if self.fabric_healthy is False:
            return words_of(self.fabric_condition or ()) or "unhealthy"
        return self.fabric_state and self.fabric_state.replace("_", " ")

    @property
    def is_in_rack_fabric(self) -> bool:
        """Whether its NVLink switches are those of a rack: it is one module with a Grace CPU."""
        return _WITH_GRACE.search(self.name) is not None

    @property
    def is_used(self) -> bool | None:
        """Tell whether somebody computes on it; None when nothing that tells was said."""
        if self.processes is not None:
            return any(process.kind != "graphics" for process in self.processes)
        if self.utilization_percent or self._holds_memory:
            return True
        if self.memory_reserved_bytes is not None and self.memory_used_bytes is not None:
            return self.memory_used_bytes > IDLE_MEMORY_BYTES
        return None if self.utilization_percent is None else False

    @property
    def _holds_memory(self) -> bool:
        used, total = self.memory_used_bytes or 0, self.memory_total_bytes
        return total is not None and used > DRIVERS_OWN_BYTES + DRIVERS_OWN_SHARE * total


_SHOWN = declared(Gpu, "shown")
IDENTITY_FIELDS = ("index", "uuid", "name", *(n for n, how in _SHOWN.items() if how == ALWAYS))
LASTING_FIELDS = (*IDENTITY_FIELDS, *(n for n, how in _SHOWN.items() if how == CACHED))
