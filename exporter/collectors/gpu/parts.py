"""How a value of a GPU is declared; the processes and MIG instances of a GPU."""

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from exporter.model.reading import Labeled
from exporter.record import dataclass

Bounds = tuple[float, float]
"""Lowest and highest plausible value; all-ones of any width are beyond them."""

PERCENT = (0, 100)
BYTES = (0, 2**50)
WATTS = (0, 100_000)
CELSIUS = (-50, 250)
COUNT = (0, 2**48)
WORDS_OF_32_BITS = (0, 2**32 - 2)

ALL_ONES = {2**32 - 1, 2**64 - 1}
"""What a driver says for "not available" in numbers that may be as large as that."""

SENTINELS = {"temperature_celsius": -1}
"""All-ones that became a plausible number on the way: -1 where a call is signed."""

IDLE_MEMORY_BYTES = 64 * 1024 * 1024
"""What a driver may hold of a card that nobody uses, beside the part it calls reserved."""

DRIVERS_OWN_BYTES = 64 * 1024 * 1024
DRIVERS_OWN_SHARE = 0.01
"""Memory that an idle card shows as used: old drivers count what they reserve (under 1 %)."""

ALWAYS, CACHED, MOVING = "always", "cached", "moving"
"""For how long a value is shown: while the GPU is known, while the cache lives, or shorter."""


def value(
    help_text: str = "", *, bounds: Bounds | None = None, shown: str = MOVING, **row: Any
) -> Any:
    """Declare a value that may be absent: its family, its plausible bounds, its lifetime.

    Without a HELP text the value has no family of its own. `row` is what `Row` takes; with
    `counted`, the value has one family for each counter, volatile and aggregate.
    """
    if help_text:
        row["help"] = help_text
    return field(default=None, metadata={"bounds": bounds, "shown": shown, "row": row})


def declared(kind: type, what: str) -> Mapping[str, Any]:
    """Return what the values of this class declare under this name, by field."""
    found = {item.name: item.metadata.get(what) for item in fields(kind)}
    return {name: each for name, each in found.items() if each}


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process on a GPU; utilization is its share of the time since the pass before.

    `kind` is compute, graphics or mps; the instances are those of MIG.
    """

    pid: int
    kind: str
    used_memory_bytes: int | None = value(bounds=BYTES)
    sm_utilization_percent: float | None = value(bounds=PERCENT)
    memory_utilization_percent: float | None = value(bounds=PERCENT)
    encoder_utilization_percent: float | None = value(bounds=PERCENT)
    decoder_utilization_percent: float | None = value(bounds=PERCENT)
    gpu_instance: int | None = None
    compute_instance: int | None = None


@dataclass(frozen=True, slots=True)
class MigInstance:
    """One slice of a GPU in MIG mode, as somebody can be given it."""

    gpu_instance: int
    compute_instance: int
    mig_uuid: str
    profile: str
    memory_total_bytes: int | None = value(bounds=(1, 2**50))
    memory_used_bytes: int | None = value(bounds=BYTES)
    activity_ratio: Labeled | None = value(bounds=(0, 1.02))  # by unit, of its GPU instance
