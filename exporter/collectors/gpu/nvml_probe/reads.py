"""Everything that is read of a GPU in each pass: the one list of all readings."""

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe import (
    clocks,
    ecc,
    fabric,
    identity,
    links,
    memory,
    power,
    thermal,
)
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice

COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}


class Read:
    """One reading: the fields of the model it gives, and how.

    `read` gives the value of the only field, or a dict of several; an error in place of a value
    says why there is none. It raises READ_ERRORS. `switch` names the option it needs.
    """

    def __init__(
        self,
        fields: tuple[str, ...],
        read: Callable[[NvmlDevice], Any],
        switch: str | None = None,
    ) -> None:
        self.fields = fields
        self.read = read
        self.switch = switch

    def of(self, card: NvmlDevice) -> Iterable[tuple[str, Any]]:
        """Return the fields with their values, or the errors in their places."""
        answer = self.read(card)
        return answer.items() if isinstance(answer, dict) else ((self.fields[0], answer),)


def _asked(field: str, name: str, convert: Callable[[Any], Any] = int) -> Read:
    """Make a reading of one field: one call, and its answer converted."""
    return Read((field,), lambda card: convert(card.ask(name)))


def _members(name: str, convert: Callable[[Any], Any] = int, **members: str) -> Read:
    """Make a reading that is one call; each field is a member of the struct that it answers."""

    def read(card: NvmlDevice) -> dict[str, Any]:
        answer = card.ask(name)
        return {field: convert(getattr(answer, member)) for field, member in members.items()}

    return Read(tuple(members), read)


def _modes(name: str, *fields: str) -> Read:
    """Make a reading of a mode: whether it is on, and whether it will be after the next reset."""
    return Read(fields, lambda card: dict(zip(fields, map(bool, card.ask(name)), strict=True)))


def _word(words: Mapping[int, str]) -> Callable[[int], str]:
    """Make the conversion of a number into its word; raises ValueError for one without a word."""

    def word(number: int) -> str:
        if number not in words:
            raise ValueError(f"{number} has no word")
        return words[number]

    return word


first = itemgetter(0)

FACTS = (
    Read(("pci_bus_id",), identity.pci_bus_id),
    Read(("serial", "vbios_version", "board_part_number"), identity.texts),
    _asked("architecture", "nvmlDeviceGetArchitecture", _word(identity.ARCHITECTURES)),
    _asked("compute_capability", "nvmlDeviceGetCudaComputeCapability", "{0[0]}.{0[1]}".format),
    Read(("inforom_valid",), ecc.inforom_valid),
    Read(fabric.CHASSIS, fabric.chassis),
    _asked("gsp_enabled", "nvmlDeviceGetGspFirmwareMode", lambda modes: bool(modes[0])),
    _asked("minor_number", "nvmlDeviceGetMinorNumber"),
    _asked("pcie_link_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"),
    _asked("pcie_link_width_max", "nvmlDeviceGetMaxPcieLinkWidth"),
    Read(("temperature_threshold_celsius",), thermal.thresholds),
    Read(("thermal_margin_threshold_celsius",), thermal.margin_thresholds),
    Read(("clock_max_hertz",), lambda card: clocks.hertz(card, "nvmlDeviceGetMaxClockInfo")),
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
    _members(  # not said for a GPU in MIG mode
        "nvmlDeviceGetUtilizationRates",
        utilization_percent="gpu",
        memory_controller_utilization_percent="memory",
    ),
    Read(("temperature_celsius",), thermal.temperature),
    _asked("power_draw_watts", "nvmlDeviceGetPowerUsage", power.watts),
    _asked("power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit", power.watts),
)
"""What is read first, of all GPUs."""

READS = (
    _modes("nvmlDeviceGetMigMode", "mig_enabled", "mig_mode_pending"),
    _members(
        "nvmlDeviceGetBAR1MemoryInfo",
        bar1_memory_total_bytes="bar1Total",
        bar1_memory_used_bytes="bar1Used",
    ),
    _asked("encoder_utilization_percent", "nvmlDeviceGetEncoderUtilization", first),
    _asked("decoder_utilization_percent", "nvmlDeviceGetDecoderUtilization", first),
    _asked("jpeg_utilization_percent", "nvmlDeviceGetJpgUtilization", first),
    _asked("ofa_utilization_percent", "nvmlDeviceGetOfaUtilization", first),
    Read(("memory_temperature_celsius",), thermal.memory_temperature),
    _members("nvmlDeviceGetMarginTemperature", thermal_margin_celsius="marginTemperature"),
    Read(("fan_speed_percent",), thermal.fan_speeds),
    Read(("power_limit_range_watts",), power.power_limits),
    Read(("power_average_watts", "energy_joules_total"), power.power_fields),
    Read(("clock_hertz",), lambda card: clocks.hertz(card, "nvmlDeviceGetClockInfo")),
    _asked("performance_state", "nvmlDeviceGetPerformanceState"),
    Read(("throttle_active",), clocks.throttle_reasons),
    Read(("throttle_seconds_total",), clocks.throttle_times),
    _modes("nvmlDeviceGetEccMode", "ecc_enabled", "ecc_mode_pending"),
    Read(("ecc_errors_total",), ecc.ecc_errors),
    Read(("ecc_location_errors_total",), ecc.ecc_location_errors, switch="ecc_locations"),
    Read(
        ("sram_threshold_exceeded", "sram_ecc_errors_total", "sram_ecc_sources_total"),
        ecc.sram_errors,
    ),
    _members(
        "nvmlDeviceGetRepairStatus",
        bool,
        channel_repair_pending="bChannelRepairPending",
        tpc_repair_pending="bTpcRepairPending",
    ),
    _members(
        "nvmlDeviceGetUnrepairableMemoryFlag_v1", bool, unrepairable_memory="unrepairableMemory"
    ),
    Read(
        ("remapped_rows_total", "row_remap_pending", "row_remap_failed"),
        ecc.remapped_rows,
    ),
    Read(("row_remap_banks",), ecc.remap_banks),
    Read(("retired_pages_total",), ecc.retired_pages),
    _asked("retired_pages_pending", "nvmlDeviceGetRetiredPagesPendingStatus", bool),
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
    _asked("persistence_mode", "nvmlDeviceGetPersistenceMode", bool),
    _asked("compute_mode", "nvmlDeviceGetComputeMode", _word(COMPUTE_MODES)),
)
"""What is read in each pass, beside what the readers of processes, MIG and profiling keep."""
