"""Components have subjects, which change only where a component does."""

from collections.abc import Sequence

from exporter.faults.entities.components import Components
from exporter.faults.entities.naming import SubjectIndex
from exporter.faults.values import Entity
from exporter.model.verdict import Key

FIRST, SECOND, THIRD = (Entity(("process", pid), f"trainer ({pid})") for pid in "123")


class Naming:
    """Names the processes of one look after the other."""

    def __init__(self) -> None:
        self.index = SubjectIndex({"process": "process"})
        self._parts = Components()

    def take(self, *processes: Entity, mentioned: Sequence[Key] = ()) -> bool:
        """Take in the processes of a look; return whether a subject has changed."""
        self._parts.look(processes)
        self._parts.complete([])
        return self.index.take(self._parts, mentioned)

    def names(self) -> list[str]:
        """Return how the three processes are called."""
        return [self.index.of(it.key).hw_name for it in (FIRST, SECOND, THIRD)]


def test_a_component_that_takes_the_place_of_another_is_named() -> None:
    """The other keeps its name while a fault mentions it, and is forgotten after that."""
    naming = Naming()
    assert naming.take(FIRST, SECOND)
    assert naming.names() == [FIRST.name, SECOND.name, "3"]
    assert naming.take(FIRST, THIRD, mentioned=[SECOND.key])
    assert naming.names() == [FIRST.name, SECOND.name, THIRD.name]
    assert naming.take(FIRST, THIRD)
    assert naming.names() == [FIRST.name, "2", THIRD.name]


def test_a_component_that_is_read_anew_is_named_anew() -> None:
    """The names of all others stay, and nothing has changed while all are the same."""
    naming = Naming()
    naming.take(FIRST, SECOND)
    assert not naming.take(FIRST, SECOND)
    renamed = Entity(SECOND.key, "server (2)")
    assert naming.take(FIRST, renamed)
    assert naming.names() == [FIRST.name, "server (2)", "3"]
