"""Counters of the drivers of network adapters, as `ethtool -S` prints them, by ioctl.

The commands are those of include/uapi/linux/ethtool.h; the three that are sent need no capability
(net/ethtool/ioctl.c, dev_ethtool). Drivers name their counters as they like: the tables below say
what mlx5_core, bnxt_en, ice, i40e, ixgbe and ena call the same.

An ioctl reaches the network namespace of its socket. A socket is opened in the namespace of
process 1 where that may be entered, else in our own; an answer counts only if the driver names the
PCI address that sysfs has for the interface: an eth0 of a pod is never taken for the node's.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from exporter.collectors.network.interfaces import (
    OWN_ROOTS,
    OwnRoots,
    is_the_nodes,
    net_folder,
    parse_admin_up,
    parse_names,
)
from exporter.collectors.network.values import DriverCounters, NicCounters
from exporter.collectors.pcie.address import is_subfunction, pci_address, pci_address_of
from exporter.config import Devices
from exporter.model.reading import Reading
from exporter.reading.device_filter import shown
from exporter.reading.files import is_there, read_text
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader

SIOCETHTOOL = 0x8946
GET_DRIVER, GET_STRINGS, GET_STATISTICS = 0x03, 0x1B, 0x1D
STATISTICS = 1
REQUEST = struct.Struct("16sP16x")
"""`struct ifreq`: the name of the interface, and where the command is."""
DRIVER = struct.Struct("=I32s32s32s32s32s12s5I")
"""Command, driver, versions, bus address, more versions; how many flags, statistics, …"""
STRINGS, VALUES = struct.Struct("=3I"), struct.Struct("=2I")
STRING_BYTES, VALUE_BYTES = 32, 8
MAX_STATISTICS = 50_000
CLONE_NEWNET = 0x40000000
MICROSECONDS = 1e-6
NOT_OURS = "drivers of the node can only be asked in the host network (hostNetwork)"

PRIORITIES = tuple("01234567")
ALLOWANCES = ("bw_in", "bw_out", "pps", "conntrack", "linklocal")
LABELED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "receive_pfc_frames": (
        PRIORITIES,
        (
            *("rx_prio{}_pause", "rx_pfc_ena_frames_pri{}", "rx_priority_{}_xoff.nic"),
            *("port.rx_priority_{}_xoff", "port.rx_priority_{}_xoff_rx", "rx_pb_{}_pxoff"),
        ),
    ),
    "transmit_pfc_frames": (
        PRIORITIES,
        (
            *("tx_prio{}_pause", "tx_pfc_ena_frames_pri{}", "tx_priority_{}_xoff.nic"),
            *("port.tx_priority_{}_xoff", "port.tx_priority_{}_xoff_tx", "tx_pb_{}_pxoff"),
        ),
    ),
    "allowance_exceeded": (ALLOWANCES, ("{}_allowance_exceeded",)),
}
"""Fields with a number for each label: the labels, and the names of drivers, `{}` for the label."""

SUMMED: Mapping[str, tuple[str, ...]] = {
    "receive_pause_frames": (
        *("rx_global_pause", "rx_pause_frames", "link_xoff_rx.nic", "port.link_xoff_rx"),
        "rx_flow_control_xoff",
    ),
    "transmit_pause_frames": (
        *("tx_global_pause", "tx_pause_frames", "link_xoff_tx.nic", "port.link_xoff_tx"),
        "tx_flow_control_xoff",
    ),
    "receive_pause_seconds": (
        *("rx_prio{}_pause_duration", "rx_global_pause_duration", "pfc_pri{}_rx_duration_us"),
    ),
    "pause_storms": ("tx_pause_storm_error_events", "continuous_roce_pause_events"),
    "receive_discards": (
        *("rx_discards_phy", "rx_discard_packets_cos{}", "rx_dropped.nic"),
        *("port.rx_discards", "port.rx_dropped", "rx_missed_errors"),
    ),
    "receive_no_buffer": (
        *("rx_out_of_buffer", "rx_total_ring_discards", "rx_total_discard_pkts"),
        *("rx_no_dma_resources", "rx_no_buffer_count"),
    ),
    "transmit_discards": ("tx_discards_phy", "tx_total_ring_discards", "tx_total_discard_pkts"),
    "fec_corrected_bits": ("rx_corrected_bits_phy", "rx_corrected_bits"),
    "fec_uncorrectable_blocks": ("rx_fec_uncorrectable_blocks",),
    "symbol_errors": ("rx_pcs_symbol_err_phy", "rx_pcs_symbol_err", "rx_symbol_err_phy"),
    "receive_crc_errors": (
        *("rx_crc_errors_phy", "rx_fcs_err_frames", "rx_crc_errors.nic"),
        *("port.rx_crc_errors", "rx_crc_errors"),
    ),
}
"""Fields with one number: the names of drivers, of which the first that the driver has counts.

`{}` stands for each priority or queue class, whose numbers are added up.
"""

Ask: TypeAlias = Callable[[str, bytearray], None]
"""Sends a command to an interface; the answer replaces the command. Raises OSError."""

Open: TypeAlias = Callable[[Path], AbstractContextManager[Ask]]
"""Opens what commands are sent through, in the network namespace at a path."""


class EthtoolReader:
    """Asks the drivers of the interfaces that are physical functions on PCI."""

    def __init__(
        self,
        proc_root: Path,
        sys_root: Path,
        devices: Devices,
        *,
        own: OwnRoots = OWN_ROOTS,
        open_in: "Open | None" = None,
    ) -> None:
        self._proc, self._folder = proc_root, sys_root / "class/net"
        self._own = own
        self._open_in = open_in or opened_in
        self._is_shown = shown(devices.network_exclude, devices.network_include)
        self._limit = devices.max_per_kind

    def read(self) -> Reading[DriverCounters]:
        """Ask every driver once; raise SourceAbsent where none has a counter that is exported."""
        fields = FieldReader()
        adapters = self._adapters()
        if not adapters:
            raise SourceAbsent(f"{self._folder}: no interface that is switched on is a PCI device")
        nics = []
        with self._open_in(self._proc / "1/ns/net") as ask:
            for name, address in adapters[: self._limit]:
                try:
                    nics.append(chosen_of(name, statistics_of(ask, name, address)))
                except OSError as error:
                    is_elsewhere = error.errno == errno.ENODEV
                    fields.skip(name, NOT_OURS if is_elsewhere else str(error.strerror))
        found = tuple(nic for nic in nics if nic != NicCounters(nic.device))
        if not found:
            reasons = [missing.reason for missing in fields.missing]
            raise SourceAbsent("; ".join(dict.fromkeys(reasons)) or "no driver has such counters")
        return Reading(DriverCounters(found), fields.missing)

    def _adapters(self) -> list[tuple[str, str]]:
        """Return the physical interfaces of the node with their PCI addresses, by name."""
        names = parse_names(read_text(net_folder(self._proc) / "dev"))
        if not is_the_nodes(self._proc, names, self._own):
            raise SourceAbsent("only a pod's own network can be seen")
        chosen = (name for name in sorted(names) if self._is_shown(name) and self._counts(name))
        addresses = ((name, pci_address_of(f"{self._folder}/{name}/device")) for name in chosen)
        return [(name, address) for name, address in addresses if address]

    def _counts(self, name: str) -> bool:
        """Tell whether an interface is no function of an adapter, and is not switched off.

        Of an interface that is switched off, bnxt_en answers zeros (bnxt_get_ethtool_stats), and
        its counts again afterwards: they would look like new ones.
        """
        folder = f"{self._folder}/{name}"
        is_on = parse_admin_up(FieldReader().text("flags", f"{folder}/flags"))
        link = f"{folder}/device"
        is_function = is_subfunction(link) or is_there(f"{link}/physfn")
        return is_on is not False and not is_function


def statistics_of(ask: Ask, name: str, address: str) -> dict[str, int]:
    """Return the statistics of an interface that are exported, by the driver's names.

    Raise OSError if the driver has none, or is not at this PCI address.
    """
    driver = bytearray(DRIVER.size)
    STRINGS.pack_into(driver, 0, GET_DRIVER, 0, 0)
    ask(name, driver)
    words = DRIVER.unpack(driver)
    if pci_address(_text(words[4])) != address:
        raise OSError(errno.ENODEV, NOT_OURS)
    count = words[8]
    if count > MAX_STATISTICS:
        raise OSError(0, f"the driver has {count} statistics")
    # The kernel writes as many as there are when it answers: more, if queues were added since.
    room = 2 * count + MAX_STATISTICS // 50
    strings = bytearray(STRINGS.size + STRING_BYTES * room)
    STRINGS.pack_into(strings, 0, GET_STRINGS, STATISTICS, count)
    ask(name, strings)
    values = bytearray(VALUES.size + VALUE_BYTES * room)
    VALUES.pack_into(values, 0, GET_STATISTICS, count)
    ask(name, values)
    if STRINGS.unpack_from(strings)[2] != count or VALUES.unpack_from(values)[1] != count:
        raise OSError(0, "the driver changed its statistics meanwhile")
    end = STRINGS.size + STRING_BYTES * count
    return {
        known: struct.unpack_from("=Q", values, VALUES.size + VALUE_BYTES * place)[0]
        for place, known in _places(bytes(strings[STRINGS.size : end]))
    }


@lru_cache(maxsize=8)
def _places(strings: bytes) -> tuple[tuple[int, str], ...]:
    """Find the names that are exported among the thousands of a driver, with their places."""
    wanted = _wanted()
    names = (
        _text(strings[start : start + STRING_BYTES])
        for start in range(0, len(strings), STRING_BYTES)
    )
    return tuple((place, name) for place, name in enumerate(names) if name in wanted)


@lru_cache(maxsize=1)
def _wanted() -> frozenset[str]:
    summed = (_filled(name, PRIORITIES) for names in SUMMED.values() for name in names)
    labeled = (_filled(name, labels) for labels, names in LABELED.values() for name in names)
    return frozenset(chain(*summed, *labeled))


def chosen_of(device: str, statistics: Mapping[str, int]) -> NicCounters:
    """Return the counters of an interface from statistics by the driver's names."""
    found: dict[str, object] = {}
    for field, (labels, names) in LABELED.items():
        rows = (
            tuple(
                (label, statistics[each])
                for label, each in zip(labels, _filled(name, labels), strict=True)
                if each in statistics
            )
            for name in names
        )
        found[field] = next(filter(None, rows), ())
    for field, names in SUMMED.items():
        sums = (_sum(statistics, name) for name in names)
        found[field] = next((number for number in sums if number is not None), None)
    micros = found["receive_pause_seconds"]
    if isinstance(micros, int):
        found["receive_pause_seconds"] = micros * MICROSECONDS
    return NicCounters(device, **found)  # type: ignore[arg-type]  # the fields are those of the tables


def _sum(statistics: Mapping[str, int], name: str) -> int | None:
    names = dict.fromkeys(_filled(name, PRIORITIES))
    numbers = [statistics[each] for each in names if each in statistics]
    return sum(numbers) if numbers else None


@lru_cache(maxsize=256)  # more than there are names: they are filled in once
def _filled(name: str, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the name that a driver has for each label."""
    return tuple(name.format(label) for label in labels)


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("ascii", "replace")


@contextmanager
def opened_in(namespace: Path) -> Iterator[Ask]:
    """Open a socket for commands in a network namespace, in our own where that is the same.

    Our own is also used where the other cannot be seen; raise SourceAbsent where it may not be
    entered.
    """
    with _socket_in(namespace) as opened:

        def ask(name: str, command: bytearray) -> None:
            held = (ctypes.c_char * len(command)).from_buffer(command)
            request = REQUEST.pack(os.fsencode(name), ctypes.addressof(held))
            fcntl.ioctl(opened, SIOCETHTOOL, request)

        yield ask


def _socket_in(namespace: Path) -> socket.socket:
    own = Path("/proc/thread-self/ns/net")
    try:
        is_own = namespace.samefile(own)
    except OSError:
        is_own = True  # not for us to see; the addresses of the drivers will tell
    if is_own:
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with own.open("rb") as back, namespace.open("rb") as there:
        try:
            _enter(there.fileno())
        except OSError as error:
            raise SourceAbsent(
                "the network namespace of the node cannot be entered: run in the host network,"
                f" or with CAP_SYS_ADMIN ({error.strerror})"
            ) from error
        try:
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        finally:
            _enter(back.fileno())


def _enter(namespace: int) -> None:
    """Move this thread to a network namespace; raise OSError."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
