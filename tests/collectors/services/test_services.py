"""Services of systemd over a system bus that answers, refuses, lies or is silent."""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from exporter.collectors.services import systemd
from exporter.collectors.services.bus import MAX_MESSAGE_BYTES, Bus
from exporter.collectors.services.collector import ServicesReader
from exporter.collectors.services.values import Service, Services
from exporter.config.defaults import SERVICES
from exporter.reading.files import FILE_DEADLINE_SECS
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.fakes.system_bus import LET_IN, SystemBus


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A node with two services, one of which failed."""
    units = tmp_path / "units"
    units.mkdir()
    (units / "containerd").write_text("active running enabled success 2")
    (units / "nvidia-fabricmanager").write_text("failed failed enabled exit-code")
    (units / "other").write_text("failed failed disabled signal")
    return tmp_path


@pytest.fixture
def bus(root: Path) -> Iterator[SystemBus]:
    """The system bus of the node."""
    found = SystemBus(root / "run/dbus/system_bus_socket", root / "units")
    yield found
    found.close()


def _reader(root: Path) -> ServicesReader:
    socket = root / "run/dbus/system_bus_socket"
    return ServicesReader(socket, root / "proc/driver/nvidia-nvswitch/devices", SERVICES)


def _services(root: Path) -> Services:
    return _reader(root).read().value


@pytest.mark.usefixtures("bus")
def test_services_that_are_installed(root: Path) -> None:
    """State, restarts and the time of the last change are told of those that are installed."""
    found = _services(root)
    containerd, fabric_manager = found.services
    assert containerd == Service(
        "containerd",
        "active",
        "running",
        "enabled",
        state_change_timestamp_seconds=1_760_000_000.5,
        restarts_total=2,
    )
    assert (containerd.active, containerd.enabled, containerd.standing) == (
        True,
        True,
        "active (running)",
    )
    assert fabric_manager.standing == "failed (exit-code)"
    assert fabric_manager.condition_met
    assert not fabric_manager.active
    assert found.failed_units == 2
    assert found.failed_names == "nvidia-fabricmanager.service, other.service"
    assert not found.has_nvswitches


@pytest.mark.usefixtures("bus")
def test_a_service_and_its_alias(root: Path) -> None:
    """Of two names of one unit systemd tells the same: it is one service."""
    (root / "units/docker").symlink_to("containerd")
    assert [it.service for it in _services(root).services] == ["containerd", "nvidia-fabricmanager"]


@pytest.mark.usefixtures("bus")
def test_names_of_many_failed_units(root: Path) -> None:
    """Of a hundred failed units the first five are named."""
    for number in range(100):
        (root / f"units/x{number:03}").write_text("failed")
    found = _services(root)
    assert found.failed_units == 102
    assert found.failed_names is not None
    assert found.failed_names.endswith("x002.service and 97 more")


@pytest.mark.usefixtures("bus")
def test_nvswitches(root: Path) -> None:
    """The driver of NVSwitches lists its devices."""
    devices = root / "proc/driver/nvidia-nvswitch/devices/0000:86:00.0"
    devices.mkdir(parents=True)
    assert _services(root).has_nvswitches


@pytest.mark.usefixtures("bus")
def test_changes_between_two_readings(root: Path) -> None:
    """Each reading tells how a service is then, also when it is again as it was."""
    reader = _reader(root)
    told = []
    for words in (
        "active running enabled success 2",
        "active running disabled success 3",
        "failed",
    ):
        for _ in range(2):
            (root / "units/containerd").write_text(words)
            service = reader.read().value.services[0]
            told.append((service.active, service.enabled, service.restarts_total))
    runs, other, failed = (True, True, 2), (True, False, 3), (False, None, 0)
    assert told == [runs, runs, other, other, failed, failed]


@pytest.mark.usefixtures("bus")
def test_an_answer_serves_two_readings(root: Path) -> None:
    """A change is seen at the second reading after it at the latest."""
    reader = _reader(root)
    before = reader.read()
    (root / "units/containerd").write_text("failed failed enabled exit-code")
    assert reader.read() is before
    assert reader.read().value.services[0].standing == "failed (exit-code)"


def test_no_bus(root: Path) -> None:
    """A node without a system bus has no such source; nothing of the client is imported."""
    with pytest.raises(SourceAbsent, match="system_bus_socket is not there"):
        _services(root)


def test_a_bus_that_disappears_and_comes_back(root: Path, bus: SystemBus) -> None:
    """The source is absent while the bus is, and answers when it is back."""
    reader = _reader(root)
    reader.read()
    bus.close()
    with pytest.raises(SourceAbsent):
        reader.read()
    again = SystemBus(bus.path, root / "units")
    assert len(reader.read().value.services) == 2
    again.close()


def test_a_socket_without_a_bus(root: Path, bus: SystemBus) -> None:
    """A socket that nobody listens at any more is a failure with its reason."""
    bus.close()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(bus.path))
    with pytest.raises(SourceFailed, match="Connection refused"):
        _services(root)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("org.freedesktop.DBus.Error.AccessDenied", SourceFailed),
        ("org.freedesktop.DBus.Error.NameHasNoOwner", SourceAbsent),
        ("org.freedesktop.DBus.Error.UnknownMethod", SourceAbsent),
    ],
)
def test_refusals(root: Path, bus: SystemBus, error: str, kind: type[Exception]) -> None:
    """A refusal fails with the words of the bus; a bus without systemd is no failure."""
    bus.denied = error
    with pytest.raises(kind, match="Sender is not authorized"):
        _services(root)


HEAD = struct.pack("<4BIII", ord("l"), 2, 0, 1, MAX_MESSAGE_BYTES, 1, 8)
NESTED = b"\1v\0" * 200
DEEP = (
    struct.pack("<4BIII", ord("l"), 2, 1, 1, len(NESTED), 1, 15)
    + bytes([5, 1])
    + b"u\0"
    + struct.pack("<I", 1)
    + bytes([8, 1])
    + b"g\0\1v\0\0"
    + NESTED
)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no message of D-Bus"),
        (HEAD, "longer than 1048576 bytes"),
        (b"l\2\0\1" + b"\xff" * 12, "longer than"),
        (b"l\2\0\1" + struct.pack("<III", 0, 1, 8) + b"\xff" * 8, "cannot be decoded"),
        (b"l\2\0\1" + struct.pack("<III", 0, 1, 8) + b"\5\1i\0\1\0\0\0", "cannot be decoded"),
        (b"l\2\0\1" + struct.pack("<III", 0, 1, 8) + b"\7\1s\0\xff\0\0\0", "cannot be decoded"),
        (DEEP, "cannot be decoded"),
        (
            b"l\4\1\1" + struct.pack("<III", MAX_MESSAGE_BYTES - 8, 1, 0) + bytes(2**20 - 8),
            "sends on",
        ),
    ],
)
def test_garbage(root: Path, bus: SystemBus, said: bytes, words: str) -> None:
    """Garbage, giant messages, deep values and endless signals each end with a reason."""
    bus.instead = said * 6 if said[1:2] == b"\4" else said
    with pytest.raises(SourceFailed, match=words):
        _services(root)


@pytest.mark.parametrize(
    "login_answer", [b"REJECTED EXTERNAL\r\n", b"220 smtp ready\r\n", b"DATA\r\nOK" + b"x" * 999]
)
def test_a_login_that_fails(root: Path, bus: SystemBus, login_answer: bytes) -> None:
    """A bus that lets nobody in, and a socket of something else, are told apart from silence."""
    bus.login_answer = login_answer
    with pytest.raises(SourceFailed, match="does not let this user in"):
        _services(root)


def test_a_bus_that_hangs_up(root: Path, bus: SystemBus) -> None:
    """A connection that ends in the middle is a failure."""
    bus.hangs_up = True
    with pytest.raises(SourceFailed, match="ended the connection: it does so"):
        _services(root)


@pytest.mark.parametrize("login_answer", [b"", b"DATA\r\n"])
def test_a_silent_bus(bus: SystemBus, login_answer: bytes) -> None:
    """A bus that does not answer costs the time that it may cost, no more."""
    bus.login_answer = login_answer
    with pytest.raises(SourceFailed, match=r"does not answer in 0\.05 s"):
        Bus(bus.path, 0.05)


def test_a_bus_that_answers_slowly(root: Path) -> None:
    """A byte now and then does not stretch the deadline."""
    path = root / "slow"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def drip() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            for byte in LET_IN:
                connection.sendall(bytes([byte]))
                connection.settimeout(0.02)
                with suppress(TimeoutError):
                    while connection.recv(99):
                        pass

    Thread(target=drip, daemon=True).start()
    with pytest.raises(SourceFailed, match="does not answer"):
        Bus(path, 0.1)
    listening.close()


def test_units_that_say_little(root: Path, bus: SystemBus) -> None:
    """Properties that an old systemd has not are unknown, not zero."""
    bus.knows_no_properties = True
    containerd = _services(root).services[0]
    assert containerd == Service("containerd", "active", "running")
    assert containerd.enabled is None


def test_the_deadline_is_less_than_that_of_the_source() -> None:
    """The reason for a silence is told before the source counts as stuck."""
    assert systemd.DEADLINE_SECS < FILE_DEADLINE_SECS
