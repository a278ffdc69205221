"""Pressure stall information (PSI): time that tasks wait for CPU, memory and I/O."""

from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.exposition.rows import Items, Row, each, families
from exporter.faults.entities.kind import Getter
from exporter.faults.entities.node import NodeField, NodeFields, of_reading
from exporter.faults.subject import CollectorSubject
from exporter.faults.values import FieldType, Type
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader, parse_counter, parse_decimal
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Pressure:
    """Waiting for one resource; `some` or all (`full`) tasks waited. Shares are 0 to 100."""

    resource: str  # cpu, memory, io, irq
    kind: str  # some, full
    seconds: float  # since boot
    avg10: float | None = None
    avg60: float | None = None
    avg300: float | None = None


@dataclass(frozen=True, slots=True)
class Pressures:
    """The pressures the kernel reports, ordered by resource and kind."""

    pressures: tuple[Pressure, ...]

    def of(self, resource: str, kind: str) -> Pressure | None:
        """Return the pressure on one resource."""
        for pressure in self.pressures:
            if (pressure.resource, pressure.kind) == (resource, kind):
                return pressure
        return None


RESOURCES = ("cpu", "memory", "io", "irq")

KINDS = ("some", "full")

MICROSECONDS_PER_SECOND = 1_000_000


class PressureReader:
    """Reads the files of `pressure` under a proc root."""

    def __init__(self, proc_root: Path) -> None:
        self._folder = proc_root / "pressure"

    def read(self) -> Reading[Pressures]:
        """Read all pressures; raise SourceAbsent where the kernel does not measure them."""
        fields = FieldReader()
        pressures: list[Pressure] = []
        for resource in RESOURCES:
            text = fields.text(resource, self._folder / resource)
            if text is None:
                continue  # irq is there since Linux 6.1; with psi=0 all answer "not supported"
            parsed = parse_pressure(resource, text)
            if not parsed:
                fields.skip(resource, "holds no total")
            pressures += parsed
        if not pressures:
            raise SourceAbsent(f"{self._folder}: the kernel does not measure pressure")
        return Reading(Pressures(tuple(pressures)), fields.missing)


def parse_pressure(resource: str, text: str) -> tuple[Pressure, ...]:
    """Parse the lines that are understood; one without a total is left out.

    All tasks waiting for a processor makes no sense for the whole node: the kernel writes zeros.
    """
    result = []
    for line in text.split("\n"):
        kind, *words = line.split() or [""]
        values = dict(word.split("=", 1) for word in words if "=" in word)
        total = parse_counter(values.get("total", ""))
        if kind in KINDS and total is not None and (resource, kind) != ("cpu", "full"):
            averages = {name: _share(values.get(name, "")) for name in ("avg10", "avg60", "avg300")}
            result.append(Pressure(resource, kind, total / MICROSECONDS_PER_SECOND, **averages))
    return tuple(result)


def _share(word: str) -> float | None:
    share = parse_decimal(word)
    return None if share is None or share > 100 else share  # noqa: PLR2004 - percent


def _of(kind: str) -> Items:
    """Return the pressure on each resource, of the kind `some` or `full`, which contain another."""
    return each(
        Pressures,
        lambda found: (one for one in found.pressures if one.kind == kind),
        Pressure,
        "resource",
    )


FAMILIES = (
    *families(
        "hw_pressure_",
        _of("some"),
        Row(
            "waiting_seconds_total",
            "Pressure stall (PSI, some): time in which at least one task waited for the resource.",
            "seconds_total",
        ),
    ),
    *families(
        "hw_pressure_",
        _of("full"),
        Row(
            "stalled_seconds_total",
            "Pressure stall (PSI, full): time in which all tasks waited for the resource at once.",
            "seconds_total",
        ),
    ),
)


def _stalled_share(resource: str, kind: str, average: str) -> Getter:
    def share(pressures: Pressures) -> float | None:
        found: float | None = getattr(pressures.of(resource, kind), average, None)
        return found

    return of_reading(Pressures, share)


_NODE_FIELDS = {
    f"pressure_{resource}_{kind}_{average}": NodeField(
        FieldType(Type.NUMBER), _stalled_share(resource, kind, average)
    )
    for resource in ("cpu", "memory", "io", "irq")
    for kind in ("some", "full")
    for average in ("avg10", "avg60", "avg300")
}

COLLECTOR = Collector(
    "pressure",
    sources=(
        files(
            "pressure",
            "pressure",
            lambda ctx: PressureReader(ctx.proc),
            about=About(
                "`/proc/pressure`",
                "`hw_pressure_waiting_seconds_total`, `hw_pressure_stalled_seconds_total`",
                "Linux 4.20, not `psi=0`",
                without="absent",
            ),
        ),
    ),
    values=(Pressures,),
    families=FAMILIES,
    subject=CollectorSubject(
        node=NodeFields(computed=_NODE_FIELDS),
    ),
)
