"""Counters of drivers: what each driver calls them, and that they are of the right interface."""

import ctypes
import errno
import os
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.network.ethtool import (
    CLONE_NEWNET,
    DRIVER,
    GET_DRIVER,
    NOT_OURS,
    STRING_BYTES,
    STRINGS,
    VALUE_BYTES,
    VALUES,
    Ask,
    EthtoolReader,
    chosen_of,
    opened_in,
    statistics_of,
)
from exporter.collectors.network.families import DRIVER_FAMILIES
from exporter.collectors.network.interfaces import OwnRoots
from exporter.collectors.network.values import DriverCounters, NicCounters
from exporter.config import Devices
from exporter.model.reading import Missing, Reading
from exporter.reading.source import SourceAbsent
from exporter.toml import tomllib
from tests.collectors.small_node import SmallNode
from tests.fakes.ethtool import FakeDrivers, Statistics
from tests.web.serving import snapshot

PCI = "0000:17:00.0"

DRIVERS = tomllib.loads(Path(__file__).with_name("ethtool.toml").read_text("utf-8"))
MLX5: Statistics = DRIVERS["mlx5_core"]["statistics"]


def adapter(node: SmallNode, name: str = "eth0", pci: str = PCI) -> None:
    """An interface with hardware behind it."""
    node.interface(name, pci=pci)


def read(node: SmallNode, ask: Ask, limit: int = 16) -> Reading[object]:
    """What is read of a node whose drivers answer so."""

    @contextmanager
    def opened(_: Path) -> Iterator[Ask]:
        yield ask

    devices, own = Devices(max_per_kind=limit), OwnRoots(node.proc, node.sys)
    return EthtoolReader(node.proc, node.sys, devices, own=own, open_in=opened).read()


def look(
    node: SmallNode, adapters: Mapping[str, tuple[str, Statistics]], limit: int = 16
) -> Reading[object]:
    """What is read of a node whose adapters have these addresses and statistics."""
    return read(node, FakeDrivers(lambda: adapters).ask, limit)


@pytest.mark.parametrize("driver", DRIVERS)
def test_each_driver_says_the_same_in_its_words(node: SmallNode, driver: str) -> None:
    """What it does not count is absent, not zero."""
    adapter(node)
    (nic,) = look(node, {"eth0": (PCI, DRIVERS[driver]["statistics"])}).value.nics  # type: ignore[attr-defined]  # DriverCounters
    rows: dict[str, Any] = {
        field: tuple(map(tuple, value)) if isinstance(value, list) else value
        for field, value in DRIVERS[driver]["counted"].items()
    }
    assert nic == NicCounters("eth0", **rows)


def test_pauses_are_those_of_priorities_and_of_the_link() -> None:
    """Added up where both are counted, and not known where neither is."""
    ice, ena = (chosen_of("eth0", DRIVERS[name]["statistics"]) for name in ("ice", "ena"))
    assert (ice.pauses_received, ice.pauses_sent) == (10, 12)
    assert (ena.pauses_received, ena.pauses_sent) == (None, None)


@pytest.mark.parametrize("driver", DRIVERS)
def test_an_adapter_adds_few_series(driver: str) -> None:
    """Also if PFC was used on every priority; a priority without a frame has no series."""
    every = {
        name.replace("3", str(each)).replace("pri5", f"pri{each}"): number
        for name, number in DRIVERS[driver]["statistics"].items()
        for each in range(8)
    }
    seen = snapshot(readings={DriverCounters: DriverCounters((chosen_of("eth0", every),))})
    assert sum(len(list(family.samples(seen))) for family in DRIVER_FAMILIES) <= 27
    idle = DriverCounters((chosen_of("eth0", dict.fromkeys(every, 0)),))
    seen = snapshot(readings={DriverCounters: idle})
    assert sum(len(list(family.samples(seen))) for family in DRIVER_FAMILIES) <= 11


def test_only_physical_interfaces_that_are_on_are_asked(node: SmallNode) -> None:
    """Neither what containers have, nor bonds, nor virtual functions, nor what answers zeros."""
    adapter(node, "eth0")
    adapter(node, "eth0v0", "0000:17:00.2")
    adapter(node, "eth1", "0000:17:00.1")
    node.write("sys/class/net/eth1/flags", "0x1002\n")
    node.link("sys/devices/pci0000:00/0000:17:00.2/physfn", f"sys/devices/pci0000:00/{PCI}")
    for name in ("veth1", "cali2", "bond0", "br0"):
        node.interface(name)
    asked = {"eth0": (PCI, MLX5), "eth0v0": ("0000:17:00.2", MLX5)}
    asked["eth1"] = ("0000:17:00.1", MLX5)
    asked |= dict.fromkeys(("veth1", "cali2", "bond0", "br0"), (PCI, MLX5))
    reading = look(node, asked)
    assert [nic.device for nic in reading.value.nics] == ["eth0"]  # type: ignore[attr-defined]  # DriverCounters


@pytest.mark.parametrize("address", ["", "0000:18:00.0", "virtio0"])
def test_an_interface_of_another_namespace_is_not_taken_for_the_nodes(
    node: SmallNode, address: str
) -> None:
    """The driver that answers is at another place than sysfs says."""
    adapter(node)
    with pytest.raises(SourceAbsent, match="in the host network"):
        look(node, {"eth0": (address, MLX5)})


def test_one_adapter_that_does_not_answer_costs_only_itself(node: SmallNode) -> None:
    """It is named with the reason; the others are read, at most so many."""
    for number in range(3):
        adapter(node, f"eth{number}", f"0000:{number + 1:02x}:00.0")
    answers = {f"eth{number}": (f"0000:{number + 1:02x}:00.0", MLX5) for number in (1, 2)}
    reading = look(node, answers, limit=2)
    assert [nic.device for nic in reading.value.nics] == ["eth1"]  # type: ignore[attr-defined]  # DriverCounters
    assert reading.missing == (Missing("eth0", NOT_OURS),)


def test_without_adapters_or_counters_the_source_is_absent(node: SmallNode) -> None:
    """A virtual machine has a driver that counts none of this."""
    node.interface("veth1")
    with pytest.raises(SourceAbsent, match="pod's own"):
        look(node, {})
    adapter(node)
    with pytest.raises(SourceAbsent, match="no driver has such counters"):
        look(node, {"eth0": (PCI, {"rx_queue_0_packets": 5})})


def test_statistics_that_change_while_they_are_read_are_left_out(node: SmallNode) -> None:
    """A queue is added between two commands: no number is given to the wrong name."""
    adapter(node)
    answers = iter([MLX5, {"new": 1, **MLX5}, {"new": 1, **MLX5}])

    def ask(name: str, command: bytearray) -> None:
        statistics = next(answers)
        FakeDrivers(lambda: {name: (PCI, statistics)}).ask(name, command)

    with pytest.raises(SourceAbsent, match="changed its statistics"):
        read(node, ask)


def test_a_driver_with_too_many_statistics_is_not_asked_for_them(node: SmallNode) -> None:
    """What a driver says of itself is not believed without a limit."""
    adapter(node)

    def ask(_: str, command: bytearray) -> None:
        words = (b"", b"", b"", PCI.encode(), b"", b"", 0, 2**32 - 1, 0, 0, 0)
        DRIVER.pack_into(command, 0, GET_DRIVER, *words)

    with pytest.raises(SourceAbsent, match="4294967295 statistics"):
        read(node, ask)


def real_adapter() -> tuple[str, str] | None:
    """An interface of this machine on PCI, with its address, None without one."""
    folder = Path("/sys/class/net")
    links = ((link.name, (link / "device").resolve()) for link in sorted(folder.glob("*")))
    found = (
        (name, [part for part in place.parts if part.count(":") == 2]) for name, place in links
    )
    return next(((name, parts[-1]) for name, parts in found if parts), None)


def test_the_kernel_of_this_machine_answers() -> None:
    """The real ioctl: the driver is at the address that sysfs says, and its names are read."""
    found = real_adapter()
    if found is None:
        pytest.skip("no network interface on PCI")
    name, address = found
    with opened_in(Path("/proc/self/ns/net")) as ask:
        statistics_of(ask, name, address)
        with pytest.raises(OSError, match="in the host network"):
            statistics_of(ask, name, "0000:ff:1f.7")
        with pytest.raises(OSError, match=os.strerror(errno.ENODEV)):
            statistics_of(ask, "no-such-nic", address)


@pytest.mark.system
def test_a_veth_answers_the_real_ioctl() -> None:
    """A real driver's names and values are read; without a PCI device they are no adapter's."""
    names = ("hwtest-a", "hwtest-b")
    made = ["ip", "link", "add", names[0], "type", "veth", "peer", "name", names[1]]
    if shutil.which("ip") is None:
        pytest.skip("ip (iproute2) is not installed")
    if subprocess.run(made, capture_output=True, timeout=30, check=False).returncode:
        pytest.skip("no right to make a network interface")
    answers: list[bytes] = []
    try:
        with opened_in(Path("/proc/self/ns/net")) as ask:

            def on_pci(name: str, command: bytearray) -> None:
                ask(name, command)
                if not answers:
                    words = DRIVER.unpack(command)
                    DRIVER.pack_into(command, 0, *words[:4], PCI.encode(), *words[5:])
                answers.append(bytes(command))

            with pytest.raises(OSError, match="in the host network"):
                statistics_of(ask, names[0], PCI)
            assert statistics_of(on_pci, names[0], PCI) == {}
            peer = socket.if_nametoindex(names[1])
    finally:
        subprocess.run(["ip", "link", "del", names[0]], timeout=30, check=True)
    driver, strings, values = answers
    count = DRIVER.unpack(driver)[8]
    read = {
        strings[start : start + STRING_BYTES].rstrip(b"\0"): struct.unpack_from(
            "=Q", values, place
        )[0]
        for start, place in zip(
            range(STRINGS.size, STRINGS.size + STRING_BYTES * count, STRING_BYTES),
            range(VALUES.size, VALUES.size + VALUE_BYTES * count, VALUE_BYTES),
            strict=True,
        )
    }
    assert read[b"peer_ifindex"] == peer


def test_commands_reach_another_network_namespace() -> None:
    """There only `lo` is, without a driver; this thread is in its own namespace again."""
    ready, done = threading.Event(), threading.Event()
    place: list[Path] = []

    def live_apart() -> None:
        if not ctypes.CDLL(None).unshare(CLONE_NEWNET):
            place.append(Path(f"/proc/self/task/{threading.get_native_id()}/ns/net"))
        ready.set()
        done.wait()

    apart = threading.Thread(target=live_apart, daemon=True)
    apart.start()
    ready.wait()
    try:
        if not place:
            pytest.skip("no right to make a network namespace")
        before = {name for _, name in socket.if_nameindex()}
        with opened_in(place[0]) as ask:
            assert {name for _, name in socket.if_nameindex()} == before
            for name in before - {"lo"}:
                with pytest.raises(OSError, match=os.strerror(errno.ENODEV)):
                    ask(name, bytearray(STRINGS.pack(GET_DRIVER, 0, 0)).ljust(DRIVER.size, b"\0"))
    finally:
        done.set()
        apart.join()
