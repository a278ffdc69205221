"""Telling a recording: what changes on a node, and how time passes."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from tests.corpus.parts import Tree

STEP_SECS = 15
LONGEST_STEP_SECS = 300
"""Between two looks while nothing happens for long, unless a longer step was asked for."""

Path = tuple[str, ...]


class Story:
    """A node over time; every method that lets time pass writes rows of a recording."""

    def __init__(self, node: Tree) -> None:
        self._now: Tree = deepcopy(node)
        self._change: Tree = deepcopy(node)
        self._reports: Tree = {}
        self._kernel: list[str] = []
        self._xids: list[Tree] = []
        self._rates: dict[Path, float] = {}
        self._left: dict[Path, float] = {}
        self._at = 0
        self._rows: list[str] = []
        self.rate(1.0, "Host", "uptime_secs")
        self.rate(1000.0, "Network", "interfaces", "eth0", "receive_packets")
        self.rate(1000.0, "Network", "interfaces", "eth0", "transmit_packets")
        self.rate(1000.0, "NetworkStack", "tcp_segments_sent")

    @property
    def at(self) -> int:
        """Seconds since the beginning."""
        return self._at

    @property
    def bus_addresses(self) -> list[str]:
        """The cards by the short names that stories call them."""
        return list(self._now.get("Gpus", {}).get("states", {}))

    def lines(self) -> Iterator[str]:
        """The recording, one JSON object per line."""
        return iter(self._rows)

    # -- what changes ----------------------------------------------------------------------------

    def put(self, *path: str, **fields: object) -> None:
        """Change some fields of what is at this place of the readings; None takes one away."""
        change: Tree = dict(fields)
        for name in reversed(path):
            change = {name: change}
        _merge(self._change, deepcopy(change))
        _apply(self._now, change)

    def take_away(self, *path: str) -> Tree:
        """Take away what is at this place of the readings, and give it back to the caller."""
        place: Any = self._now
        for name in path:
            place = place[name]
        taken: Tree = deepcopy(place)
        self.put(*path[:-1], **{path[-1]: None})
        return taken

    def gpu(self, bus: str, **fields: object) -> None:
        """Change what one card says."""
        self.put("Gpus", "states", bus, "gpu", **fields)

    def gpus(self, **fields: object) -> None:
        """Change what all cards say."""
        for bus in self.bus_addresses:
            self.gpu(bus, **fields)

    def state(self, bus: str, **fields: object) -> None:
        """Change how one card answers: up, reason, stale."""
        self.put("Gpus", "states", bus, **fields)

    def lose(self, bus: str, reason: str = "gpu_lost") -> None:
        """NVML no longer gets an answer of this card."""
        self.state(bus, up=False, reason=reason, stale=True)

    def process(self, pid: int, **fields: object) -> None:
        """Change one process of the job."""
        self.put("Workloads", "clients", str(pid), **fields)

    def job_ends(self) -> None:
        """All processes of the job are gone, and its cards idle."""
        for pid in list(self._now["Workloads"]["clients"]):
            self.put("Workloads", "clients", **{pid: None})
        for bus in list(self._now["Workloads"]["uses"]):
            self.put("Workloads", "uses", **{bus: None})
        self.idle_clocks()
        self.gpus(memory_used_bytes=0, processes=[])

    def idle_clocks(self, *buses: str) -> None:
        """These cards (or all) have nothing to do; their processes hold on to memory."""
        for bus in buses or self.bus_addresses:
            self.gpu(
                bus,
                utilization_percent=0.0,
                memory_controller_utilization_percent=0.0,
                power_draw_watts=95.0,
                temperature_celsius=34.0,
                thermal_margin_celsius=53.0,
                clock_hertz={"graphics": 3.45e8, "sm": 3.45e8},
            )
            self.gpu(bus, throttle_active={"gpu_idle": 1})

    def idle_since_now(self, *buses: str) -> None:
        """The job on these cards does nothing from now on: its idle seconds count."""
        for bus in buses or self.bus_addresses:
            self.idle_clocks(bus)
            self.rate(1.0, "Workloads", "uses", bus, "idle_allocated_secs")

    def busy_again(self, *buses: str) -> None:
        """These cards work again."""
        for bus in buses or self.bus_addresses:
            self.rate(0.0, "Workloads", "uses", bus, "idle_allocated_secs")
            self.put("Workloads", "uses", bus, idle_allocated_secs=0)
            self.gpu(bus, utilization_percent=97.0, power_draw_watts=560.0)
            self.gpu(bus, clock_hertz={"graphics": 1.755e9, "sm": 1.755e9})
            self.gpu(bus, throttle_active={"gpu_idle": 0})

    def pressure(self, resource: str, kind: str, share: float) -> None:
        """Tasks wait for a resource for this share of the time, in percent."""
        averages = {"avg10": share, "avg60": share, "avg300": share}
        self.put("Pressures", "pressures", f"{resource}_{kind}", **averages)

    def report(self, source: str, **fields: object) -> None:
        """Say how a source of readings fared."""
        _merge(self._reports, {source: dict(fields)})

    def rate(self, per_second: float, *path: str) -> None:
        """From now on a counter rises (or stands still, for 0)."""
        self._rates[path] = per_second
        if not per_second:
            del self._rates[path]

    # -- what happens ----------------------------------------------------------------------------

    def log(self, *lines: str) -> None:
        """The kernel prints these lines at this moment."""
        self._kernel += lines

    def xid(self, bus: str, code: int, text: str = "", **more: str) -> None:
        """The driver prints an Xid, and NVML tells of it too."""
        said = ", ".join(f"{name}={value}" for name, value in more.items())
        said = f"{said}, " if said else ""
        self.log(f"NVRM: Xid (PCI:0000:{bus}:00): {code}, {said}{text}")
        self._xids.append({"gpu": f"GPU-{bus}", "code": code})

    def now(self) -> None:
        """One look at this moment."""
        row: Tree = {"at": self._at, "readings": self._change}
        if self._reports:
            row["reports"] = self._reports
        if self._kernel:
            row["kernel"] = self._kernel
        if self._xids:
            row["xid"] = self._xids
        self._rows.append(json.dumps(row))
        self._change, self._reports, self._kernel, self._xids = {}, {}, [], []

    def wait(self, secs: int, step: int = STEP_SECS) -> None:
        """Look now, and every some seconds while this time passes: less often as it gets long."""
        began, until = self._at, self._at + secs
        self.now()
        while self._at < until:
            pause = max(step, min((self._at - began) // 4, LONGEST_STEP_SECS))
            pause = min(pause, until - self._at)
            self._at += pause
            self._rise(pause)
            self.now()

    def _rise(self, secs: float) -> None:
        """Let the counters go on; those of whole numbers keep what is less than one."""
        for path, per_second in self._rates.items():
            place: Any = self._now
            for name in path[:-1]:
                place = place.get(name, {})
            value = place.get(path[-1])
            if value is None:
                continue
            added = per_second * secs + self._left.get(path, 0.0)
            if isinstance(value, int):
                self._left[path] = added - int(added)
                added = int(added)
            self.put(*path[:-1], **{path[-1]: value + added})


def _merge(into: Tree, change: Mapping[str, Any]) -> None:
    """Add a change to what has changed: null stays, it takes away."""
    for name, value in change.items():
        if isinstance(value, Mapping) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value


def _apply(into: Tree, change: Mapping[str, Any]) -> None:
    for name, value in change.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, Mapping):
            _apply(into.setdefault(name, {}), value)
        else:
            into[name] = value
