"""What a simulated GPU says of itself: a recorded GPU, and the values that move."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from exporter.collectors import recorded_nodes
from exporter.collectors.demo.card import SLOWDOWN_CELSIUS, Card, CardCounters
from exporter.collectors.gpu.values import Gpu, GpuProcess
from exporter.decode import decode_strict
from exporter.faults.replay.snapshots import READINGS
from exporter.faults.replay.steps import base_node
from exporter.record import replace

NODE = "demo_8"
MODEL = ("name", "architecture", "compute_capability", "vbios_version", "board_part_number")
MEMORY_WARMER_CELSIUS = 9
IDLE_CLOCK, SLOWED_CLOCK, FULL_CLOCK = 0.18, 0.62, 1.0
ACTIVITY = (
    *(("graphics", 1.0), ("sm", 0.91), ("sm_occupancy", 0.34)),
    *(("tensor", 0.46), ("dram", 0.52), ("integer", 0.12)),
)
"""What each unit does of the utilization."""

BAD_LINK = "4"
IDLE_STATE = 8


@cache
def recorded() -> Gpu:
    """Return the first GPU of the recorded node, well and at work."""
    states = base_node(recorded_nodes(), NODE)["readings"]["Gpus"]["states"]
    return decode_strict(Gpu, next(iter(states.values()))["gpu"], READINGS, "gpu")


def identity(card: Card) -> Gpu:
    """Give what never changes, and what a lost GPU is still known by."""
    model: dict[str, Any] = {name: getattr(recorded(), name) for name in MODEL}
    return Gpu(**_own(card), **model)


def reading(card: Card) -> Gpu:
    """Read the GPU as one pass over a real one would read it now."""
    moving = {**_use(card), **_heat_and_power(card), **_clocks(card), **_errors(card)}
    return replace(recorded(), **_own(card), **moving, **_links(card), processes=_processes(card))


def _own(card: Card) -> dict[str, Any]:
    return {
        "vendor": None,
        "index": card.index,
        "uuid": card.uuid,
        "pci_bus_id": card.pci_bus_id,
        "serial": card.serial,
        "numa_node": card.numa_node,
        "minor_number": card.index,
    }


def _rows(found: Iterable[tuple[str, float]] | None) -> dict[str, float]:
    return dict(found or ())


def _use(card: Card) -> dict[str, Any]:
    used = sum(one.job.memory_bytes for one in card.running)
    gpu, share = recorded(), card.percent / 100
    return {
        "memory_used_bytes": used,
        "memory_free_bytes": (gpu.memory_total_bytes or 0)
        - (gpu.memory_reserved_bytes or 0)
        - used,
        "utilization_percent": round(card.percent),
        "memory_controller_utilization_percent": round(card.percent * 0.6),
        "activity_ratio": tuple((unit, round(share * part, 4)) for unit, part in ACTIVITY),
    }


def _heat_and_power(card: Card) -> dict[str, Any]:
    celsius = round(card.celsius)
    return {
        "temperature_celsius": celsius,
        "memory_temperature_celsius": celsius + MEMORY_WARMER_CELSIUS,
        "thermal_margin_celsius": SLOWDOWN_CELSIUS - celsius,
        "power_draw_watts": round(card.watts, 3),
        "power_average_watts": round(card.watts, 3),
        "energy_joules_total": round(card.counters.energy_joules, 3),
    }


def _clocks(card: Card) -> dict[str, Any]:
    share = SLOWED_CLOCK if card.is_slowed else FULL_CLOCK if card.percent else IDLE_CLOCK
    most = _rows(recorded().clock_max_hertz)
    moving = {name: round(hertz * share, -6) for name, hertz in most.items()}
    active = dict.fromkeys(_rows(recorded().throttle_active), 0)
    active |= {"gpu_idle": int(not card.percent), "sw_power_cap": int(card.is_capped)}
    active["sw_thermal_slowdown"] = int(card.is_slowed)
    counters = card.counters
    return {
        "clock_hertz": tuple((moving | {"memory": most["memory"]}).items()),
        "performance_state": 0 if card.percent else IDLE_STATE,
        "throttle_active": tuple(active.items()),
        "throttle_seconds_total": (
            ("sw_power_cap", round(counters.power_secs, 3)),
            ("sw_thermal_slowdown", round(counters.thermal_secs, 3)),
            ("hw_thermal_slowdown", 0),
        ),
    }


def _errors(card: Card) -> dict[str, Any]:
    counters = card.counters
    banks = _rows(recorded().row_remap_banks)
    banks |= {"max": banks["max"] - counters.remapped, "high": counters.remapped}
    return {
        "ecc_errors_total": _ecc(counters),
        "remapped_rows_total": (("corrected", 0), ("uncorrected", counters.remapped)),
        "row_remap_pending": card.is_remap_pending,
        "row_remap_banks": tuple(banks.items()),
        "recovery_action": "reset" if card.is_remap_pending else "none",
    }


def _ecc(counters: CardCounters) -> tuple[tuple[str, str, int], ...]:
    return (
        ("corrected", "volatile", counters.corrected_volatile),
        ("uncorrected", "volatile", counters.uncorrected_volatile),
        ("corrected", "aggregate", counters.corrected),
        ("uncorrected", "aggregate", counters.uncorrected),
    )


def _links(card: Card) -> dict[str, Any]:
    counters, down = card.counters, {BAD_LINK: 0} if card.is_link_down else {}
    errors = {"crc_flit": counters.flit_errors, "replay": counters.replays}
    errors["recovery"] = counters.recoveries
    return {
        "nvlink_up": tuple((_rows(recorded().nvlink_up) | down).items()),
        "nvlink_errors_total": tuple((_rows(recorded().nvlink_errors_total) | errors).items()),
        "nvlink_receive_bytes_total": int(counters.nvlink_bytes),
        "nvlink_transmit_bytes_total": int(counters.nvlink_bytes),
        "fabric_healthy": not card.is_link_down,
    }


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
