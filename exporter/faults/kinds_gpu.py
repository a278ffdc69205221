"""GPUs as entities: stale values are unknown, and a card is also known by its PCI address."""

from collections.abc import Iterable, Mapping

from exporter.faults.entities import Address, Edge, Entity, FieldsOf
from exporter.faults.expression import Type, Value
from exporter.faults.gpu_fields import DERIVED, derived
from exporter.faults.kind import Kind, getters_of
from exporter.faults.vocabulary import FieldType, names_of
from exporter.model.gpu import Gpu, Gpus, GpuState
from exporter.model.pci import pci_address
from exporter.model.snapshot import Snapshot
from exporter.model.workload import Workloads

IDENTITY = frozenset({"index", "uuid", "name", "pci_bus_id", "numa_node", "architecture"})
_GETTERS = getters_of(Gpu)


class GpuFields:
    """The fields of one GPU; those served from the cache are unknown."""

    __slots__ = ("_derived", "_is_fresh", "_state", "_values")

    def __init__(self, state: GpuState, derived: Mapping[str, Value]) -> None:
        self._state = state
        self._derived = derived
        self._values = FieldsOf(state.gpu, _GETTERS)
        self._is_fresh = not state.stale and not state.expired

    def get(self, name: str, /) -> Value:
        """The value of the field, or None when it was not said lately."""
        if name == "up":
            return self._up()
        if name == "reason":
            return self._state.reason or ("" if self._is_fresh else None)
        if not self._is_fresh and name not in IDENTITY:
            return None
        return self._derived[name] if name in self._derived else self._values.get(name)

    def _up(self) -> bool | None:
        """Whether it answers; a card that was not asked is neither up nor down."""
        if self._is_fresh:
            return self._state.up
        return False if not self._state.up and self._state.reason else None


def _gpus(snapshot: Snapshot) -> Iterable[Entity]:
    gpus = snapshot.reading(Gpus)
    states = gpus.states if gpus else ()
    workloads = snapshot.reading(Workloads)
    for state in states:
        gpu = state.gpu
        addresses: list[Address] = [("gpu", gpu.uuid)]
        pci = pci_address(gpu.pci_bus_id or "")
        if pci:
            addresses.append(("gpu", pci))
        name = f"GPU {gpu.index}"
        fields = GpuFields(state, derived(state, states, workloads))
        is_fresh = not state.stale and not state.expired
        yield Entity(("gpu", gpu.uuid), name, fields, tuple(addresses), is_fresh)


def _links(snapshot: Snapshot) -> Iterable[Entity]:
    """The NVLinks that are said to be down; the others are known by their events only."""
    gpus = snapshot.reading(Gpus)
    for state in gpus.states if gpus else ():
        pci = pci_address(state.gpu.pci_bus_id or "")
        rows = state.gpu.nvlink_up or ()
        if state.stale or state.expired or not pci:
            continue
        for link in (label for label, is_up in rows if label != "all" and not is_up):
            key = ("nvlink", f"{pci}/{link}")
            yield Entity(key, f"GPU {state.gpu.index} link {link}", {"up": False}, (key,))


def _neighbours(snapshot: Snapshot) -> Iterable[Edge]:
    """GPUs with NVLinks are each other's peers; a link is part of its GPU."""
    gpus = snapshot.reading(Gpus)
    linked = [s.gpu.uuid for s in (gpus.states if gpus else ()) if s.gpu.nvlink_up]
    for place, uuid in enumerate(linked):
        for other in linked[place + 1 :]:
            yield Edge("peer", ("gpu", uuid), ("gpu", other))
    for link in _links(snapshot):
        pci = link.key[1].partition("/")[0]
        for state in gpus.states if gpus else ():
            if pci_address(state.gpu.pci_bus_id or "") == pci:
                yield Edge("part_of", link.key, ("gpu", state.gpu.uuid))


NVLINK = Kind("nvlink", "nvlink", {"up": FieldType(Type.TRUTH)}, _links, Gpus, relate=_neighbours)
GPU = Kind(
    "gpu",
    "gpu",
    names_of(Gpu)
    | dict.fromkeys(DERIVED, FieldType(Type.NUMBER))
    | {"up": FieldType(Type.TRUTH), "reason": FieldType(Type.TEXT)},
    _gpus,
    Gpus,
    kin={"node": "node", "pcie": "pcie", "process": "process"},
)
