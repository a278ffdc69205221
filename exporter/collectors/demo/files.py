"""The files of the simulated node: its processes, pods and allocations, and those of the host."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from exporter.collectors.demo.bus_files import lay_bus
from exporter.collectors.demo.host_files import HostFiles
from exporter.collectors.demo.jobs import JOBS, Job, Running, jobs_of
from exporter.collectors.demo.kernel_words import of_bus, of_gpus, of_host
from exporter.collectors.demo.node import DemoNode, Xid

TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")
CHECKPOINT = "root/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
KERNEL_LOG = "kmsg"
EARLIER_SECS = 10.0
"""A process that is seen for the first time began so long before."""


class NodeFolder:
    """Keeps the files under `folder` as the node is; `boottime` is that of the start, in seconds.

    Files are replaced whole, so that nobody reads half of one.
    """

    def __init__(self, folder: Path, boottime: float, *, with_host: bool) -> None:
        self._folder = folder
        self._boottime = boottime
        self._written: dict[str, str] = {}
        self._started: dict[int, float] = {}
        self._host = HostFiles(boottime) if with_host else None
        self._kernel_log = _open_kernel_log(folder / KERNEL_LOG) if with_host else None
        self._has_bus = False
        self._sequence = 0
        self._logged_to: int | None = None

    def write(self, node: DemoNode, xids: Sequence[Xid], boottime: float) -> None:
        """Bring everything up to date at this boot time in seconds."""
        running = {one.pid: one for card in node.cards for one in card.running}
        self._end_all_but(running)
        files = dict(_pods(node))
        for one in running.values():
            started = self._started.setdefault(one.pid, boottime - EARLIER_SECS)
            files.update(_process(one, started))
        if self._host is not None:
            files.update(self._host.at(node, boottime))
            if not self._has_bus:
                lay_bus(self._folder, node.cards)
                self._has_bus = True
        for name, text in files.items():
            self._replace(name, text)
        self._log(node, xids, boottime)

    def close(self) -> None:
        """Let go of the pipe of the kernel log."""
        if self._kernel_log is not None:
            os.close(self._kernel_log)
            self._kernel_log = None

    def _replace(self, name: str, text: str) -> None:
        if self._written.get(name) == text:
            return
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        new.write_text(text, "utf-8")
        new.replace(path)
        self._written[name] = text

    def _end_all_but(self, running: Mapping[int, Running]) -> None:
        for pid in self._started.keys() - running.keys():
            del self._started[pid]
            folder = self._folder / "proc" / str(pid)
            for file in folder.iterdir():
                file.unlink()
                self._written.pop(f"proc/{pid}/{file.name}", None)
            folder.rmdir()

    def _log(self, node: DemoNode, xids: Sequence[Xid], boottime: float) -> None:
        if self._kernel_log is None:
            return
        for text in (*self._words_of_host(node), *of_gpus(xids)):
            record = f"4,{self._sequence},{int(boottime * 1e6)},-;{text}\n"
            self._sequence += 1
            try:
                os.write(self._kernel_log, record.encode())
            except BlockingIOError:
                return  # nobody reads it

    def _words_of_host(self, node: DemoNode) -> Iterator[str]:
        """Write the host's lines for each second since the last time."""
        first = node.now.secs if self._logged_to is None else self._logged_to
        self._logged_to = node.now.secs + 1
        for secs in range(first, self._logged_to):
            yield from of_bus(node.at(secs - 1), node.at(secs), node.cards)
            yield from of_host(node.at(secs))


def _open_kernel_log(path: Path) -> int:
    """Make a pipe in place of the kernel's device; it never ends, as we read it ourselves too."""
    if not path.exists():
        os.mkfifo(path)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def _process(one: Running, started: float) -> Iterator[tuple[str, str]]:
    folder = f"proc/{one.pid}"
    state = "D" if one.is_waiting else "R" if one.percent else "S"
    fields = [state, "1", *["0"] * 17, str(int(started * TICKS_PER_SEC)), *["0"] * 32]
    yield f"{folder}/stat", f"{one.pid} ({one.job.command}) {' '.join(fields)}\n"
    yield f"{folder}/cgroup", f"0::{one.job.cgroup}\n"
    yield f"{folder}/status", f"Name:\t{one.job.command}\nUid:\t1000\t1000\t1000\t1000\n"
    yield f"{folder}/wchan", "io_schedule" if one.is_waiting else "0"


def _pods(node: DemoNode) -> Iterator[tuple[str, str]]:
    """Write what tells processes and pods apart, and who holds which GPU."""
    for pid, name in ((1, "systemd"), (2, "kthreadd")):
        yield f"proc/{pid}/stat", f"{pid} ({name}) S 0 {' '.join(['0'] * 48)}\n"
        yield f"proc/{pid}/cgroup", "0::/init.scope\n"
    for job in JOBS:
        if job.pod:
            pod = f"{job.namespace}_{job.pod}_{job.pod_uid}"
            yield f"root/var/log/pods/{pod}/{job.container}/0.log", ""
            log = f"{job.pod}_{job.namespace}_{job.container}-{job.container_id}.log"
            yield f"root/var/log/containers/{log}", ""
    yield CHECKPOINT, _checkpoint(node)


def _checkpoint(node: DemoNode) -> str:
    held: dict[Job, list[str]] = {}
    for card in node.cards:
        for job in jobs_of(card.index):
            if job.pod:
                held.setdefault(job, []).append(card.uuid)
    entries = [
        {
            "PodUID": job.pod_uid,
            "ContainerName": job.container,
            "ResourceName": "nvidia.com/gpu",
            "DeviceIDs": {"0": uuids},
            "AllocResp": "",
        }
        for job, uuids in held.items()
    ]
    document = {"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {}}, "Checksum": 0}
    return json.dumps(document)
