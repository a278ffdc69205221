"""Derived fields of a GPU: its links, fans, siblings and users."""

from collections.abc import Mapping, Sequence

from exporter.collectors.gpu.values import Gpu, GpuState
from exporter.collectors.workloads.values import Workloads
from exporter.faults.values import Value
from exporter.record import dataclass

BUSY_PERCENT = 20.0
MIN_SIBLINGS = 2
POWER_BRAKE = "hw_power_brake_slowdown"
SWITCH_BOARDS = ("SXM3", "SXM4")
"""In the names of boards whose NVLinks are all wired, of drivers that report no fabric."""

BRIDGED = 3
"""Siblings that all have links: a board of linked GPUs, no bridge between two cards."""

DERIVED = (
    "links_down",
    "links_up",
    "links_down_of_siblings",
    "links_up_of_siblings",
    "most_links_up",
    "all_links_wired",
    "power_brake_on_all",
    "fans_stopped",
    "fabric_completed",
    "process_count",
    "clock_ratio_to_siblings",
    "orphan_memory_bytes",
    "idle_allocated_secs",
    "allocated_without_process",
)
"""All names; each is a number, or absent."""

OF_LINKS = frozenset(name for name in DERIVED if name.startswith("links_"))
"""Names of the fields that follow from the state of the NVLinks."""


@dataclass(frozen=True, slots=True)
class _Card:
    """One GPU with the values by which it is compared with its siblings."""

    state: GpuState
    links_down: float | None
    links_up: float | None
    power_brake: float | None
    busy_clock: float | None  # None also while it is not busy


def derived(states: Sequence[GpuState], workloads: Workloads | None) -> list[dict[str, Value]]:
    """Return each GPU's fields that follow from the readings of all; none for a cached GPU."""
    cards = [_card(state) for state in states]
    power_brake = _power_brake_on_all(cards)
    return [
        {"power_brake_on_all": power_brake, **_of_card(card, cards, workloads)}
        if card.state.is_fresh
        else {}
        for card in cards
    ]


def _card(state: GpuState) -> _Card:
    gpu, use = state.gpu, state.gpu.utilization_percent
    is_busy = state.is_fresh and use is not None and use > BUSY_PERCENT
    clocks = dict(gpu.clock_hertz or ())
    return _Card(
        state,
        links_down=_links(gpu, up=False),
        links_up=_links(gpu, up=True),
        power_brake=dict(gpu.throttle_active or ()).get(POWER_BRAKE),
        # only NVIDIA tells the clock of the processors from that of graphics
        busy_clock=clocks.get("sm", clocks.get("graphics")) if is_busy else None,
    )


def _of_card(card: _Card, cards: Sequence[_Card], workloads: Workloads | None) -> dict[str, Value]:
    gpu = card.state.gpu
    siblings = [each for each in cards if each is not card and each.state.gpu.name == gpu.name]
    up = [each for each in siblings if each.state.up]
    down = sorted(each.links_down for each in up if each.links_down is not None)
    return {
        "links_down": card.links_down,
        "links_up": card.links_up,
        # Of the better half: a pair of PCIe boards has more bridges than the others at times.
        "links_down_of_siblings": down[(len(down) - 1) // 2] if down else None,
        "links_up_of_siblings": None if gpu.mig_enabled else _fewest_links_up(up),  # no NVLink
        "most_links_up": max(each.links_up or 0 for each in (card, *up)),
        "all_links_wired": _are_all_links_wired(gpu),
        "inactive_links": _inactive_links(gpu),
        "fans_stopped": sum(not it[-1] for it in gpu.fan_speed_percent)
        if gpu.fan_speed_percent
        else None,
        "fabric_completed": None
        if gpu.fabric_state is None
        else float(gpu.fabric_state == "completed"),
        "process_count": None if gpu.processes is None else len(gpu.processes),
        "clock_ratio_to_siblings": _clock_ratio(card, siblings),
        **_of_workloads(gpu.uuid, workloads),
    }


def _links(gpu: Gpu, *, up: bool) -> float | None:
    if gpu.nvlink_up is None:
        return None
    return sum(bool(is_up) is up for _, is_up in gpu.nvlink_up)


def _are_all_links_wired(gpu: Gpu) -> float:
    """Whether an inactive link is broken: on a board in a fabric, and on those named so.

    A board with a connector for a bridge shows its links as inactive without one (A100 PCIe,
    driver 570), and so does a GH200 that is alone.
    """
    return float(gpu.fabric_state == "completed" or any(it in gpu.name for it in SWITCH_BOARDS))


def _inactive_links(gpu: Gpu) -> str | None:
    """Return the numbers of the links that are down, as 0-3, 7; None where none is."""
    down = sorted(int(n) for n, is_up in gpu.nvlink_up or () if n.isdecimal() and not is_up)
    runs: list[list[int]] = []
    for link in down:
        if runs and runs[-1][-1] == link - 1:
            runs[-1].append(link)
        else:
            runs.append([link])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or None


def _fewest_links_up(siblings: Sequence[_Card]) -> float | None:
    """Return how many links are up of that sibling that has the fewest.

    Absent with fewer than three siblings, where a bridge may join some of them only.
    """
    counts = [each.links_up for each in siblings if each.links_up is not None]
    return min(counts) if len(counts) >= BRIDGED else None


def _power_brake_on_all(cards: Sequence[_Card]) -> float | None:
    """Whether the power brake slows all GPUs of the node: at least two, so that it is the rack."""
    brakes = [card.power_brake for card in cards if card.state.up]
    return None if None in brakes else float(len(brakes) > 1 and all(brakes))


def _clock_ratio(card: _Card, siblings: Sequence[_Card]) -> float | None:
    """Its clock beside the median of its busy siblings; absent while it is not busy itself."""
    others = [each.busy_clock for each in siblings if each.busy_clock]
    if card.busy_clock is None or len(others) < MIN_SIBLINGS:
        return None
    return card.busy_clock / _median(others)


def _median(values: list[float]) -> float:
    """Return the value in the middle; the module `statistics` would cost half a megabyte for it."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[-middle - 1]) / 2


def _of_workloads(uuid: str, workloads: Workloads | None) -> Mapping[str, Value]:
    if workloads is None:
        return {}
    total = next((row for row in workloads.totals if row.gpu_uuid == uuid), None)
    uses = [use for use in workloads.uses if use.gpu_uuid == uuid]
    idle = [use.idle_allocated_secs for use in uses if use.idle_allocated_secs is not None]
    is_free = total is not None and not uses  # its last workload has ended: known, not unknown
    return {
        "orphan_memory_bytes": total.orphan_memory_bytes if total else None,
        "idle_allocated_secs": max(idle, default=0.0 if is_free else None),
        "allocated_without_process": sum(use.is_allocated and not use.processes for use in uses),
    }
