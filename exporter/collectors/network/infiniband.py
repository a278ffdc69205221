"""Ports of InfiniBand and RoCE cards, from /sys/class/infiniband.

https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband

The firmware refuses counters to restricted functions, and the driver logs each refusal in the
kernel log: counters of a port that were refused once are not read again, until the driver is loaded
anew.
A port that does not even say its state refuses nothing: its card has failed or is being reset.
Nor does a read that fails for want of something (a descriptor, memory, a firmware that is ready).
"""

import errno
import os
import re
from pathlib import Path

from exporter.collectors.network.interfaces import with_peers
from exporter.collectors.network.values import Infiniband, InfinibandPort
from exporter.collectors.pcie.address import is_subfunction, pci_address_of
from exporter.model.reading import Labeled, Reading
from exporter.reading.files import is_there, read_text
from exporter.reading.known_good import KnownGood
from exporter.reading.seldom import Seldom
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.reading.sysfs import (
    FieldReader,
    names_in,
    names_or_none,
    parse_counter,
)
from exporter.record import replace

REFUSALS = (errno.EINVAL, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP)
"""Of a restricted function: cmd_status_to_err of mlx5, mlx4_status_to_errno, get_perf_mad."""

RATE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?) Gb/sec")
DOWN = "down"
BYTES_PER_GIGABIT = 125_000_000
# PortXmitData and PortRcvData count words of four bytes (InfiniBand specification, PortCounters).
BYTES_PER_WORD = 4
ERRORS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_rcv_constraint_errors",
    "port_xmit_constraint_errors",
    "port_xmit_discards",
    "VL15_dropped",
)
EVENTS = {
    **{
        name: name
        for name in (
            "out_of_sequence",
            "packet_seq_err",
            "implied_nak_seq_err",
            "duplicate_request",
            "local_ack_timeout_err",
            "rnr_nak_retry_err",
            "out_of_buffer",
            "np_ecn_marked_roce_packets",
            "np_cnp_sent",
            "rp_cnp_handled",
            "rp_cnp_ignored",
            "roce_adp_retrans",
            "roce_adp_retrans_to",
            "roce_slow_restart",
            "roce_slow_restart_cnps",
            "roce_slow_restart_trans",
            "rx_icrc_encapsulated",
        )
    },
    "cnpSent": "np_cnp_sent",  # irdma's names for the same
    "cnpHandled": "rp_cnp_handled",
    "RxECNMrkd": "np_ecn_marked_roce_packets",
}
SHOWN = frozenset({*ERRORS, *EVENTS, "port_rcv_data", "port_xmit_data", "port_xmit_wait"})


class InfinibandReader:
    """Reads the ports of physical cards under a sys root, at most `limit` of them."""

    def __init__(self, sys_root: Path, limit: int, known_good: KnownGood | None = None) -> None:
        self._known_good = known_good or KnownGood()
        self._folder = sys_root / "class/infiniband"
        self._limit = limit
        self._refused: dict[str, int] = {}  # the folder as it was then
        self._is_virtual: Seldom[bool] = Seldom()
        self._addresses: Seldom[str] = Seldom()

    def read(self) -> Reading[Infiniband]:
        """Read all ports now; raise SourceAbsent or SourceFailed."""
        fields = FieldReader()
        keys = [
            (device, port)
            for device in names_in(self._folder, "InfiniBand or RoCE cards")
            if not self._is_function(device)
            for port in names_or_none(f"{self._folder}/{device}/ports")
        ]
        if not keys:
            raise SourceAbsent(f"{self._folder} holds no port")
        truncated = fields.truncated(self._limit, len(keys), "ports")
        ports = (self._port(device, port, fields) for device, port in keys[: self._limit])
        return Reading(Infiniband(with_peers(list(ports), "link_layer"), truncated), fields.missing)

    def _place(self, device: str) -> tuple[str, str]:
        """Return the name and where it points: after a driver load it may be another card's."""
        try:
            return device, os.readlink(f"{self._folder}/{device}")  # noqa: PTH115 - no Path: slow
        except OSError:
            return device, ""  # gone, or a folder

    def _is_function(self, device: str) -> bool | None:
        """Whether the device is a virtual function or a subfunction of a card."""
        link = f"{self._folder}/{device}/device"
        return self._is_virtual.get(
            self._place(device), lambda: is_subfunction(link) or is_there(f"{link}/physfn")
        )

    def _port(self, device: str, port: str, fields: FieldReader) -> InfinibandPort:
        folder = f"{self._folder}/{device}/ports/{port}"
        key = f"{device}/{port}"
        state = parse_state(fields.label(f"{key} state", f"{folder}/state"))
        # A card whose firmware failed answers nothing, not its state either: that is no refusal.
        refuses = state is not None
        counters = self._counters(folder, "counters", key, fields, refuses=refuses)
        events = self._counters(folder, "hw_counters", key, fields, refuses=refuses)
        # Without a link drivers fill in a rate: mlx5 says 40 Gb/sec of any Ethernet port.
        rate = None if state == DOWN else fields.label(f"{key} rate", f"{folder}/rate")
        port_seen = InfinibandPort(
            device=device,
            port=port,
            state=state,
            phys_state=parse_state(fields.label(f"{key} phys_state", f"{folder}/phys_state")),
            link_layer=fields.label(f"{key} link_layer", f"{folder}/link_layer"),
            rate_bytes_per_second=parse_rate(rate),
            receive_bytes=_bytes(counters.get("port_rcv_data")),
            transmit_bytes=_bytes(counters.get("port_xmit_data")),
            wait=counters.get("port_xmit_wait"),
            errors=_chosen(counters, {name: name for name in ERRORS}),
            events=_chosen(events, EVENTS),
            pci_bus_id=self._addresses.get(
                self._place(device), lambda: pci_address_of(f"{self._folder}/{device}/device")
            ),
        )
        was_up = self._known_good.update(f"port {key}", is_good=port_seen.up)
        return replace(port_seen, link_was_up=was_up)

    def _counters(
        self, port_folder: str, kind: str, key: str, fields: FieldReader, *, refuses: bool
    ) -> dict[str, int]:
        """Read the counters in a folder of a port; empty if they were refused.

        A failure is remembered where it is a refusal.
        """
        result: dict[str, int] = {}
        folder = f"{port_folder}/{kind}"
        if folder in self._refused and self._refused[folder] == _inode(folder):
            fields.skip(f"{key} {kind}", "refused once, not asked again")
            return result
        for name in SHOWN.intersection(names_or_none(folder)):
            try:
                number = parse_counter(read_text(f"{folder}/{name}", 64, is_one_piece=True))
            except SourceAbsent:
                continue  # the counter has just gone
            except SourceFailed as failed:
                if refuses and getattr(failed.__cause__, "errno", None) in REFUSALS:
                    self._refused[folder] = _inode(folder)
                fields.skip(f"{key} {kind}", str(failed))
                return {}
            if number is None:
                fields.skip(f"{key} {name}", "does not hold a counter")
            else:
                result[name] = number
        return result


def _inode(folder: str) -> int:
    """Return the number of a folder, another one after its driver was loaded; 0 without it."""
    try:
        return os.stat(folder).st_ino  # noqa: PTH116 - no Path: slow
    except OSError:
        return 0  # it has just gone


def parse_state(text: str | None) -> str | None:
    """Parse the name of a state: `4: ACTIVE` is active (drivers/infiniband/core/sysfs.c)."""
    if text is None:
        return None
    number, colon, word = text.partition(":")
    return word.strip().lower() or None if colon and number.isdigit() else None


def parse_rate(text: str | None) -> float | None:
    """Parse bytes per second from `400 Gb/sec (4X NDR)`; None without a rate."""
    match = RATE.match(text or "")
    rate = float(match[1]) * BYTES_PER_GIGABIT if match else 0.0
    return rate or None


def _bytes(words: int | None) -> int | None:
    return None if words is None else words * BYTES_PER_WORD


def _chosen(counters: dict[str, int], names: dict[str, str]) -> Labeled:
    return tuple(
        (shown_as, float(counters[name])) for name, shown_as in names.items() if name in counters
    )
