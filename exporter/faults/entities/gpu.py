"""GPUs as entities: stale values are unknown, and a card is also known by its PCI address."""

from collections.abc import Iterable, Mapping

from exporter.faults.entities.gpu_fields import (
    DERIVED,
    OF_LINKS,
    UNUSUAL,
    derived,
    found_unusual,
    reset_command,
)
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.values import Address, Entity, FieldType, Type, Value
from exporter.model.gpu import Gpu, Gpus, GpuState
from exporter.model.pci import pci_address
from exporter.model.snapshot import Snapshot
from exporter.model.unusual import Unusual
from exporter.model.verdict import Edge
from exporter.model.workload import Workloads

IDENTITY = frozenset({"index", "uuid", "name", "pci_bus_id", "numa_node", "architecture"})
_GETTERS = getters_of(Gpu)


class GpuFields:
    """The fields of one GPU; those served from the cache are unknown.

    Many rules ask for the same fields: what was asked for once is kept.
    """

    __slots__ = ("_is_fresh", "_kept", "_values")

    def __init__(self, state: GpuState, derived: Mapping[str, Value]) -> None:
        self._is_fresh = state.is_fresh
        self._values = FieldsOf(state.gpu, _GETTERS)
        reason = state.reason or ("" if self._is_fresh else None)
        self._kept: dict[str, Value] = {**derived, "up": _up(state), "reason": reason}
        self._kept["reset_command"] = reset_command(state.gpu)

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when it was not said lately."""
        if name not in self._kept:
            is_reported = self._is_fresh or name in IDENTITY
            self._kept[name] = self._values.get(name) if is_reported else None
        return self._kept[name]


def _up(state: GpuState) -> bool | None:
    """Whether it answers; a card that was not asked is neither up nor down."""
    if state.is_fresh:
        return state.up
    return False if not state.up and state.reason else None


def _gpus(snapshot: Snapshot) -> Iterable[Entity]:
    gpus = snapshot.reading(Gpus)
    states = gpus.states if gpus else ()
    workloads, unusual = snapshot.reading(Workloads), snapshot.reading(Unusual)
    for state, found in zip(states, derived(states, workloads), strict=True):
        gpu = state.gpu
        addresses: list[Address] = [("gpu", gpu.uuid)]
        pci = pci_address(gpu.pci_bus_id)
        if pci:
            addresses.append(("gpu", pci))
        name = f"GPU {gpu.index}"
        fields = GpuFields(state, found | found_unusual(gpu.uuid, unusual))
        untold = frozenset(gpu.unprinted or ())
        if "nvlink_up" in untold:
            untold |= OF_LINKS
        known_by = gpu.uuid or pci or f"index {gpu.index}"  # nobody has asked it who it is
        yield Entity(("gpu", known_by), name, fields, tuple(addresses), state.is_fresh, untold)


def _links(snapshot: Snapshot) -> Iterable[Entity]:
    """Yield the NVLinks that are said to be down; the others are known by their events only."""
    gpus = snapshot.reading(Gpus)
    for state in gpus.states if gpus else ():
        pci = pci_address(state.gpu.pci_bus_id)
        rows = state.gpu.nvlink_up or ()
        if not state.is_fresh or not pci:
            continue
        for link in (label for label, is_up in rows if not is_up):
            key = ("nvlink", f"{pci}/{link}")
            yield Entity(key, f"GPU {state.gpu.index} link {link}", {"up": False}, (key,))


def _neighbours(snapshot: Snapshot) -> Iterable[Edge]:
    """GPUs with NVLinks are each other's peers; a link is part of its GPU."""
    gpus = snapshot.reading(Gpus)
    linked = [s.gpu.uuid for s in (gpus.states if gpus else ()) if s.gpu.nvlink_up]
    for place, uuid in enumerate(linked):
        for other in linked[place + 1 :]:
            yield Edge("peer", ("gpu", uuid), ("gpu", other))
    at = {pci_address(s.gpu.pci_bus_id): s.gpu.uuid for s in (gpus.states if gpus else ())}
    for link in _links(snapshot):
        yield Edge("part_of", link.key, ("gpu", at[link.key[1].partition("/")[0]]))


NVLINK = Kind(
    "nvlink",
    "nvlink",
    {"up": FieldType(Type.TRUTH)},
    _links,
    Gpus,
    related={"node": "node", "gpu": "gpu"},
    relate=_neighbours,
)
GPU = Kind(
    "gpu",
    "gpu",
    names_of(Gpu)
    | dict.fromkeys(DERIVED, FieldType(Type.NUMBER))
    | UNUSUAL
    | {"inactive_links": FieldType(Type.TEXT)}
    | {"up": FieldType(Type.TRUTH)}
    | dict.fromkeys(("reason", "reset_command"), FieldType(Type.TEXT)),
    _gpus,
    Gpus,
    related={"node": "node", "pcie": "pcie"},
)
