"""What families say of readings that a test makes."""

from collections.abc import Iterable

from exporter.collectors.everything import FAMILIES
from exporter.exposition.family import Family, Sample
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot, SourceReport


def snapshot_of(*values: object, reports: tuple[SourceReport, ...] = ()) -> Snapshot:
    """A snapshot of these readings."""
    by_type = {type(value): value for value in values}
    return Snapshot("n", 1, 1e9, 100.0, 0.5, readings=by_type, reports=reports)


def samples(name: str, seen: Snapshot) -> list[Sample]:
    """The samples of one family, in their order."""
    (family,) = (family for family in FAMILIES if family.name == name)
    return list(family.samples(seen))


def by_labels(name: str, seen: Snapshot) -> dict[tuple[str, ...], object]:
    """The samples of one family, by their labels."""
    return dict(samples(name, seen))


def lines(families: Iterable[Family], seen: Snapshot) -> list[str]:
    """The samples of these families as a page has them."""
    page = render(families, seen, Format.TEXT).body.decode()
    return [line for line in page.splitlines() if not line.startswith("#")]
