"""A node with many GPUs and processes, moment by moment, to measure judgements on."""

import json
from collections.abc import Iterator

from exporter.collectors.everything import EVERYTHING
from exporter.faults.replay.snapshots import SnapshotReader
from exporter.model.snapshot import Snapshot
from tests.corpus.machines import board
from tests.corpus.parts import (
    Tree,
    backend,
    client,
    h100,
    ib_port,
    limits,
    pcie_device,
    use,
)

STEP_SECS = 5
PODS = 64


def snapshots(count: int, gpus: int, processes: int, *, ill: bool = False) -> Iterator[Snapshot]:
    """So many moments of the node; an ill one is hot, loses links and has waiting processes."""
    buses = [f"{0x20 + 2 * number:02x}" for number in range(gpus)]
    rows = [{"at": 0, "readings": _node(buses, processes)}]
    for number in range(1, count):
        row: Tree = {"at": STEP_SECS * number, "readings": _moving(buses, number, ill=ill)}
        if ill and number == 1:
            row["kernel"] = [_xid(bus, code) for bus in buses for code in (48, 63, 94, 45, 119)]
        rows.append(row)
    return SnapshotReader(EVERYTHING.values, EVERYTHING.recorded).snapshots(map(json.dumps, rows))


def _node(buses: list[str], processes: int) -> Tree:
    node = board()
    devices = node["Pcie"]["devices"]
    for bus in buses:
        port = f"0000:{int(bus, 16) + 1:02x}:00.0"
        devices[f"port {bus}"] = pcie_device(port, "port", "0000:17:01.0")
        devices[bus] = pcie_device(f"0000:{bus}:00.0", "gpu", port)
    clients = [client(10_000 + n, buses[n % len(buses)]) for n in range(processes)]
    for number, process in enumerate(clients):
        process["workload"] = {**process["workload"], "pod": f"trainer-{number % PODS}"}
    node["Gpus"] = {
        "backend": backend(),
        "states": {bus: h100(index, bus) for index, bus in enumerate(buses)},
    }
    node["Infiniband"] = {"ports": {"a": ib_port("mlx5_0", "0000:ca:00.0")}}
    node["Workloads"] = {
        "reason": "ok",
        "attribution_ratio": 1.0,
        "clients": {str(process["pid"]): process for process in clients},
        "uses": {bus: use(bus) for bus in buses},
    }
    return node


def _moving(buses: list[str], number: int, *, ill: bool) -> Tree:
    """What changes from moment to moment, with counters that rise."""
    states = {}
    for bus in buses:
        gpu: Tree = {"temperature_celsius": 62.0 + number % 3, "energy_joules_total": 5e9 + number}
        if ill:
            gpu |= {"thermal_margin_celsius": 0.0, "temperature_celsius": 88.0}
            gpu |= {"throttle_active": limits("hw_thermal_slowdown"), "row_remap_pending": True}
            gpu |= {"nvlink_up": {"6": 0}, "pcie_link_width": 8}
        states[bus] = {"gpu": gpu}
    change: Tree = {"Gpus": {"states": states}}
    change["Network"] = {"interfaces": {"eth0": {"receive_packets": 10**6 + 5000 * number}}}
    if ill:
        disk = {"io_in_flight": 32, "queue_time_seconds": 160.0 * number}
        change["Disks"] = {"disks": {"nvme1n1": {**disk, "io_time_seconds": 5.0 * number}}}
        asleep = {"state": "uninterruptible", "waits_since_boottime": STEP_SECS}
        change["Workloads"] = {"clients": {str(10_000 + n): asleep for n in range(50)}}
    return change


def _xid(bus: str, code: int) -> str:
    return f"NVRM: Xid (PCI:0000:{bus}:00): {code}, pid=10000, name=trainer, what it says"
