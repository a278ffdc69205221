"""A node with many GPUs and processes, moment by moment, to measure judgements on."""

import json
from collections.abc import Iterator
from copy import deepcopy

from exporter.collectors import recorded_nodes
from exporter.collectors.everything import EVERYTHING
from exporter.faults.replay.snapshots import SnapshotReader
from exporter.faults.replay.steps import base_node
from exporter.model.snapshot import Snapshot
from tests.corpus.cases import Tree

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
    return SnapshotReader(EVERYTHING.recordings).snapshots(map(json.dumps, rows))


def _node(buses: list[str], processes: int) -> Tree:
    """Return the node of four GPUs, with so many of its last one and of its processes."""
    node: Tree = deepcopy(base_node(recorded_nodes(), "h100_4")["readings"])
    devices, jobs = node["Pcie"]["devices"], node["Workloads"]
    port, gpu = devices["3a"], devices["3b"]
    for bus in ("1a", "1b", "3a", "3b", "9a", "9b", "ba", "bb"):
        del devices[bus]
    state, use, process = node["Gpus"]["states"]["3b"], jobs["uses"]["3b"], jobs["clients"]["4712"]
    node["Gpus"]["states"], jobs["uses"], jobs["clients"] = {}, {}, {}
    for index, bus in enumerate(buses):
        above = f"0000:{int(bus, 16) + 1:02x}:00.0"
        devices[f"port {bus}"] = {**port, "device": above}
        devices[bus] = {**gpu, "device": f"0000:{bus}:00.0", "parent": above}
        place = {"index": index, "uuid": f"GPU-{bus}", "pci_bus_id": f"00000000:{bus.upper()}:00.0"}
        node["Gpus"]["states"][bus] = {"gpu": {**state["gpu"], **place}}
        jobs["uses"][bus] = {**use, "gpu_uuid": f"GPU-{bus}"}
    for number in range(processes):
        pid, bus = 10_000 + number, buses[number % len(buses)]
        uses = [{**process["uses"][0], "gpu_uuid": f"GPU-{bus}"}]
        workload = {**process["workload"], "pod": f"trainer-{number % PODS}"}
        jobs["clients"][str(pid)] = {**process, "pid": pid, "uses": uses, "workload": workload}
    return node


def _moving(buses: list[str], number: int, *, ill: bool) -> Tree:
    """What changes from moment to moment, with counters that rise."""
    states = {}
    for bus in buses:
        gpu: Tree = {"temperature_celsius": 62.0 + number % 3, "energy_joules_total": 5e9 + number}
        if ill:
            gpu |= {"thermal_margin_celsius": 0.0, "temperature_celsius": 88.0}
            gpu |= {"throttle_active": {"hw_thermal_slowdown": 1}, "row_remap_pending": True}
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
