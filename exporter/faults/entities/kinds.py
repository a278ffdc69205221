"""The list of all kinds of entities, and what is derived from it: names, label types, scenes."""

from collections.abc import Iterable
from itertools import chain
from types import MappingProxyType

from exporter.faults.entities.board import (
    CPU,
    DIMM,
    FAN,
    MD_ARRAY,
    NFS_MOUNT,
    NVSWITCH,
    POWER,
    TEMPERATURE,
)
from exporter.faults.entities.bus import IB_PORT, PCIE
from exporter.faults.entities.communicator import COMMUNICATOR
from exporter.faults.entities.external import (
    EXTERNAL,
    PROBE_FIELDS,
    about_component,
    component_names,
    with_probes,
)
from exporter.faults.entities.gpu import GPU, NVLINK
from exporter.faults.entities.kind import Kind
from exporter.faults.entities.network import NIC
from exporter.faults.entities.node import NODE, SOURCE
from exporter.faults.entities.storage import DISK, FILESYSTEM
from exporter.faults.entities.workload import PROCESS, WORKLOAD
from exporter.faults.events.event_kinds import EVENT_WORDS, PROBE
from exporter.faults.values import Address, KindTraits, Scene, Vocabulary
from exporter.model.event import Event
from exporter.model.kernel_log import KernelLog
from exporter.model.probe import ExternalProbes
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Key

KINDS: tuple[Kind, ...] = (
    *(NODE, CPU, DIMM, TEMPERATURE, FAN, POWER, PCIE),
    *(GPU, NVLINK, NVSWITCH, DISK, FILESYSTEM, MD_ARRAY, NFS_MOUNT, NIC, IB_PORT),
    *(PROCESS, WORKLOAD, COMMUNICATOR, SOURCE, EXTERNAL),
)
"""Where several kinds have one type in labels, events of that type are about the first."""

VOCABULARY = Vocabulary(
    names=MappingProxyType({kind.name: {**kind.names, **PROBE_FIELDS} for kind in KINDS}),
    related=MappingProxyType({kind.name: kind.related for kind in KINDS}),
    event_words=EVENT_WORDS,
)

TRAITS = KindTraits(
    hw_types=MappingProxyType({kind.name: kind.hw_type for kind in KINDS}),
    related=VOCABULARY.related,
    ending=frozenset(kind.name for kind in KINDS if kind.ends),
)


def scene_of(snapshot: Snapshot, events: Iterable[Event], event_sources: frozenset[str]) -> Scene:
    """Collect what rules look at: the entities of a snapshot, and the events new in it."""
    built = tuple(chain.from_iterable(kind.build(snapshot) for kind in KINDS))
    entities = with_probes(built, snapshot.reading(ExternalProbes), snapshot.taken_boottime)
    received = tuple(events)
    if any(event.entity_type == PROBE for event in received):
        names = component_names(entities)
        received = tuple(about_component(event, names) for event in received)
    return Scene(
        node=snapshot.node,
        now=snapshot.taken_boottime,
        wall=snapshot.taken_at,
        entities=entities,
        edges=tuple(chain.from_iterable(kind.relate(snapshot) for kind in KINDS)),
        events=received,
        event_sources=event_sources,
        names=tuple(_names_in_log(snapshot)),
        read_kinds=frozenset(
            kind.name for kind in KINDS if snapshot.reading(kind.reading) is not None
        ),
    )


def _names_in_log(snapshot: Snapshot) -> Iterable[tuple[Address, Key]]:
    """Yield which GPU sits at which address, as the driver says: also those NVML never saw."""
    log = snapshot.reading(KernelLog)
    for pci, uuid in log.gpu_uuids if log else ():
        yield ("gpu", pci), ("gpu", uuid)
