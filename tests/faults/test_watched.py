"""What is kept of the last snapshot: used again, and for how long."""

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.memory.values import Memory
from exporter.faults.watched import Kept, Watched
from exporter.model.snapshot import Snapshot

FIRST = Snapshot(
    node="n",
    sequence=1,
    taken_at=1.7e9,
    taken_boottime=100.0,
    duration_secs=0.0,
    readings=MappingProxyType({Cpu: object(), Memory: object()}),
)


def _later(**changes: object) -> Snapshot:
    return replace(FIRST, sequence=2, taken_boottime=115.0, **changes)  # type: ignore[arg-type]


def test_what_was_made_is_kept_while_what_it_was_made_of_is_the_same() -> None:
    """Other readings and the time may change; the reading that was asked for may not."""
    kept, calls = Kept(), []

    def processors(snapshot: Snapshot) -> Iterator[object]:
        calls.append("made")
        yield snapshot.reading(Cpu)

    first = kept.joined("parts", [processors], FIRST)
    other = {**FIRST.readings, Memory: object()}
    assert kept.joined("parts", [processors], _later(readings=other)) is first
    assert calls == ["made"]
    changed = {**FIRST.readings, Cpu: object()}
    assert kept.joined("parts", [processors], _later(readings=changed)) == (changed[Cpu],)
    assert kept.joined("parts", [processors], _later(readings=MappingProxyType({}))) == (None,)
    assert calls == 3 * ["made"]


def test_what_is_read_later_is_that_of_now() -> None:
    """Fields are read when a rule asks for them: then the last snapshot may be another one."""
    watched = Watched(FIRST)
    assert watched.reading(Cpu) is FIRST.readings[Cpu]
    other = {**FIRST.readings, Memory: object()}
    assert watched.moves_to(_later(readings=other))
    assert watched.reading(Memory) is other[Memory]
    assert not watched.moves_to(FIRST)
