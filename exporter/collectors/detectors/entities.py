"""What the detectors find, as fields of GPUs."""

from collections.abc import Mapping
from dataclasses import replace

from exporter.collectors.detectors.values import Unusual
from exporter.faults.subject import Extension
from exporter.faults.values import Entity, Fields, FieldType, Type, Value
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass

UNUSUAL = {
    "sibling_deviation": FieldType(Type.NUMBER, is_labeled=True),
    "sibling_deviation_furthest": FieldType(Type.NUMBER),
    "sibling_signal": FieldType(Type.TEXT),
    "siblings_synchronous": FieldType(Type.TRUTH),
    "anomaly_score": FieldType(Type.NUMBER),
    "anomaly_is_change": FieldType(Type.TRUTH),
}
"""What the detectors find, where they are on."""


def found_unusual(uuid: str, unusual: Unusual) -> dict[str, Value]:
    """Return what the detectors found about one GPU; nothing where they are off."""
    fields: dict[str, Value] = {}
    for away in unusual.siblings:
        if away.gpu_uuid == uuid:
            fields |= {f"sibling_deviation[{name}]": value for name, value in away.by_signal}
            signal, value = away.furthest
            fields |= {"sibling_signal": signal, "sibling_deviation_furthest": abs(value)}
            fields["siblings_synchronous"] = away.is_synchronous
    for anomaly in unusual.anomalies:
        if anomaly.gpu_uuid == uuid:
            fields |= {"anomaly_score": anomaly.score, "anomaly_is_change": anomaly.is_change}
    return fields


@dataclass(frozen=True, slots=True)
class _WithUnusual:
    """The fields of a GPU, and what the detectors found about the GPU."""

    own: Fields
    found: Mapping[str, Value]

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when nothing reported the field."""
        return self.found[name] if name in self.found else self.own.get(name)


def _extend(entities: tuple[Entity, ...], snapshot: Snapshot) -> tuple[Entity, ...]:
    unusual = snapshot.reading(Unusual)
    if unusual is None:
        return entities
    return tuple(
        replace(each, fields=_WithUnusual(each.fields, found_unusual(each.key[1], unusual)))
        if each.kind == "gpu"
        else each
        for each in entities
    )


EXTENSION = Extension({"gpu": UNUSUAL}, _extend)
