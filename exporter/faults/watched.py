"""What is made of snapshots, kept while all that was read for it is the same."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from exporter.faults.last_made import LastMade
from exporter.model.snapshot import Snapshot

T = TypeVar("T")


class Watched(Snapshot):
    """A snapshot that notes what is read of it.

    What was made of it may read further fields later: they are those of the snapshot of now.
    """

    __slots__ = ("_now", "_read")

    def __init__(self, snapshot: Snapshot) -> None:
        self._now = snapshot  # the fields of the class itself stay unset: see __getattr__
        self._read: dict[str | type, object] = {}

    def __getattr__(self, name: str) -> Any:
        """Return a field of the snapshot of now."""
        value = self._read[name] = getattr(self._now, name)
        return value

    def reading(self, kind: type[T]) -> T | None:
        """Return the reading of this type; None if no source reported one."""
        value = self._now.reading(kind)
        self._read[kind] = value
        return value

    def moves_to(self, snapshot: Snapshot) -> bool:
        """Take the next snapshot, if all that was read of the last one is the same object there."""
        for name, value in self._read.items():
            now = getattr(snapshot, name) if isinstance(name, str) else snapshot.reading(name)
            if now is not value:
                return False
        self._now = snapshot
        return True


class Kept:
    """What functions have made of the last snapshot."""

    def __init__(self) -> None:
        self._made: dict[object, tuple[Watched, tuple[Any, ...]]] = {}
        self._joined: dict[str, LastMade[tuple[Any, ...]]] = {}

    def made(self, make: Callable[[Snapshot], Iterable[T]], snapshot: Snapshot) -> tuple[T, ...]:
        """Return what the function makes of the snapshot; do not call it if that is the same."""
        kept = self._made.get(make)
        if kept is None or not kept[0].moves_to(snapshot):
            watched = Watched(snapshot)
            made = tuple(make(watched))
            if kept is not None and made == kept[1]:
                made = kept[1]  # as edges are, which many readings leave as they were
            kept = self._made[make] = (watched, made)
        return kept[1]

    def joined(
        self, what: str, makes: Iterable[Callable[[Snapshot], Iterable[T]]], snapshot: Snapshot
    ) -> tuple[T, ...]:
        """Return what all functions make of the snapshot; the same tuple if all is the same."""
        parts = [self.made(make, snapshot) for make in makes]
        last = self._joined.setdefault(what, LastMade())
        return last.made(parts, lambda: tuple(one for part in parts for one in part))
