"""Values of external probes, assigned to the components that they name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from exporter.collectors.external_probes.values import ExternalProbes, ProbeMetric
from exporter.faults.entities.kind import FirstOf, Kind
from exporter.faults.events.query import PROBE, Events
from exporter.faults.subject import ANY_KIND, Extension, KnownEntities
from exporter.faults.values import Entity, FieldType, Type, Value
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge, Naming
from exporter.record import replace

LINKED_SECS = 600.0
"""For so long a process or job is linked with the component that an event names beside it."""

PROBE_FIELDS: Mapping[str, FieldType] = MappingProxyType(
    dict.fromkeys(("probe_value", "probe_metric"), FieldType(Type.NUMBER, is_labeled=True))
)
"""Fields that every component may have: numbers by type of event, and by name of the metric."""

Names = Mapping[str, Entity]


def component_names(entities: Iterable[Entity]) -> Names:
    """Index components by what a probe may call them: id, name, address, `gpu-00`, pid."""
    names: dict[str, Entity] = {}
    for entity in entities:
        called = [entity.key[1], entity.name, *(name for _, name in entity.addresses)]
        index = entity.fields.get("index") if entity.kind == "gpu" else None
        if isinstance(index, int):
            called += [f"gpu-{index:02d}", f"gpu-{index}", f"gpu{index}"]
        for name in called:
            names.setdefault(name.casefold(), entity)
    return names


def with_probes(entities: tuple[Entity, ...], snapshot: Snapshot) -> tuple[Entity, ...]:
    """Add the numbers of probes to the components they name; what is unknown becomes one."""
    probes = snapshot.reading(ExternalProbes)
    current = probes.at(snapshot.taken_boottime).probes if probes else ()
    if not any(probe.values or probe.metrics for probe in current):
        return entities
    names = component_names(entities)
    reported: dict[str, dict[str, Value]] = {}
    for probe in current:
        for value in probe.values:
            reported.setdefault(value.entity, {})[f"probe_value[{value.event_type}]"] = value.value
        for metric in probe.metrics:
            owner = _owner(metric, names) or probe.name
            fields = reported.setdefault(owner, {})
            fields.update((f"probe_metric[{name}]", number) for name, number in metric.numbers)
    changed: dict[int, Entity] = {}
    new = []
    for name, fields in reported.items():
        entity = names.get(name.casefold())
        if entity is None:
            new.append(Entity(("external", name), name, fields, (("external", name),)))
        else:
            before = changed.get(id(entity), entity)
            changed[id(entity)] = replace(entity, fields=FirstOf(fields, before.fields))
    return (*(changed.get(id(entity), entity) for entity in entities), *new)


def _owner(metric: ProbeMetric, names: Names) -> str:
    """Find what a metric is about: the component that a label names, else its labels."""
    values = [value for _, value in metric.labels]
    return next((v for v in values if v.casefold() in names), ",".join(values))


def about_component(event: Event, names: Names) -> Event:
    """Return an event of a probe as one about the component it names."""
    if event.entity_type != PROBE:
        return event
    entity = names.get(event.entity_id.casefold())
    about = ("external", event.entity_id)
    if entity is not None:
        about = entity.addresses[0] if entity.addresses else entity.key
    reported = {"probe": event.source.partition(":")[2], "text": event.raw}
    fields = MappingProxyType({**event.fields, **reported})
    return replace(event, kind=PROBE, entity_type=about[0], entity_id=about[1], fields=fields)


def about_components(events: Sequence[Event], entities: tuple[Entity, ...]) -> Sequence[Event]:
    """Return the events of probes as events about the components that probes name."""
    if not any(event.entity_type == PROBE for event in events):
        return events
    names = component_names(entities)
    return [about_component(event, names) for event in events]


class ProbeEvents:
    """The feed of events that probes print; probes may be silent, so the feed never works."""

    name = PROBE

    def __init__(self) -> None:
        self._count = 0

    def new_events(self, snapshot: Snapshot) -> Iterable[Event]:
        """Return the events that were printed since the snapshot before."""
        probes = snapshot.reading(ExternalProbes)
        if probes is None:
            return ()
        fresh = min(probes.event_count - self._count, len(probes.events))
        self._count = probes.event_count
        return probes.events[len(probes.events) - max(0, fresh) :]

    def works(self, _: Snapshot) -> bool:
        """Return False: no rule may conclude from the silence of a probe."""
        return False


def edges_of_probes(known: KnownEntities) -> Iterator[Edge]:
    """Link the process and the job that an event of a probe names with its component."""
    for event in known.events.matching(None, Events(PROBE, (), LINKED_SECS), known.now):
        component = known.aliases.key_of((event.entity_type, event.entity_id))
        job, received = event.fields.get("job", ""), f"the probe {event.fields['probe']} says so"
        user = ("workload", job)
        if event.pid is not None:
            user = ("process", str(event.pid))
            if job:
                yield Edge("runs_in", user, ("workload", job), received)
        if component is not None and component != user and user[1]:
            yield Edge("consumes", user, component, received)


def _nothing(_: Snapshot) -> Iterable[Entity]:
    """Find none: they come from what probes say."""
    return ()


EXTERNAL = Kind("external", "external", {}, _nothing, ExternalProbes, naming=Naming(is_alone=True))

EXTENSION = Extension({ANY_KIND: PROBE_FIELDS}, with_probes)
