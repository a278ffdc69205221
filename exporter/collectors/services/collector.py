"""The collector of services of systemd, and what rules see of them."""

from collections.abc import Iterable
from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.gpu.values import Gpus
from exporter.collectors.services.values import Service, Services
from exporter.exposition.rows import Row, each, families, reading, rows_of
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.entities.node import NodeField, NodeFields, field_of
from exporter.faults.subject import CollectorSubject
from exporter.faults.values import Entity, FieldType, Type
from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge
from exporter.reading.context import SourceContext
from exporter.reading.source import SourceAbsent

SOCKET = "run/dbus/system_bus_socket"
NVSWITCHES = "driver/nvidia-nvswitch/devices"
TIME_SERVICES = (
    "chrony",
    "chronyd",
    "ntp",
    "ntpd",
    "ntpd-rs",
    "ntpsec",
    "openntpd",
    "phc2sys",
    "ptp4l",
    "ptpd",
    "sfptpd",
    "systemd-timesyncd",
    "timemaster",
    "ts2phc",
)
"""Services that keep the clock, in all distributions; of a template, its name."""
READINGS_OF_AN_ANSWER = 2
"""Half the cost: asking takes more processor time than reading most files of the kernel."""


class ServicesReader:
    """Asks systemd on the system bus of the node; each answer serves two readings."""

    def __init__(self, socket: Path, nvswitches: Path, names: Iterable[str]) -> None:
        self._socket = socket
        self._nvswitches = nvswitches
        self._names = tuple(names)
        self._answers: list[Reading[Services]] = []

    def read(self) -> Reading[Services]:
        """Return an answer; raise SourceAbsent without a system bus or systemd, or SourceFailed."""
        if not self._socket.exists():
            raise SourceAbsent(f"{self._socket} is not there")
        if not self._answers:
            self._answers = [self._ask()] * READINGS_OF_AN_ANSWER
        return self._answers.pop()

    def _ask(self) -> Reading[Services]:
        from exporter.collectors.services.systemd import (  # noqa: PLC0415 - not without a bus
            read_services,
        )

        return read_services(self._socket, self._nvswitches, self._names)


def _reader(ctx: SourceContext) -> ServicesReader:
    names = ctx.config.sources.services
    return ServicesReader(ctx.root / SOCKET, ctx.proc / NVSWITCHES, names)


def _services(snapshot: Snapshot) -> Iterable[Entity]:
    found = snapshot.reading(Services)
    for service in found.services if found else ():
        fields = FieldsOf(service, _GETTERS)
        yield Entity(("service", service.service), service.service, fields)


def _keep_the_clock(snapshot: Snapshot) -> Iterable[Edge]:
    """Yield that services that keep the clock run in the node."""
    found = snapshot.reading(Services)
    for service in found.services if found else ():
        if service.service.partition("@")[0] in TIME_SERVICES:
            yield Edge("runs_in", ("service", service.service), ("node", snapshot.node))


def _nvlink_fabric(snapshot: object) -> str | None:
    """Return which NVLink fabric GPUs of this node are in: none, node or rack; None if unknown.

    Older drivers report no fabric of a board with NVSwitches: those switches tell.
    """
    if not isinstance(snapshot, Snapshot):
        return None
    gpus, services = snapshot.reading(Gpus), snapshot.reading(Services)
    members = [each.gpu for each in gpus.states if each.gpu.fabric_state] if gpus else []
    if members:
        return "rack" if any(gpu.is_in_rack_fabric for gpu in members) else "node"
    if services is not None and services.has_nvswitches:
        return "node"
    return None if gpus is None else "none"


_GETTERS = getters_of(Service)

COLLECTOR = Collector(
    "services",
    sources=(
        files(
            "services",
            "services",
            _reader,
            about=About(
                "systemd on `/run/dbus/system_bus_socket`",
                "`hw_service_*`, `hw_node_failed_units`",
                "the socket, in a container mounted under `/host`",
                without="absent",
            ),
        ),
    ),
    values=(Services,),
    families=(
        *families(
            "hw_service_",
            each(Services, lambda found: found.services, Service, "service"),
            Row(
                "active",
                "Service state of systemd: 1 when it runs.",
                never_bad="a service may be stopped on purpose; rules evaluate those enabled",
            ),
            Row(
                "enabled",
                "Whether systemd starts the service at boot.",
                never_bad="it is a choice",
            ),
            *rows_of(Service),
        ),
        *families("hw_node_", reading(Services), *rows_of(Services)),
    ),
    subject=CollectorSubject(
        kinds=(
            Kind(
                "service",
                "service",
                names_of(Service),
                _services,
                Services,
                relate=_keep_the_clock,
                ends=True,
            ),
        ),
        node=NodeFields(
            computed={
                "failed_units": field_of(Type.NUMBER, Services, lambda it: it.failed_units),
                "failed_unit_names": field_of(Type.TEXT, Services, lambda it: it.failed_names),
                "nvlink_fabric": NodeField(FieldType(Type.TEXT), _nvlink_fabric),
            }
        ),
    ),
    rules=Path(__file__).parent / "rules",
)
