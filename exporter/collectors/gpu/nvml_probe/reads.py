"""Everything that is read of a GPU in each pass: the one list of all readings."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from exporter.collectors.gpu.nvml_probe import (
    clocks,
    ecc,
    fabric,
    identity,
    links,
    memory,
    modes,
    power,
    thermal,
)
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice, converted


class Read(NamedTuple):
    """One reading: the fields of the model it gives, and how.

    `read` gives the value of the only field, or a dict of several; an error in place of a value
    says why there is none. It raises READ_ERRORS. `switch` names the option it needs.
    """

    fields: tuple[str, ...]
    read: Callable[[NvmlDevice], Any]
    switch: str | None = None

    def of(self, card: NvmlDevice) -> Iterable[tuple[str, Any]]:
        """Return the fields with their values, or the errors in their places."""
        answer = self.read(card)
        return answer.items() if isinstance(answer, dict) else ((self.fields[0], answer),)


def _asked(field: str, name: str, *, per: int = 1) -> Read:
    """Make a reading that is one call and one number."""
    return Read((field,), lambda card: converted(card.ask(name), per=per))


def _first_of(field: str, name: str) -> Read:
    """Make a reading that is the first of the numbers one call gives."""
    return Read((field,), lambda card: card.ask(name)[0])


FACTS = (
    Read(("pci_bus_id",), identity.pci_bus_id),
    Read(("serial", "vbios_version", "board_part_number"), identity.texts),
    Read(("architecture",), identity.architecture),
    Read(("compute_capability",), identity.compute_capability),
    Read(("inforom_valid",), ecc.inforom_valid),
    Read(fabric.CHASSIS, fabric.chassis),
    Read(("gsp_enabled",), modes.gsp_enabled),
    _asked("minor_number", "nvmlDeviceGetMinorNumber"),
    _asked("pcie_link_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"),
    _asked("pcie_link_width_max", "nvmlDeviceGetMaxPcieLinkWidth"),
    Read(("temperature_threshold_celsius",), thermal.thresholds),
    Read(("thermal_margin_threshold_celsius",), thermal.margin_thresholds),
    Read(("clock_max_hertz",), clocks.clock_limits),
)
"""What does not change: read once, and again when the set of GPUs has changed."""

CORE_READS = (
    Read(
        (
            "memory_total_bytes",
            "memory_used_bytes",
            "memory_free_bytes",
            "memory_reserved_bytes",
        ),
        memory.memory,
    ),
    Read(("utilization_percent", "memory_controller_utilization_percent"), memory.utilization),
    Read(("temperature_celsius",), thermal.temperature),
    _asked("power_draw_watts", "nvmlDeviceGetPowerUsage", per=power.MILLI),
    _asked("power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit", per=power.MILLI),
)
"""What is read first, of all GPUs."""

READS = (
    Read(("mig_enabled", "mig_mode_pending"), modes.mig_modes),
    Read(("bar1_memory_total_bytes", "bar1_memory_used_bytes"), memory.bar1_memory),
    _first_of("encoder_utilization_percent", "nvmlDeviceGetEncoderUtilization"),
    _first_of("decoder_utilization_percent", "nvmlDeviceGetDecoderUtilization"),
    _first_of("jpeg_utilization_percent", "nvmlDeviceGetJpgUtilization"),
    _first_of("ofa_utilization_percent", "nvmlDeviceGetOfaUtilization"),
    Read(("memory_temperature_celsius",), thermal.memory_temperature),
    Read(("thermal_margin_celsius",), thermal.margin),
    Read(("fan_speed_percent",), thermal.fan_speeds),
    Read(("power_limit_range_watts",), power.power_limits),
    Read(("power_average_watts", "energy_joules_total"), power.power_fields),
    Read(("clock_hertz",), clocks.clocks),
    _asked("performance_state", "nvmlDeviceGetPerformanceState"),
    Read(("throttle_active",), clocks.throttle_reasons),
    Read(("throttle_seconds_total",), clocks.throttle_times),
    Read(("ecc_enabled", "ecc_mode_pending"), ecc.ecc_modes),
    Read(("ecc_errors_total",), ecc.ecc_errors),
    Read(("ecc_location_errors_total",), ecc.ecc_location_errors, switch="ecc_locations"),
    Read(
        ("sram_threshold_exceeded", "sram_ecc_errors_total", "sram_ecc_sources_total"),
        ecc.sram_errors,
    ),
    Read(("channel_repair_pending", "tpc_repair_pending"), ecc.repairs_pending),
    Read(("unrepairable_memory",), ecc.unrepairable_memory),
    Read(
        ("remapped_rows_total", "row_remap_pending", "row_remap_failed"),
        ecc.remapped_rows,
    ),
    Read(("row_remap_banks",), ecc.remap_banks),
    Read(("retired_pages_total",), ecc.retired_pages),
    Read(("retired_pages_pending",), ecc.retired_pages_pending),
    Read(("recovery_action",), ecc.recovery_action),
    _asked("pcie_link_generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
    _asked("pcie_link_width", "nvmlDeviceGetCurrPcieLinkWidth"),
    _asked("pcie_replays_total", "nvmlDeviceGetPcieReplayCounter"),
    Read(
        ("pcie_transmit_bytes_per_second", "pcie_receive_bytes_per_second"),
        links.pcie_throughput,
        switch="pcie_throughput",
    ),
    Read(("nvlink_up",), links.nvlink_up),
    Read(("nvlink_errors_total",), links.nvlink_errors),
    Read(("nvlink_link_errors_total",), links.nvlink_link_errors, switch="nvlink_per_link"),
    Read(
        ("nvlink_transmit_bytes_total", "nvlink_receive_bytes_total"),
        links.nvlink_traffic,
    ),
    Read(fabric.FIELDS, fabric.fabric),
    Read(("persistence_mode",), modes.persistence_mode),
    Read(("compute_mode",), modes.compute_mode),
)
"""What is read in each pass, beside what the readers of processes, MIG and profiling keep."""
