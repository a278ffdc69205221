"""GPUs as entities: stale values are unknown, and a card is also known by its PCI address."""

from collections.abc import Iterable

from exporter.faults.entities import Address, Entity, FieldsOf
from exporter.faults.expression import Type, Value
from exporter.faults.kind import Kind, getters_of
from exporter.faults.vocabulary import FieldType, names_of
from exporter.model.gpu import Gpu, Gpus, GpuState
from exporter.model.pci import pci_address
from exporter.model.snapshot import Snapshot

IDENTITY = frozenset({"index", "uuid", "name", "pci_bus_id", "numa_node", "architecture"})
_GETTERS = getters_of(Gpu)


class GpuFields:
    """The fields of one GPU; those served from the cache are unknown."""

    __slots__ = ("_is_fresh", "_state", "_values")

    def __init__(self, state: GpuState) -> None:
        self._state = state
        self._values = FieldsOf(state.gpu, _GETTERS)
        self._is_fresh = not state.stale and not state.expired

    def get(self, name: str, /) -> Value:
        """The value of the field, or None when it was not said lately."""
        if name == "up":
            return self._up()
        if name == "reason":
            return self._state.reason
        if not self._is_fresh and name not in IDENTITY:
            return None
        return self._values.get(name)

    def _up(self) -> bool | None:
        """Whether it answers; a card that was not asked is neither up nor down."""
        if self._is_fresh:
            return self._state.up
        return False if not self._state.up and self._state.reason else None


def _gpus(snapshot: Snapshot) -> Iterable[Entity]:
    gpus = snapshot.reading(Gpus)
    for state in gpus.states if gpus else ():
        gpu = state.gpu
        addresses: list[Address] = [("gpu", gpu.uuid)]
        pci = pci_address(gpu.pci_bus_id or "")
        if pci:
            addresses.append(("gpu", pci))
        name = f"GPU {gpu.index}"
        yield Entity(("gpu", gpu.uuid), name, GpuFields(state), tuple(addresses))


GPU = Kind(
    "gpu",
    "gpu",
    names_of(Gpu) | {"up": FieldType(Type.TRUTH), "reason": FieldType(Type.TEXT)},
    _gpus,
    Gpus,
    kin={"node": "node", "pcie": "pcie", "process": "process"},
)
