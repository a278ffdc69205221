"""Services as systemd describes them on the system bus.

https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.systemd1.html
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from exporter.collectors.services.bus import Answer, Bus, MethodCall, Refusal
from exporter.collectors.services.values import Service, Services
from exporter.model.label import clean_text
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent, SourceFailed

DEADLINE_SECS = 1.5
"""Less than that of the source, so that the reason is told."""
BUS, SYSTEMD = "org.freedesktop.DBus", "org.freedesktop.systemd1"
HELLO = MethodCall(BUS, "/org/freedesktop/DBus", f"{BUS}.Hello")
PROPERTIES = {
    "UnitFileState": (f"{SYSTEMD}.Unit", str),
    "ConditionResult": (f"{SYSTEMD}.Unit", int),
    "StateChangeTimestamp": (f"{SYSTEMD}.Unit", int),
    "Result": (f"{SYSTEMD}.Service", str),
    "Type": (f"{SYSTEMD}.Service", str),
    "NRestarts": (f"{SYSTEMD}.Service", int),
}
"""The properties that are asked for: their interface and type. NRestarts is there since 235."""
OF_ACTIVE = ("UnitFileState", "StateChangeTimestamp", "NRestarts")
"""Those of a unit that runs: the others tell why a unit does not."""
MAX_NAMES = 5
ABSENT = ("NameHasNoOwner", "ServiceUnknown", "UnknownMethod")
MICROSECONDS = 1_000_000


def read_services(socket: Path, nvswitches: Path, names: Iterable[str]) -> Reading[Services]:
    """Ask for these services now; raise SourceAbsent without bus or systemd, or SourceFailed."""
    bus = Bus(socket, DEADLINE_SECS)
    try:
        units = tuple(f"{name}.service" for name in names)
        calls = (
            _of_manager("ListUnitsByNames", units),
            _of_manager("ListUnitsFiltered", ("failed",)),
        )
        hello, named, failed = bus.ask((HELLO, *calls))
        _rows(hello)
        # A unit that is asked for by an alias too is told twice, with its own name.
        loaded = sorted({row for row in _rows(named) if row[2] == "loaded"})
        answers = iter(bus.ask([_get(row[6], name) for row in loaded for name in _asked(row)]))
        services = tuple(_service(row, answers) for row in loaded)
    finally:
        bus.close()
    failures = sorted(clean_text(row[0]) for row in _rows(failed))
    more = f" and {len(failures) - MAX_NAMES} more" if len(failures) > MAX_NAMES else ""
    shown = ", ".join(failures[:MAX_NAMES]) + more
    return Reading(Services(services, len(failures), shown, any(nvswitches.glob("*"))))


def _of_manager(method: str, argument: tuple[str, ...]) -> MethodCall:
    path = "/org/freedesktop/systemd1"
    return MethodCall(SYSTEMD, path, f"{SYSTEMD}.Manager.{method}", (argument,))


def _get(path: str, name: str) -> MethodCall:
    return MethodCall(SYSTEMD, path, f"{BUS}.Properties.Get", (PROPERTIES[name][0], name))


def _rows(answer: Answer) -> list[tuple[Any, ...]]:
    """Return the units of a list: name, description, load, active and sub state, …, path."""
    if isinstance(answer, Refusal):
        is_absent = answer.name.rpartition(".")[2] in ABSENT
        text = clean_text(answer.text or answer.name)
        raise (SourceAbsent if is_absent else SourceFailed)(f"systemd on the system bus: {text}")
    rows = answer[0] if answer and isinstance(answer[0], list) else []
    for row in rows:
        if not isinstance(row, tuple) or [type(each) for each in row[:7]] != [str] * 7:
            raise SourceFailed("the list of units cannot be understood")
    return rows


def _asked(row: tuple[Any, ...]) -> Iterable[str]:
    return OF_ACTIVE if row[3] == "active" else PROPERTIES


def _service(row: tuple[Any, ...], answers: Iterator[Answer]) -> Service:
    """Return the service of a row; take the answers of its properties."""
    found: dict[str, Any] = {
        name: answer[0]
        for name, answer in zip(_asked(row), answers, strict=False)
        if not isinstance(answer, Refusal) and answer and isinstance(answer[0], PROPERTIES[name][1])
    }
    changed, condition = found.get("StateChangeTimestamp"), found.get("ConditionResult")
    return Service(
        clean_text(row[0].removesuffix(".service")),
        clean_text(row[3]),
        clean_text(row[4]),
        found.get("UnitFileState") or None,
        found.get("Result"),
        None if condition is None else bool(condition),
        changed / MICROSECONDS if changed else None,
        found.get("NRestarts"),
        found.get("Type"),
    )
