"""What the detectors find, as fields of GPUs."""

from exporter.collectors.detectors.values import Unusual
from exporter.faults.entities.kind import FirstOf
from exporter.faults.subject import Extension
from exporter.faults.values import Entity, FieldType, Type, Value
from exporter.model.snapshot import Snapshot
from exporter.record import replace

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


def _extend(entities: tuple[Entity, ...], snapshot: Snapshot) -> tuple[Entity, ...]:
    unusual = snapshot.reading(Unusual)
    if unusual is None:
        return entities
    return tuple(
        replace(each, fields=FirstOf(found_unusual(each.key[1], unusual), each.fields))
        if each.kind == "gpu"
        else each
        for each in entities
    )


EXTENSION = Extension({"gpu": UNUSUAL}, _extend)
