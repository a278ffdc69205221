"""Network interfaces, from /proc/net/dev and /sys/class/net.

https://docs.kernel.org/networking/statistics.html
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-net
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from exporter.model.label import clean_text
from exporter.model.network import Interface, Network
from exporter.model.reading import Reading
from exporter.sources.files import read_text
from exporter.sources.host.network_namespace import (
    HOST,
    OWN_ROOTS,
    POD,
    OwnRoots,
    is_the_nodes,
    net_folder,
)
from exporter.sources.host.numbers import whole
from exporter.sources.host.pci_address import pci_address_of
from exporter.sources.host.sysfs import Gaps, link_name, names_or_none
from exporter.sources.interface import SourceFailed

ALL_COLUMNS = 16
COUNTERS = tuple(
    f"{direction}_{what}"
    for direction in ("receive", "transmit")
    for what in ("bytes", "packets", "errors", "drops")
)
BYTES_PER_MEGABIT = 125_000
IFF_UP = 1
OTHER_NAMESPACE = "sysfs shows another network namespace"


class NetworkReader:
    """Reads `net/dev` of process 1 and what sysfs says of the interfaces.

    `is_shown` chooses interfaces by name; of those at most `limit` are read.
    """

    def __init__(
        self,
        proc_root: Path,
        sys_root: Path,
        is_shown: Callable[[str], bool],
        limit: int,
        own: OwnRoots = OWN_ROOTS,
    ) -> None:
        self._proc = proc_root
        self._own = own
        self._sys = sys_root
        self._is_shown = is_shown
        self._limit = limit

    def look(self) -> Reading[Network]:
        """All interfaces now; raises SourceAbsent or SourceFailed."""
        gaps = Gaps()
        dev = net_folder(self._proc) / "dev"
        counted = parse_dev(read_text(dev))
        if not is_the_nodes(self._proc, counted, self._own):
            gaps.note("interfaces", "only a pod's own network can be seen")
            return Reading(Network(POD), gaps.missing)
        has_attributes = self._is_same_namespace(counted) or self._is_same_namespace(
            parse_dev(read_text(dev))  # one may have come or gone in between
        )
        if not has_attributes:
            gaps.note("attributes", OTHER_NAMESPACE)
        chosen = sorted(filter(self._is_shown, counted))
        left_out = gaps.beyond(self._limit, len(chosen), "interfaces")
        interfaces = [counted[name] for name in chosen[: self._limit]]
        for interface in interfaces:
            for field in COUNTERS:
                if getattr(interface, field) is None:
                    gaps.note(f"{interface.device} {field}", "not a counter")
        if has_attributes:
            interfaces = [self._described(interface, gaps) for interface in interfaces]
        return Reading(Network(HOST, tuple(interfaces), left_out), gaps.missing)

    def _is_same_namespace(self, names: Iterable[str]) -> bool:
        listed = set(names_or_none(self._sys / "class/net"))
        return {name for name in listed if name != "bonding_masters"} == set(names)

    def _described(self, counted: Interface, gaps: Gaps) -> Interface:
        name = counted.device
        folder = self._sys / "class/net" / name
        operstate = gaps.word(f"{name} operstate", folder / "operstate")
        is_up = self._is_up(folder, operstate)
        numa_node = gaps.number(f"{name} numa_node", folder / "device/numa_node")
        return replace(
            counted,
            up=is_up,
            admin_up=parse_admin_up(gaps.text(f"{name} flags", folder / "flags")),
            speed_bytes_per_second=self._speed(folder) if is_up else None,
            carrier_changes=gaps.count(f"{name} carrier_changes", folder / "carrier_changes"),
            driver=link_name(folder / "device/driver"),
            pci_bus_id=pci_address_of(folder / "device"),
            numa_node=None if numa_node is None or numa_node < 0 else numa_node,
            mtu=gaps.count(f"{name} mtu", folder / "mtu"),
            operstate=operstate,
        )

    def _is_up(self, folder: Path, operstate: str | None) -> bool | None:
        """Whether it can carry traffic; drivers that never say so have their carrier asked."""
        if operstate == "unknown":
            # The carrier of an interface that is switched off cannot be read: no note of it.
            carrier = Gaps().count("carrier", folder / "carrier")
            return None if carrier is None else carrier == 1
        return None if operstate is None else operstate == "up"

    def _speed(self, folder: Path) -> float | None:
        """Bytes per second; None for a driver that answers -1, or with an error, for unknown."""
        megabits = Gaps().number("speed", folder / "speed")
        return megabits * float(BYTES_PER_MEGABIT) if megabits and megabits > 0 else None


def parse_dev(text: str) -> dict[str, Interface]:
    """The counters of each interface in `net/dev`; raises SourceFailed where there is no table."""
    if "|" not in text:
        raise SourceFailed("net/dev does not hold the table of interfaces")
    found = {}
    for line in text.splitlines():
        name, colon, rest = line.rpartition(":")
        words = rest.split()
        if colon and name.strip() and len(words) >= ALL_COLUMNS:
            found[name.strip()] = _counted(clean_text(name), [whole(word) for word in words])
    return found


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
    """Whether the flags, a hexadecimal number, have the interface switched on."""
    if flags is None:
        return None
    try:
        return bool(int(flags, 16) & IFF_UP)
    except ValueError:
        return None
