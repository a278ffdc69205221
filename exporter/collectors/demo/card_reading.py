"""What a simulated GPU says of itself: the same fields as a real one of its kind."""

from dataclasses import replace

from exporter.collectors.demo.card import LIMIT_WATTS, SLOWDOWN_CELSIUS, Card
from exporter.collectors.gpu.values import Gpu, GpuProcess

NAME = "NVIDIA H100 80GB HBM3"
MEMORY_BYTES = 85_520_809_984
RESERVED_BYTES = 577_765_376
BAR1_BYTES = 2**37
BAR1_USED_BYTES = 2**21
CLOCK_MAX_HERTZ = (("graphics", 1.98e9), ("sm", 1.98e9), ("memory", 2.619e9), ("video", 1.545e9))
POWER_LIMITS = (("min", 200.0), ("max", 700.0), ("default", 700.0), ("requested", 700.0))
TEMPERATURE_LIMITS = (
    ("shutdown", 92.0),
    ("slowdown", 89.0),
    ("max_operating", SLOWDOWN_CELSIUS),
    ("memory_max", 95.0),
)
IDLE_CLOCK, SLOWED_CLOCK, FULL_CLOCK = 0.18, 0.62, 1.0
MEMORY_WARMER_CELSIUS = 9
BANKS = 2560
LINKS = tuple(map(str, range(18)))
BAD_LINK = "4"
IDLE_STATE = 8


def identity(card: Card) -> Gpu:
    """Give what never changes, and what a lost GPU is still known by."""
    return Gpu(
        index=card.index,
        uuid=card.uuid,
        name=NAME,
        pci_bus_id=card.pci_bus_id,
        serial=card.serial,
        architecture="Hopper",
        compute_capability="9.0",
        vbios_version="96.00.89.00.01",
        board_part_number="692-2G520-0200-000",
        numa_node=card.numa_node,
        minor_number=card.index,
    )


def reading(card: Card) -> Gpu:
    """Read the GPU as one pass over a real one would read it now."""
    gpu = identity(card)
    for add in (_limits, _memory, _engines, _heat_and_power, _clocks, _errors, _links):
        gpu = add(gpu, card)
    return replace(gpu, processes=_processes(card))


def _limits(gpu: Gpu, _: Card) -> Gpu:
    return replace(
        gpu,
        power_limit_watts=LIMIT_WATTS,
        power_limit_range_watts=POWER_LIMITS,
        temperature_threshold_celsius=TEMPERATURE_LIMITS,
        clock_max_hertz=CLOCK_MAX_HERTZ,
        pcie_link_generation_max=5,
        pcie_link_width_max=16,
        persistence_mode=True,
        compute_mode="default",
        gsp_enabled=True,
        mig_enabled=False,
        ecc_enabled=True,
    )


def _memory(gpu: Gpu, card: Card) -> Gpu:
    used = sum(one.job.memory_bytes for one in card.running)
    return replace(
        gpu,
        memory_total_bytes=MEMORY_BYTES,
        memory_used_bytes=used,
        memory_free_bytes=MEMORY_BYTES - RESERVED_BYTES - used,
        memory_reserved_bytes=RESERVED_BYTES,
        bar1_memory_total_bytes=BAR1_BYTES,
        bar1_memory_used_bytes=BAR1_USED_BYTES,
    )


def _engines(gpu: Gpu, card: Card) -> Gpu:
    share = card.percent / 100
    return replace(
        gpu,
        utilization_percent=round(card.percent),
        memory_controller_utilization_percent=round(card.percent * 0.6),
        encoder_utilization_percent=0,
        decoder_utilization_percent=0,
        jpeg_utilization_percent=0,
        ofa_utilization_percent=0,
        activity_ratio=(
            ("graphics", round(share, 4)),
            ("sm", round(share * 0.91, 4)),
            ("sm_occupancy", round(share * 0.34, 4)),
            ("tensor", round(share * 0.46, 4)),
            ("dram", round(share * 0.52, 4)),
            ("integer", round(share * 0.12, 4)),
        ),
    )


def _heat_and_power(gpu: Gpu, card: Card) -> Gpu:
    celsius = round(card.celsius)
    return replace(
        gpu,
        temperature_celsius=celsius,
        memory_temperature_celsius=celsius + MEMORY_WARMER_CELSIUS,
        thermal_margin_celsius=SLOWDOWN_CELSIUS - celsius,
        power_draw_watts=round(card.watts, 3),
        power_average_watts=round(card.watts, 3),
        energy_joules_total=round(card.counters.energy_joules, 3),
    )


def _clocks(gpu: Gpu, card: Card) -> Gpu:
    share = SLOWED_CLOCK if card.is_slowed else FULL_CLOCK if card.percent else IDLE_CLOCK
    moving = {name: round(hertz * share, -6) for name, hertz in CLOCK_MAX_HERTZ}
    moving["memory"] = dict(CLOCK_MAX_HERTZ)["memory"]
    counters = card.counters
    active = {"gpu_idle": not card.percent, "sw_power_cap": card.is_capped}
    active |= {
        "sw_thermal_slowdown": card.is_slowed,
        "hw_slowdown": False,
        "hw_thermal_slowdown": False,
    }
    return replace(
        gpu,
        clock_hertz=tuple(moving.items()),
        performance_state=0 if card.percent else IDLE_STATE,
        throttle_active=tuple((name, int(is_active)) for name, is_active in active.items()),
        throttle_seconds_total=(
            ("sw_power_cap", round(counters.power_secs, 3)),
            ("sw_thermal_slowdown", round(counters.thermal_secs, 3)),
            ("hw_thermal_slowdown", 0),
        ),
    )


def _errors(gpu: Gpu, card: Card) -> Gpu:
    counters = card.counters
    spare = BANKS - counters.remapped
    return replace(
        gpu,
        ecc_errors_total=(
            ("corrected", "volatile", counters.corrected_volatile),
            ("uncorrected", "volatile", counters.uncorrected_volatile),
            ("corrected", "aggregate", counters.corrected),
            ("uncorrected", "aggregate", counters.uncorrected),
        ),
        sram_threshold_exceeded=False,
        remapped_rows_total=(("corrected", 0), ("uncorrected", counters.remapped)),
        row_remap_pending=card.is_remap_pending,
        row_remap_failed=False,
        row_remap_banks=(
            ("max", spare),
            ("high", counters.remapped),
            ("partial", 0),
            ("low", 0),
            ("none", 0),
        ),
        recovery_action="reset" if card.is_remap_pending else "none",
    )


def _links(gpu: Gpu, card: Card) -> Gpu:
    counters = card.counters
    down = {BAD_LINK} if card.is_link_down else ()
    return replace(
        gpu,
        pcie_link_generation=5,
        pcie_link_width=16,
        pcie_replays_total=0,
        nvlink_up=tuple((link, int(link not in down)) for link in LINKS),
        nvlink_errors_total=(
            ("crc_flit", counters.flit_errors),
            ("crc_data", 0),
            ("replay", counters.replays),
            ("recovery", counters.recoveries),
            ("ecc_data", 0),
        ),
        nvlink_receive_bytes_total=int(counters.nvlink_bytes),
        nvlink_transmit_bytes_total=int(counters.nvlink_bytes),
        fabric_state="completed",
        fabric_healthy=not card.is_link_down,
    )


def _processes(card: Card) -> tuple[GpuProcess, ...]:
    return tuple(
        GpuProcess(
            pid=one.pid,
            kind="compute",
            used_memory_bytes=one.job.memory_bytes,
            sm_utilization_percent=one.percent,
            memory_utilization_percent=round(one.percent * 0.6),
            encoder_utilization_percent=0,
            decoder_utilization_percent=0,
        )
        for one in card.running
    )
