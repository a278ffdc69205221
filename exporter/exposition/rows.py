"""Families as rows of a table: a metric is a name, a HELP text and the field it exports."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from operator import attrgetter
from typing import Any, TypeVar

from exporter.exposition.family import Family, MetricType, Sample, type_of
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass, replace

R = TypeVar("R")
I = TypeVar("I")  # noqa: E741 - an item of a reading

Read = Callable[[Snapshot], Iterable[tuple[tuple[str, ...], Any]]]


@dataclass(frozen=True, slots=True)
class Items:
    """Items with samples: the names of their labels, their class, and the function to read all."""

    labels: tuple[str, ...]
    kind: type
    read: Read


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of each item: name behind the prefix, and field of the item.

    `field` is by default the name of the metric, with or without `_total`. `labels` name the labels
    of a field of several numbers; `states` make a field that holds a word a state set: 1 for the
    present state, 0 for the others. With more samples than `max_with_zeros`, zeros are left out. A
    field whose second label is the counter (volatile or aggregate) has one metric for each
    `counter`, since their sum means nothing. `never_bad` is that of the family.
    """

    name: str
    help: str
    field: str = ""
    labels: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    digits: int | None = None
    max_with_zeros: int | None = None
    type: MetricType | None = None  # if the name does not tell
    counter: str = ""
    never_bad: str = ""

    def family(self, prefix: str, items: Items) -> Family:
        """Return the family of this row; raise AttributeError for an unknown field."""
        name = prefix + self.name
        source = self.field or self.name
        if not hasattr(items.kind, source):
            source = source.removesuffix("_total")
            getattr(items.kind, source)
        return Family(
            name,
            self.help,
            self.type or type_of(name),
            (*items.labels, *self.labels),
            self._samples(items.read, attrgetter(source)),
            never_bad=self.never_bad,
        )

    def _samples(
        self, read: Read, value_of: Callable[[Any], Any]
    ) -> Callable[[Snapshot], Iterable[Sample]]:
        def samples(snapshot: Snapshot) -> Iterable[Sample]:
            for labels, item in read(snapshot):
                value = value_of(item)
                if isinstance(value, str):
                    value = _state_set(value, self.states)
                if self.counter and value is not None:
                    value = tuple((a, *rest) for a, of, *rest in value if of == self.counter)
                if isinstance(value, tuple):
                    for *more, number in value:
                        yield (*labels, *more), number
                elif value is not None:
                    yield labels, value if self.digits is None else round(value, self.digits)

        return samples if self.max_with_zeros is None else _sparing(samples, self.max_with_zeros)


def metric(help_text: str, read_from: str = "", **row: Any) -> Any:
    """Return a dataclass field, None by default, that declares its metric.

    `read_from` is the kernel's name of the value; `row` are further arguments of its `Row`.
    """
    return field(default=None, metadata={"help": help_text, "read_from": read_from, "row": row})


def rows_of(kind: type) -> tuple[Row, ...]:
    """Return a row for each field that declares a metric, with the name of the field."""
    return tuple(
        replace(
            Row(found.name, found.metadata["help"], found.name),
            **found.metadata["row"],
        )
        for found in fields(kind)
        if "help" in found.metadata
    )


def read_from(kind: type) -> Mapping[str, str]:
    """Return the kernel's names of fields, by field; fields without one are left out."""
    sources = ((found.name, found.metadata.get("read_from")) for found in fields(kind))
    return {name: source for name, source in sources if source}


def families(prefix: str, items: Items, *rows: Row) -> tuple[Family, ...]:
    """Return one family for each row, with a sample for each item with a value."""
    once = replace(items, read=_once(items.read))
    return tuple(row.family(prefix, once) for row in rows)


def _once(read: Read) -> Read:
    """Return a function that reads the items of a snapshot once for all families in a row."""
    last: list[tuple[Snapshot, list[tuple[tuple[str, ...], Any]]]] = []

    def items(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], Any]]:
        if not last or last[0][0] is not snapshot:
            last[:] = [(snapshot, [*read(snapshot)])]
        return last[0][1]

    return items


def reading(kind: type) -> Items:
    """Return the reading of this class as the only item, without labels."""

    def read(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], Any]]:
        value = snapshot.reading(kind)
        return () if value is None else (((), value),)

    return Items((), kind, read)


def each(kind: type[R], items: Callable[[R], Iterable[I]], item: type[I], *labels: str) -> Items:
    """Return the items of a reading; each label is the item's field of that name.

    A field of a field, such as `workload.pod`, is named by its last part.
    """
    getters = [attrgetter(label) for label in labels]

    def read(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], Any]]:
        value = snapshot.reading(kind)
        for one in () if value is None else items(value):
            yield tuple(get(one) for get in getters), one

    return Items(tuple(label.rpartition(".")[2] for label in labels), item, read)


def info(
    name: str, help_text: str, items: Items, labels: tuple[str, ...], fields: tuple[str, ...] = ()
) -> Family:
    """Return a family with the value 1 and fields of the item as labels, empty if unknown."""
    getters = [attrgetter(field) for field in fields or labels]

    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        for own, item in items.read(snapshot):
            yield (*own, *(_text(get(item)) for get in getters)), 1

    return Family(name, help_text, type_of(name), (*items.labels, *labels), samples)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _state_set(value: str, states: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    known = states if value in states else (*states, value)
    return tuple((state, int(state == value)) for state in known)


def _sparing(
    samples: Callable[[Snapshot], Iterable[Sample]], allowed: int
) -> Callable[[Snapshot], Iterable[Sample]]:
    def sparing(snapshot: Snapshot) -> Iterable[Sample]:
        every = list(samples(snapshot))
        return every if len(every) <= allowed else [sample for sample in every if sample[1]]

    return sparing
