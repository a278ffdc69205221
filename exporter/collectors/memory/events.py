"""What the status of a machine check says."""

from dataclasses import replace
from types import MappingProxyType

from exporter.model.event import Event
from exporter.model.snapshot import Snapshot

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
