"""Components have subjects, which change only where a component does."""

from exporter.faults.entities.naming import SubjectIndex
from exporter.faults.values import Entity

FIRST, SECOND, THIRD = (Entity(("process", pid), f"trainer ({pid})") for pid in "123")


def names(index: SubjectIndex) -> list[str]:
    """Return how the index calls the three processes."""
    return [index.of(it.key).hw_name for it in (FIRST, SECOND, THIRD)]


def test_a_component_that_takes_the_place_of_another_is_named() -> None:
    """The other keeps its name while a fault mentions it, and is forgotten after that."""
    index = SubjectIndex({"process": "process"})
    assert index.take({"process": [FIRST, SECOND]}, ())
    assert names(index) == [FIRST.name, SECOND.name, "3"]
    assert index.take({"process": [FIRST, THIRD]}, [SECOND.key])
    assert names(index) == [FIRST.name, SECOND.name, THIRD.name]
    assert index.take({"process": [FIRST, THIRD]}, ())
    assert names(index) == [FIRST.name, "2", THIRD.name]


def test_a_component_that_is_read_anew_is_named_anew() -> None:
    """The names of all others stay, and nothing has changed while all are the same."""
    index = SubjectIndex({"process": "process"})
    index.take({"process": [FIRST, SECOND]}, ())
    assert not index.take({"process": [FIRST, SECOND]}, ())
    renamed = Entity(SECOND.key, "server (2)")
    assert index.take({"process": [FIRST, renamed]}, ())
    assert names(index) == [FIRST.name, "server (2)", "3"]
