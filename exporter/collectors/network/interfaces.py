"""Network interfaces, from /proc/net/dev and /sys/class/net.

https://docs.kernel.org/networking/statistics.html
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-net

`/proc/PID/net` shows the network namespace of a process. Process 1 is the node's init if we share
its PID namespace or if its proc filesystem is mounted elsewhere. Otherwise process 1 is that of our
own pod, and only an interface with hardware shows that the pod uses the node's network.
https://docs.kernel.org/filesystems/proc.html#networking-info-in-proc-net
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from exporter.collectors.network.values import InfinibandPort, Interface, Network
from exporter.collectors.pcie.address import is_subfunction, pci_address_of
from exporter.config import Devices
from exporter.model.label import clean_text
from exporter.model.reading import Reading
from exporter.reading.device_filter import at_most, shown
from exporter.reading.files import is_there, read_text
from exporter.reading.known_good import KnownGood
from exporter.reading.pid_namespace import is_initial
from exporter.reading.source import SourceFailed
from exporter.reading.sysfs import (
    FieldReader,
    link_name,
    names_or_none,
    parse_counter,
)
from exporter.record import dataclass, replace

Port = TypeVar("Port", Interface, InfinibandPort)

ALL_COLUMNS = 16
COUNTERS = tuple(
    f"{direction}_{what}"
    for direction in ("receive", "transmit")
    for what in ("bytes", "packets", "errors", "drops")
)
BYTES_PER_MEGABIT = 125_000
IFF_UP = 1
REPRESENTOR = re.compile(r"(?:c\d{1,3})?pf\d")
"""Names of ports of functions: pf0vf3, c1pf0sf7; p0 is a port with a cable (net/devlink/port.c)."""
RADIO = re.compile(r"^DEVTYPE=(?:wlan|wwan)$", re.MULTILINE)
"""What the kernel says of Wi-Fi and of mobile networks (net/wireless/core.c, wwan_core.c)."""
OTHER_NAMESPACE = "sysfs shows another network namespace"
HOST = "host"
POD = "pod"


@dataclass(frozen=True, slots=True)
class OwnRoots:
    """The paths of our own proc and sys filesystems."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")


OWN_ROOTS = OwnRoots()


class NetworkReader:
    """Reads `net/dev` of process 1, and sysfs for the interfaces."""

    def __init__(
        self,
        proc_root: Path,
        sys_root: Path,
        devices: Devices,
        *,
        known_good: KnownGood | None = None,
        own: OwnRoots = OWN_ROOTS,
        read_file: Callable[[Path], str] = read_text,
    ) -> None:
        self._proc = proc_root
        self._own = own
        self._known_good = known_good or KnownGood()
        self._read_file = read_file
        self._sys = sys_root
        self._is_shown = shown(devices.network_exclude, devices.network_include)
        self._limit = devices.max_per_kind

    def read(self) -> Reading[Network]:
        """Read all interfaces now; raise SourceAbsent or SourceFailed."""
        fields = FieldReader()
        dev = net_folder(self._proc) / "dev"
        counted = parse_dev(self._read_file(dev))
        if not is_the_nodes(self._proc, counted, self._own):
            fields.skip("interfaces", "only a pod's own network can be seen")
            return Reading(Network(POD), fields.missing)
        has_attributes = self._is_same_namespace(counted) or self._is_same_namespace(
            parse_names(self._read_file(dev))  # one may have come or gone in between
        )
        if not has_attributes:
            fields.skip("attributes", OTHER_NAMESPACE)
        chosen = [*filter(self._is_shown, counted)]
        truncated = fields.truncated(self._limit, len(chosen), "interfaces")
        interfaces = [counted[it] for it in at_most(self._limit, chosen, self._is_hardware)]
        for interface in interfaces:
            for field in COUNTERS:
                if getattr(interface, field) is None:
                    fields.skip(f"{interface.device} {field}", "not a counter")
        if has_attributes:
            described = [self._described(it, fields) for it in interfaces]
            interfaces = [*with_peers(described, "driver")]
        return Reading(Network(HOST, tuple(interfaces), truncated), fields.missing)

    def _is_same_namespace(self, names: Iterable[str]) -> bool:
        listed = set(names_or_none(self._sys / "class/net"))
        # A file among the links, made by drivers/net/bonding/bond_sysfs.c.
        return {name for name in listed if name != "bonding_masters"} == set(names)

    def _is_hardware(self, name: str) -> bool:
        """Tell whether an interface is a card, neither a function nor made of other interfaces."""
        folder = f"{self._sys}/class/net/{name}"
        is_card = is_there(f"{folder}/device") and not is_there(f"{folder}/device/physfn")
        return is_card and _has_cable(folder)

    def _described(self, counted: Interface, fields: FieldReader) -> Interface:
        name = counted.device
        folder = f"{self._sys}/class/net/{name}"
        operstate = fields.label(f"{name} operstate", f"{folder}/operstate")
        is_up = self._is_up(folder, operstate)
        address = pci_address_of(f"{folder}/device") if _has_cable(folder) else None
        # Only those with hardware: the names of pods' interfaces would fill what is remembered.
        was_up = None
        if address is not None:
            was_up = self._known_good.update(f"interface {name}", is_good=is_up)
        numa_node = fields.number(f"{name} numa_node", f"{folder}/device/numa_node")
        return replace(
            counted,
            up=is_up,
            admin_up=parse_admin_up(fields.text(f"{name} flags", f"{folder}/flags")),
            speed_bytes_per_second=self._speed(folder) if is_up else None,
            carrier_changes=fields.count(f"{name} carrier_changes", f"{folder}/carrier_changes"),
            link_was_up=was_up,
            driver=link_name(f"{folder}/device/driver"),
            pci_bus_id=address,
            numa_node=None if numa_node is None or numa_node < 0 else numa_node,
            mtu=fields.count(f"{name} mtu", f"{folder}/mtu"),
            operstate=operstate,
        )

    def _is_up(self, folder: str, operstate: str | None) -> bool | None:
        """Tell whether an interface can carry traffic; by its carrier if operstate is unknown."""
        if operstate == "unknown":
            # An interface that is switched off answers EINVAL (net/core/net-sysfs.c, carrier_show),
            # which is not recorded as missing.
            carrier = FieldReader().count("carrier", f"{folder}/carrier")
            return None if carrier is None else carrier == 1
        return None if operstate is None else operstate == "up"

    def _speed(self, folder: str) -> float | None:
        """Read bytes per second; None if the driver answers -1 or an error."""
        # SPEED_UNKNOWN is -1 (include/uapi/linux/ethtool.h); EINVAL while the interface is off.
        megabits = FieldReader().number("speed", f"{folder}/speed")
        return megabits * float(BYTES_PER_MEGABIT) if megabits and megabits > 0 else None


def _has_cable(folder: str) -> bool:
    """Tell whether the link of an interface is a cable, whose loss is a fault.

    That of a wireless one comes and goes. A representor stands for a function in the adapter's
    switch: its `device` is the adapter; its link is down while nobody uses the function, as is
    that of a subfunction.
    """
    if is_subfunction(f"{folder}/device"):
        return False
    fields = FieldReader()
    kind = RADIO.search(fields.text("uevent", f"{folder}/uevent") or "")
    name = fields.text("phys_port_name", f"{folder}/phys_port_name")
    return kind is None and (name is None or REPRESENTOR.match(name) is None)


def with_peers(ports: Sequence[Port], group: str) -> tuple[Port, ...]:
    """Count for each port the others that are up and have the same value in the field `group`."""
    groups = [getattr(port, group) for port in ports]
    up = Counter(of for port, of in zip(ports, groups, strict=True) if port.up)
    return tuple(
        replace(port, peers_up=up[of] - bool(port.up)) if of else port
        for port, of in zip(ports, groups, strict=True)
    )


def parse_dev(text: str) -> dict[str, Interface]:
    """Parse the counters of each interface in `net/dev`; raise SourceFailed without one."""
    return {
        name: _counted(clean_text(name), [parse_counter(word) for word in words])
        for name, words in _rows(text)
    }


def parse_names(text: str) -> set[str]:
    """Parse the names of the interfaces in `net/dev`; raise SourceFailed without its table."""
    return {name for name, _ in _rows(text)}


def _rows(text: str) -> Iterator[tuple[str, list[str]]]:
    if "|" not in text:
        raise SourceFailed("net/dev does not hold the table of interfaces")
    for line in text.split("\n"):
        name, colon, rest = line.rpartition(":")
        words = rest.split()
        if colon and name.strip() and len(words) >= ALL_COLUMNS:
            yield name.strip(), words


def _counted(device: str, columns: Sequence[int | None]) -> Interface:
    return Interface(
        device=device,
        receive_bytes=columns[0],
        receive_packets=columns[1],
        receive_errors=columns[2],
        receive_drops=columns[3],
        transmit_bytes=columns[8],
        transmit_packets=columns[9],
        transmit_errors=columns[10],
        transmit_drops=columns[11],
    )


def parse_admin_up(flags: str | None) -> bool | None:
    """Tell whether IFF_UP is set in the hexadecimal flags; None if they are unknown."""
    if flags is None:
        return None
    try:
        return bool(int(flags, 16) & IFF_UP)
    except ValueError:
        return None


def net_folder(proc_root: Path) -> Path:
    """Return the `net` folder of process 1, or our own if that is missing or hidden (hidepid)."""
    of_first = proc_root / "1/net"
    return of_first if is_there(of_first) else proc_root / "net"


def is_the_nodes(proc_root: Path, names: Iterable[str], own: OwnRoots = OWN_ROOTS) -> bool:
    """Tell whether these interfaces, listed by process 1 of a proc filesystem, are the node's.

    Process 1 is the node's in a proc filesystem that is not ours, and in the first PID namespace.
    Hardware is searched in our own sysfs: the node's, mounted elsewhere, has an eth0 as well.
    """
    is_mounted = os.path.realpath(proc_root) != os.path.realpath(own.proc)
    has_hardware = (is_there(f"{own.sys}/class/net/{name}/device") for name in names)
    return is_mounted or bool(is_initial(proc_root)) or any(has_hardware)
