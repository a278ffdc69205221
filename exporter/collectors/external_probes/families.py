"""Families of external probes: their health and their own metrics."""

from collections.abc import Callable, Iterable

from exporter.collectors.external_probes.values import ExternalProbes, ProbeMetric, ProbeState
from exporter.collectors.gpu.values import Gpus
from exporter.exposition.family import Family, MetricType, Sample, family, names_taken
from exporter.exposition.rows import Items, Row, families
from exporter.model.snapshot import Snapshot


def _states(snapshot: Snapshot) -> tuple[ProbeState, ...]:
    reading = snapshot.reading(ExternalProbes)
    return () if reading is None else reading.probes


def _values(snapshot: Snapshot) -> Iterable[Sample]:
    for probe in _states(snapshot):
        for record in probe.values:
            yield (probe.name, record.event_type, record.entity), record.value


def _restarts(snapshot: Snapshot) -> Iterable[Sample]:
    gpus = snapshot.reading(Gpus)
    if gpus is not None and gpus.probe_restarts is not None:
        yield ("nvml",), gpus.probe_restarts
    for probe in _states(snapshot):
        yield (probe.name,), probe.restarts


PROBES = Items(
    ("probe",),
    ProbeState,
    lambda snapshot: (((probe.name,), probe) for probe in _states(snapshot)),
)

FAMILIES = (
    *families(
        "hw_exporter_probe_",
        PROBES,
        Row("up", "Whether the external probe printed a line within its deadline."),
        Row(
            "lines_total",
            "Lines of the external probe by result (good, bad, dropped).",
            labels=("result",),
        ),
    ),
    family(
        "hw_exporter_probe_restarts_total",
        "How often the probe was restarted after it ended or hung.",
        _restarts,
        "probe",
    ),
    family(
        "hw_probe_value",
        "Last value from an external probe for this event type and entity.",
        _values,
        *("probe", "event_type", "entity"),
    ),
)


def named_by_probes(snapshot: Snapshot) -> tuple[Family, ...]:
    """Return the families that external probes name themselves, in the order of their names.

    The first to name a family decides its type, help and labels; what differs is left out, and so
    is a family one of whose names on the page (`_bucket`) is taken by an earlier one.
    """
    leaders: dict[str, ProbeMetric] = {}
    taken: set[str] = set()
    for probe in _states(snapshot):
        for metric in probe.metrics:
            names = names_taken(metric.name, metric.kind)
            if metric.name not in leaders and taken.isdisjoint(names):
                leaders[metric.name] = metric
                taken |= names
    return tuple(_family(leader) for _, leader in sorted(leaders.items()))


def _family(leader: ProbeMetric) -> Family:
    labels = tuple(name for name, _ in leader.labels)
    help_text = leader.help or "Measured by an external probe."
    return Family(
        leader.name, help_text, MetricType(leader.kind), labels, _samples_like(leader, labels)
    )


def _samples_like(
    leader: ProbeMetric, labels: tuple[str, ...]
) -> Callable[[Snapshot], Iterable[Sample]]:
    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        for probe in _states(snapshot):
            for metric in probe.metrics:
                if (metric.name, metric.kind) != (leader.name, leader.kind):
                    continue
                if tuple(name for name, _ in metric.labels) == labels:
                    yield tuple(value for _, value in metric.labels), metric.value

    return samples
