"""GPUs, NVLinks and NVSwitches as components of rules."""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.gpu.entity_fields import DERIVED, OF_LINKS, derived
from exporter.collectors.gpu.labels import states
from exporter.collectors.gpu.tools import TEXTS, text_of
from exporter.collectors.gpu.values import Gpu, Gpus, GpuState
from exporter.collectors.pcie.address import pci_address
from exporter.collectors.pcie.values import NVIDIA, Pcie
from exporter.collectors.workloads.values import Workloads
from exporter.faults.entities.graph import AliasIndex
from exporter.faults.entities.kind import (
    FieldsOf,
    Kind,
    getters_of,
    known_by_events,
    names_of,
)
from exporter.faults.entities.node import NodeField, NodeFields, field_of
from exporter.faults.subject import KnownEntities
from exporter.faults.values import Address, Entity, FieldType, Type, Value
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge, Key, Naming

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
        self._kept.update((name, text_of(state.gpu, name)) for name in TEXTS)

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
    known = states(snapshot)
    for state, found in zip(known, derived(known, snapshot.reading(Workloads)), strict=True):
        gpu = state.gpu
        addresses: list[Address] = [("gpu", gpu.uuid)]
        pci = pci_address(gpu.pci_bus_id)
        if pci:
            addresses.append(("gpu", pci))
        name = f"GPU {gpu.index}"
        fields = GpuFields(state, found)
        untold = frozenset(gpu.unprinted or ())
        if "nvlink_up" in untold:
            untold |= OF_LINKS
        known_by = gpu.uuid or pci or f"index {gpu.index}"  # nobody has asked it who it is
        yield Entity(("gpu", known_by), name, fields, tuple(addresses), state.is_fresh, untold)


def names_of_places(snapshot: Snapshot) -> Iterable[tuple[Address, Key]]:
    """Yield the GPU of each index: a GPU lost since the start may be known by nothing else."""
    for state in states(snapshot):
        if state.gpu.uuid:
            yield ("gpu", f"index {state.gpu.index}"), ("gpu", state.gpu.uuid)


def _links(snapshot: Snapshot) -> Iterable[Entity]:
    """Yield the NVLinks that are said to be down; the others are known by their events only."""
    for state in states(snapshot):
        pci = pci_address(state.gpu.pci_bus_id)
        rows = state.gpu.nvlink_up or ()
        if not state.is_fresh or not pci:
            continue
        for link in (label for label, is_up in rows if not is_up):
            key = ("nvlink", f"{pci}/{link}")
            yield Entity(key, f"GPU {state.gpu.index} link {link}", {"up": False}, (key,))


def _neighbours(snapshot: Snapshot) -> Iterable[Edge]:
    """GPUs joined by NVLink or xGMI are each other's peers; a link is part of its GPU."""
    gpus = [state.gpu for state in states(snapshot)]
    for joined in ([it for it in gpus if it.nvlink_up], [it for it in gpus if _has_xgmi(it)]):
        for place, gpu in enumerate(joined):
            for other in joined[place + 1 :]:
                yield Edge("peer", ("gpu", gpu.uuid), ("gpu", other.uuid))
    at = {pci_address(gpu.pci_bus_id): gpu.uuid for gpu in gpus}
    for link in _links(snapshot):
        yield Edge("part_of", link.key, ("gpu", at[link.key[1].partition("/")[0]]))


def _has_xgmi(gpu: Gpu) -> bool:
    """Tell whether the GPU is of a series of AMD that xGMI joins; no file names its peers."""
    return gpu.vendor == "amd" and "Instinct" in (gpu.name or "")


NVLINK = Kind(
    "nvlink",
    "nvlink",
    {"up": FieldType(Type.TRUTH)},
    _links,
    Gpus,
    related={"node": "node", "gpu": "gpu"},
    relate=_neighbours,
    naming=Naming("NVLinks"),
)

GPU = Kind(
    "gpu",
    "gpu",
    names_of(Gpu)
    | dict.fromkeys(DERIVED, FieldType(Type.NUMBER))
    | {"inactive_links": FieldType(Type.TEXT)}
    | {"up": FieldType(Type.TRUTH)}
    | dict.fromkeys(("reason", *TEXTS), FieldType(Type.TEXT)),
    _gpus,
    Gpus,
    related={"node": "node", "pcie": "pcie"},
    is_read_as_a_whole=True,
    is_depended_on=True,
    has_status=True,
    naming=Naming("GPUs", is_numbered=True),
)


NVSWITCH = Kind("nvswitch", "nvswitch", {}, known_by_events, Cpu, is_depended_on=True)


SILENT = ("gpu_lost", "hung", "crashes", "timeout", "in_use", "reset_required")
"""A GPU that is down for one of these reasons is listed by the driver, and has its own fault."""


def _gpus_on_bus(snapshot: object) -> Value:
    """Count the GPUs that should answer: all of NVIDIA, those of other makers that once did."""
    if not isinstance(snapshot, Snapshot):
        return None
    pcie = snapshot.reading(Pcie)
    if pcie is None:
        return None
    known = {pci_address(state.gpu.pci_bus_id) for state in states(snapshot)}
    return sum(
        device.kind == "gpu"
        and not device.is_passed_through
        and (device.vendor in (None, NVIDIA) or device.device in known)
        for device in pcie.devices
    )


def _up_gpus(gpus: Gpus) -> Value:
    if any(state.stale and state.up for state in gpus.states):
        return None
    return sum(state.up or state.reason in SILENT for state in gpus.states)


def _missing_gpus(gpus: Gpus) -> Value:
    """Name the GPUs that do not answer and did before; None when there is none."""
    gone = (s for s in gpus.states if not s.up and s.reason not in SILENT)
    return ", ".join(f"GPU {state.gpu.index}" for state in gone) or None


def _by_clique(gpus: Gpus) -> Mapping[tuple[str, int], list[str]]:
    """Return the indexes of GPUs that have joined, by cluster and clique of the NVLink fabric."""
    found: dict[tuple[str, int], list[str]] = {}
    for gpu in (state.gpu for state in gpus.states if state.up):
        if gpu.fabric_cluster is not None and gpu.fabric_clique is not None:
            place = gpu.fabric_cluster, gpu.fabric_clique
            found.setdefault(place, []).append(str(gpu.index))
    return found


def _cliques(gpus: Gpus) -> Value:
    """Name the GPUs of each clique; None where none has joined a fabric."""
    found = _by_clique(gpus)
    has_one_cluster = len({cluster for cluster, _ in found}) == 1
    parts = []
    for (cluster, clique), numbers in sorted(found.items()):
        where = f"clique {clique}" if has_one_cluster else f"cluster {cluster}, clique {clique}"
        parts.append(f"GPU {', '.join(numbers)} in {where}")
    return "; ".join(parts) or None


def _are_read(gpus: Gpus) -> bool:
    """Tell whether the best backend that is configured has answered last."""
    return gpus.backend.nvml_up is not False and gpus.backend.backend not in ("none", "cache")


FIELDS = NodeFields(
    computed={
        "gpus_missing": field_of(Type.TEXT, Gpus, _missing_gpus),
        "fabric_clique_count": field_of(
            Type.NUMBER, Gpus, lambda gpus: len(_by_clique(gpus)) or None
        ),
        "fabric_cliques": field_of(Type.TEXT, Gpus, _cliques),
        "gpu_backend": field_of(Type.TEXT, Gpus, attrgetter("backend.backend")),
        "gpu_backend_reason": field_of(Type.TEXT, Gpus, attrgetter("backend.reason")),
        "gpu_nvml_up": field_of(Type.TRUTH, Gpus, attrgetter("backend.nvml_up")),
        "gpus_are_read": field_of(Type.TRUTH, Gpus, _are_read),
        "gpu_backend_tried": field_of(Type.TRUTH, Gpus, lambda gpus: gpus.backend.tried or None),
        "gpu_releases": field_of(Type.NUMBER, Gpus, attrgetter("releases")),
        "gpu_release_overdue": field_of(Type.TRUTH, Gpus, attrgetter("release_overdue")),
        "gpu_up_count": field_of(Type.NUMBER, Gpus, _up_gpus),
        "gpu_pci_count": NodeField(FieldType(Type.NUMBER), _gpus_on_bus),
    }
)


def gpus_of_links(known: KnownEntities) -> Iterator[Edge]:
    """Join a link to the GPU whose address is in the name of the link."""
    for link in known.by_kind.get("nvlink", ()):
        gpu = known.aliases.known_key(("gpu", link.key[1].partition("/")[0]))
        if gpu is not None:
            yield Edge("part_of", link.key, gpu)


def title_of_link(key: Key, aliases: AliasIndex, entities: Mapping[Key, Entity]) -> str | None:
    """Return the name of the GPU and the number of the link; None if the component is no link."""
    pci, slash, link = key[1].partition("/")
    gpu = entities.get(aliases.known_key(("gpu", pci)) or key)
    return f"{gpu.name} link {link}" if gpu is not None and slash else None
