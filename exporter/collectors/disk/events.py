"""What events about partitions are about: their disk."""

from dataclasses import replace

from exporter.collectors.disk.values import whole_disk
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot


class Partitions:
    """Turns events about a partition into events about its disk."""

    def see(self, snapshot: Snapshot) -> None:
        """Remember nothing."""

    def interpret(self, event: Event) -> Event:
        """Return an event about a disk with the name of the whole disk."""
        if event.entity_type != "physical_disk":
            return event
        return replace(event, entity_id=whole_disk(event.entity_id))
