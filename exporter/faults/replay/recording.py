"""Recorded scenes: one JSON object per line, with what was seen at one moment and what happened.

`{"at": 15, "gpu": [{"id": "GPU-a", "temperature_celsius": 91}], "events": [...], "edges": [...]}`:
`at` counts seconds from the beginning; entities are listed by kind with their id, perhaps a name
and addresses, and their fields; what a line does not list was not seen at that moment, but with
`"same": true` everything is as in the line before except what is listed. Kernel lines are events
of their own: `{"at": 16, "kernel": "NVRM: Xid (PCI:0000:3b:00): 79, ..."}`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from exporter.faults.values import Address, Entity, Scene, Vocabulary, did_you_mean
from exporter.model.event import Event, EventType
from exporter.model.verdict import Edge, Key

START_BOOTTIME = 10_000.0
START_WALL = 1_700_000_000.0
EVENT_SOURCES = ("kernel_log", "nvml")

EventsOfLine = Callable[[str, float], Iterable[Event]]
"""The events in one line of the kernel log, printed at this boot time in seconds."""


class BadRecording(Exception):
    """A line that makes no sense; the message names the line and what is wrong."""


@dataclass(slots=True)
class _Now:
    """What is there at the moment that is being read."""

    entities: dict[Key, Entity] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    event_sources: frozenset[str] = frozenset(EVENT_SOURCES)
    read_kinds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads recordings; `hw_types` are the types that events use, by kind."""

    vocabulary: Vocabulary
    hw_types: Mapping[str, str]
    events_of_line: EventsOfLine

    def scenes(self, lines: Iterable[str]) -> Iterator[Scene]:
        """One scene for each line; raises BadRecording."""
        now = _Now(read_kinds=frozenset(self.vocabulary.names))
        last = 0.0
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                row = json.loads(line)
                at = float(row.pop("at", last))
                last = max(last, at)
                yield self._scene(row, START_BOOTTIME + at, now)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise BadRecording(f"line {number}: {error}") from error

    def _scene(self, row: dict[str, Any], boottime: float, now: _Now) -> Scene:
        events: list[Event] = []
        if "kernel" in row:
            events += self.events_of_line(str(row.pop("kernel")), boottime)
            row.setdefault("same", True)
        if not row.pop("same", False):
            now.entities, now.edges = {}, []
        events += [self._event(item, boottime) for item in row.pop("events", ())]
        if "heard" in row:
            now.event_sources = frozenset(map(str, row.pop("heard")))
        if "edges" in row:
            now.edges = [_edge(item) for item in row.pop("edges")]
        for kind, items in row.items():
            self._take(kind, items, now)
        wall = START_WALL + boottime - START_BOOTTIME
        node = Entity(("node", "node"), "node", addresses=(("node", ""),))
        entities = {node.key: node, **now.entities}
        return Scene(
            node="node",
            now=boottime,
            wall=wall,
            entities=tuple(entities.values()),
            edges=tuple(now.edges),
            events=tuple(events),
            event_sources=now.event_sources,
            read_kinds=now.read_kinds,
        )

    def _take(self, kind: str, items: Any, now: _Now) -> None:
        if kind not in self.vocabulary.names:
            raise ValueError(f"{kind} is no kind; {did_you_mean(kind, self.vocabulary.names)}")
        for item in [items] if isinstance(items, dict) else items:
            entity = self._entity(kind, dict(item))
            if item.get("gone"):
                now.entities.pop(entity.key, None)
                continue
            before = now.entities.get(entity.key)
            if before is not None:
                fields = {**_fields(before), **_fields(entity)}
                entity = replace(before, fields=fields)
            now.entities[entity.key] = entity

    def _entity(self, kind: str, item: dict[str, Any]) -> Entity:
        entity_id = str(item.pop("id", "node"))
        name = str(item.pop("name", entity_id))
        item.pop("gone", None)
        hw_type = self.hw_types[kind]
        addresses: list[Address] = [(hw_type, entity_id)]
        addresses += [(hw_type, str(alias)) for alias in item.pop("aliases", ())]
        if kind == "node":
            addresses = [("node", "")]
        names = self.vocabulary.names[kind]
        for field_name in item:
            if field_name.partition("[")[0] not in names:
                hint = did_you_mean(field_name, names)
                raise ValueError(f"{kind} has no field {field_name}; {hint}")
        return Entity((kind, entity_id), name, item, tuple(addresses))

    def _event(self, item: Mapping[str, Any], boottime: float) -> Event:
        about = item.get("about", ["node", ""])
        at = START_BOOTTIME + float(item["at"]) if "at" in item else boottime
        return Event(
            at=START_WALL + at - START_BOOTTIME,
            boottime=at,
            type=EventType(item.get("type", "error.hw")),
            kind=str(item["kind"]),
            entity_type=str(about[0]),
            entity_id=str(about[1]),
            source=str(item.get("source", "kernel_log")),
            fields={str(name): str(value) for name, value in item.get("fields", {}).items()},
            raw=str(item.get("raw", "")),
        )


def _fields(entity: Entity) -> dict[str, Any]:
    return dict(entity.fields) if isinstance(entity.fields, dict) else {}


def _edge(item: list[Any]) -> Edge:
    relation, source, target = item
    return Edge(str(relation), _key(source), _key(target))


def _key(item: list[Any]) -> Key:
    kind, entity_id = item
    return str(kind), str(entity_id)
