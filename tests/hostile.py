"""A node whose tenants mean ill: hostile names everywhere, crowds, links, forged kernel lines."""

import os
import random
import time
from pathlib import Path
from typing import Any

from tests.fakes import host_proc
from tests.fakes.host_tree import HostTree, gpu_node
from tests.fakes.kmsg import kmsg_record
from tests.fakes.native import build_nvml
from tests.fakes.nvml_library import NvmlLibrary
from tests.program import Program

CAPTURE = "h100x8.scenario"
SECRET = "root:secret-of-the-node:4714"
FORGED = "NVRM: Xid (PCI:0000:18:00): 79, pid=1, name=evil, GPU has fallen off the bus."
FIRST_PID = 50_000
PIECES = (
    *('"', "\\", "\n", "\r", "\t", "{", "}", "=", ",", "#", " ", "\x00", "\x1b[2J", "'", "%s"),
    *("\u2028", "\u202e", "\ufeff", "é", "名", "🂡", "\ufffd", "a", "hw_x 1", '"} 1', "</script>"),
    *("${x}", "$(id)", "../..", "\x7f", "\x85", 'b{c="d"}', ") R 1 2 (", "# EOF", "NVRM: Xid"),
)


def hostile_names(count: int = 500, seed: int = 1) -> list[str]:
    """So many names that somebody could choose to break a page, a line or a reader."""
    chance = random.Random(seed)  # noqa: S311 - the same names in every run
    names = [*PIECES, "x" * 10_000]
    while len(names) < count:
        names.append("".join(chance.choices(PIECES, k=chance.randrange(1, 12))))
    return names[:count]


class HostileNode:
    """Eight GPUs, `interfaces` network interfaces and `processes` on the GPUs, all ill-named.

    `hanging` is a file that never answers: pressure is read from it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        processes: int = 10_000,
        interfaces: int = 5_000,
        hanging: Path | None = None,
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.tree = gpu_node(folder / "host")
        self.nvml = NvmlLibrary(build_nvml(), folder)
        self.marker = folder / "driver"
        self.marker.touch()
        self.kernel_log = folder / "kmsg"
        os.mkfifo(self.kernel_log)
        self._records = 0
        self._named = hostile_names(500)
        self._processes(processes)
        _interfaces(self.tree, interfaces)
        _links(self.tree)
        if hanging is not None:
            pressure = self.tree.proc / "pressure/io"
            pressure.unlink(missing_ok=True)
            pressure.symlink_to(hanging)

    def start(self, interval_secs: float = 0.5) -> Program:
        """The program on this node, with series for single processes."""
        changes: dict[str, dict[str, Any]] = {
            "metrics": {"collect_interval_secs": interval_secs},
            "sources": self.tree.roots,
            "processes": {"per_pid": True, "pod_uids": True, "slurm_jobs": True},
            "kernel_log": {"enabled": True, "path": str(self.kernel_log)},
            "gpu": {
                "driver_markers": [str(self.marker)],
                "smi_paths": [str(self.folder / "nowhere")],
                "timeout_secs": 5.0,
            },
        }
        environment = {**self.nvml.environment, "FAKE_NVML_LOG": os.devnull}
        return Program(self.folder / "run", changes, environment=environment)

    def say_in_kernel_log(self, text: str, prefix: int = 12) -> None:
        """One record; without another prefix it is one that a program wrote."""
        self._records += 1
        now = time.monotonic()
        with self.kernel_log.open("wb", buffering=0) as log:
            log.write(kmsg_record(text, sequence=self._records, stamp=now, prefix=prefix))

    def _processes(self, count: int) -> None:
        """`count` processes that the driver names; five hundred of them are there."""
        lines = [
            f"device.{card}.name = hex {name.encode()[:90].hex()}"
            for card, name in enumerate(name for name in self._named if name.strip("\x00"))
            if card < 8
        ]
        for card in range(8):
            mine = range(FIRST_PID + card, FIRST_PID + count, 8)
            listed = " ".join(f"{pid}:{1024 * 1024}" for pid in mine)
            lines.append(f"device.{card}.compute_processes = {listed}")
        self.nvml.say(*lines, capture=CAPTURE)
        for number, name in enumerate(self._named):
            comm = name.encode()[:15].replace(b"\x00", b"?").decode("utf-8", "replace")
            cgroup = f"/system.slice/{comm.replace('/', '_')}.service".replace("\n", "\\n")
            self.tree.write(host_proc.process(FIRST_PID + number, comm, cgroup))


def _interfaces(tree: HostTree, count: int) -> None:
    """Names as the kernel allows them: fifteen bytes without blanks and slashes."""
    rows = []
    for number, name in enumerate(hostile_names(count, seed=2)):
        kept = "".join(sign for sign in name if not sign.isspace() and sign not in "/\x00:")
        word = f"{number:x}{kept}".encode()[:15].decode("utf-8", "ignore")
        rows.append(f"  {word}: {'1 ' * 16}\n")
    for path in (tree.proc / "1/net/dev", tree.proc / "net/dev"):
        if path.exists():
            path.write_text(path.read_text() + "".join(rows))


def _links(tree: HostTree) -> None:
    """Names of pods and containers that lead to secrets, pipes and a file of ten gigabytes."""
    secret = tree.folder / "shadow"
    secret.write_text(SECRET)
    pods = tree.host / "var/log/pods"
    pods.mkdir(parents=True, exist_ok=True)
    containers = tree.host / "var/log/containers"
    containers.mkdir(parents=True, exist_ok=True)
    (pods / "evil_pod_uid").symlink_to(secret)
    os.mkfifo(pods / "evil_fifo_uid")
    for number in range(50):
        (containers / f"p{number}_evil_c-{number:064x}.log").symlink_to(secret)
    with (pods / "evil_huge_uid").open("wb") as huge:
        huge.truncate(10 * 2**30)
    kubelet = tree.host / "var/lib/kubelet/device-plugins"
    kubelet.mkdir(parents=True, exist_ok=True)
    (kubelet / "kubelet_internal_checkpoint").symlink_to(pods / "evil_huge_uid")
