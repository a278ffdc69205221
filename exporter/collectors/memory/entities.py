"""DIMMs as components of rules."""

from collections.abc import Iterable

from exporter.collectors.memory.values import Dimm, Memory, MemoryErrors, Paging
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.entities.node import NodeField, NodeFields, of_reading
from exporter.faults.values import Entity, FieldType, Type
from exporter.model.snapshot import Snapshot

_DIMM_GETTERS = getters_of(Dimm)


def _dimms(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(MemoryErrors)
    for controller in reading.controllers if reading else ():
        for dimm in (*controller.dimms, *filter(None, [controller.unlocated])):
            key = ("dimm", f"{controller.controller}/{dimm.dimm}")
            fields = FieldsOf(dimm, _DIMM_GETTERS)
            yield Entity(key, dimm.dimm, fields, (("memory", dimm.dimm),))


DIMM = Kind("dimm", "memory", names_of(Dimm), _dimms, MemoryErrors)


FIELDS = NodeFields(
    readings=(("memory_", Memory), ("memory_", Paging)),
    computed={
        "memory_controllers": NodeField(
            FieldType(Type.NUMBER),
            of_reading(MemoryErrors, lambda errors: len(errors.controllers)),
        )
    },
)
