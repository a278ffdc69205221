"""DIMMs as components of rules, and what the status of a machine check says."""

from collections.abc import Iterable
from types import MappingProxyType

from exporter.collectors.memory.values import Dimm, Memory, MemoryController, MemoryErrors, Paging
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.entities.node import NodeFields, field_of
from exporter.faults.values import Entity, Type
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.record import replace

_DIMM_GETTERS = getters_of(Dimm)


def _dimms(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(MemoryErrors)
    for controller in reading.controllers if reading else ():
        for dimm in (*controller.dimms, *filter(None, [controller.unlocated])):
            key = ("dimm", f"{controller.controller}/{dimm.dimm}")
            fields = FieldsOf(dimm, _DIMM_GETTERS)
            yield Entity(key, dimm.dimm, fields, (("memory", dimm.dimm),))


DIMM = Kind("dimm", "memory", names_of(Dimm), _dimms, MemoryErrors)


def _corrected(controllers: Iterable[MemoryController]) -> int | None:
    """Return the corrected errors that all controllers have counted; None if none counts any."""
    known = [each.corrected_errors for each in controllers if each.corrected_errors is not None]
    return sum(known) if known else None


FIELDS = NodeFields(
    readings=(("memory_", Memory), ("memory_", Paging)),
    computed={
        "memory_controllers": field_of(
            Type.NUMBER, MemoryErrors, lambda errors: len(errors.controllers)
        ),
        "memory_corrected_errors": field_of(
            Type.NUMBER, MemoryErrors, lambda errors: _corrected(errors.controllers)
        ),
    },
)


UNCORRECTED_BIT = 61
"""Of the status of a machine check: Intel SDM volume 3B, section 16.3.2.2."""


class MachineChecks:
    """Adds to machine checks whether the error was `uncorrected`."""

    def see(self, snapshot: Snapshot) -> None:
        """Remember nothing."""

    def interpret(self, event: Event) -> Event:
        """Return a machine check with `uncorrected`, any other event as it is."""
        if event.kind != "mce" or "status" not in event.fields:
            return event
        added = {"uncorrected": "yes" if _is_uncorrected(event) else "no"}
        return replace(event, fields=MappingProxyType({**event.fields, **added}))


def _is_uncorrected(event: Event) -> bool:
    """Tell whether a machine check was an exception, or its status says uncorrected."""
    status = int(event.fields["status"], 16)
    return "exception" in event.fields or bool(status >> UNCORRECTED_BIT & 1)
