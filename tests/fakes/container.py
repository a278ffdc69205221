"""Runs a program in a root filesystem the way a container engine would, with namespaces only.

Used where no engine may run containers: mounts, identity, capabilities, environment and a
read-only root are as an engine makes them; the network is the host's.
"""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

TOOLS = ("unshare", "mount", "chroot", "setpriv")


def why_not() -> str | None:
    """Why containers cannot be run here; None when they can."""
    if os.geteuid() != 0:
        return "running a container needs root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True,
        check=False,
    )
    return None if tried.returncode == 0 else "namespaces are not permitted here"


@dataclass(frozen=True, slots=True)
class Bind:
    """A path of the host that is shown inside."""

    host: Path
    inside: str
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Container:
    """What an engine is told about a container."""

    root: Path
    command: tuple[str, ...]
    environment: Mapping[str, str]
    uid: int = 65534
    gid: int = 65534
    capabilities: tuple[str, ...] = ()  # ("ALL",) as of a privileged container
    binds: tuple[Bind, ...] = ()
    sees_host_pids: bool = False
    proc: Path | None = None  # shown as /proc instead of a real one
    sys: Path | None = None  # shown as /sys instead of the machine's
    log: Path = field(default=Path("/dev/null"))


class Running:
    """A container that runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", *, is_parent: bool) -> None:
        self._process = process
        self._is_parent = is_parent

    def main_pid(self) -> int:
        """The program's pid as the host sees it."""
        return self._program_pids()[0]

    def status(self) -> dict[str, str]:
        """The fields of /proc/PID/status of the program."""
        lines = Path(f"/proc/{self.main_pid()}/status").read_text().splitlines()
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}

    def terminate(self, timeout_secs: float) -> int:
        """Send SIGTERM and give the exit code; raises TimeoutExpired."""
        os.kill(self.main_pid(), signal.SIGTERM)
        return self._process.wait(timeout_secs)

    def wait(self, timeout_secs: float) -> int:
        """The exit code of a program that ends by itself; raises TimeoutExpired."""
        return self._process.wait(timeout_secs)

    def kill(self) -> None:
        """End it, program first: one that has changed its user outlives the parent's death."""
        if self.is_alive():
            for pid in self._program_pids():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait(10)

    def _program_pids(self) -> list[int]:
        pid = self._process.pid
        if not self._is_parent:
            return [pid]
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]

    def is_alive(self) -> bool:
        """Whether the program still runs."""
        return self._process.poll() is None


@contextmanager
def running(container: Container) -> Iterator[Running]:
    """The container, running until the block ends."""
    pids = () if container.sees_host_pids else ("--pid", "--fork", "--kill-child")
    with container.log.open("wb") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", *pids, "sh", "-euc", _script(container)],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    box = Running(process, is_parent=not container.sees_host_pids)
    try:
        yield box
    finally:
        box.kill()


def _script(container: Container) -> str:
    """The shell words that lay the mounts and become the program."""
    root = shlex.quote(str(container.root))
    proc = (
        "mount -t proc -o ro none" if container.proc is None else f"mount --bind {container.proc}"
    )
    lines = [
        # A layer of its own on top, as an engine makes one: mount points are made in it.
        "mount -t tmpfs none /mnt",
        "mkdir /mnt/upper /mnt/work",
        f"mount -t overlay -o lowerdir={root},upperdir=/mnt/upper,workdir=/mnt/work none {root}",
        f"{proc} {root}/proc",
        f"mount --rbind -o ro {container.sys or '/sys'} {root}/sys",
        f"mount -t tmpfs -o mode=755 none {root}/dev",
        *(
            f"touch {root}/dev/{name}; mount --bind /dev/{name} {root}/dev/{name}"
            for name in DEVICES
        ),
    ]
    for bind in container.binds:
        lines += _bind_lines(bind, root)
    lines.append(f"mount -o remount,bind,ro {root}")
    lines.append("exec " + shlex.join(_program(container)))
    return "\n".join(lines)


DEVICES = ("null", "zero", "full", "random", "urandom")


def _bind_lines(bind: Bind, root: str) -> list[str]:
    source, target = shlex.quote(str(bind.host)), f"{root}{shlex.quote(bind.inside)}"
    make = (
        f"mkdir -p {target}"
        if bind.host.is_dir()
        else f"mkdir -p $(dirname {target}); touch {target}"
    )
    lines = [f"test -e {target} || {{ {make}; }}", f"mount --bind {source} {target}"]
    if bind.read_only:
        lines.append(f"mount -o remount,bind,ro {target}")
    return lines


def _program(container: Container) -> list[str]:
    wanted = [f"+{name.lower()}" for name in container.capabilities]
    bounding = ",".join(["-all", *wanted])
    ambient: list[str] = []
    if container.uid == 0 and wanted:
        ambient = []  # root has what its bounding set leaves
    variables = [f"{name}={value}" for name, value in container.environment.items()]
    return [
        *("chroot", str(container.root), "setpriv"),
        *(f"--reuid={container.uid}", f"--regid={container.gid}", "--clear-groups"),
        *("--no-new-privs", f"--bounding-set={bounding}", "--inh-caps=-all", *ambient),
        *("env", "-i", *variables, *container.command),
    ]
