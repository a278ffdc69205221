"""Data of one process from /proc: name, state, start time and cgroup.

/proc/PID/stat, cgroup and, where wanted, status and wchan (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html);
all but wchan are readable by everybody. Command lines are never read; environments only by
slurm.py.
"""

from pathlib import Path

from exporter.model.label import clean_text
from exporter.reading.cgroup import CgroupOwner, parse_cgroup, parse_path, roots_of_kubelet
from exporter.reading.files import is_there, read_text
from exporter.reading.pid_namespace import is_initial, shows_kernel_threads
from exporter.reading.seldom import Seldom
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.reading.sysfs import parse_counter
from exporter.record import dataclass

MAX_STAT_BYTES = 4096
MAX_CGROUP_BYTES = 65536
MAX_WORD_BYTES = 256
WAITING = "uninterruptible"
STOPPED = "stopped"
FROZEN_IN = "__refrigerator"
"""Where a process waits that the freezer of cgroup v1 holds; kernel/freezer.c. Its state is D."""
STATES = {
    "R": "running",
    "S": "sleeping",
    "D": WAITING,
    "T": STOPPED,
    "t": STOPPED,
    "Z": "zombie",
    "X": "zombie",
    "I": "idle",
}
HOST_INITS = frozenset(
    {"systemd", "init", "openrc-init", "runit", "s6-svscan", "procd", "busybox", "shepherd"}
)
# Fields of stat behind the command's name, counted from the state.
CPU_FIELDS = (11, 12)
STARTED_FIELD = 19
UID_FIELD = 2


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """The fields of `/proc/PID/stat` that we use; times in clock ticks."""

    name: str
    state: str
    started_ticks: int
    cpu_ticks: int


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """One process at one moment; `started_boottime` tells it from a later one of the same pid.

    `cpu_secs` is the processor time of all its threads, `wait_channel` the kernel's function that
    it waits in, where we may know it.
    """

    pid: int
    name: str
    state: str
    started_boottime: float
    owner: CgroupOwner
    uid: int | None = None
    wait_channel: str | None = None
    cpu_secs: float = 0.0


class ProcessReader:
    """Reads processes under a proc root, one by one, as they are asked for."""

    def __init__(self, proc_root: Path, ticks_per_sec: int, *, with_users: bool = False) -> None:
        self._proc = proc_root
        self._ticks_per_sec = ticks_per_sec
        self._with_users = with_users
        self._nested_in: frozenset[str] | None = None
        self._owners: Seldom[tuple[CgroupOwner, int | None]] = Seldom()

    def read(self, pid: int) -> ProcessFacts | None:
        """Read the process of this pid; None when there is none, or it changed meanwhile."""
        folder = f"{self._proc}/{pid}"
        try:
            stat = parse_stat(read_text(f"{folder}/stat", MAX_STAT_BYTES, is_one_piece=True))
            if stat is None:
                return None
            started = stat.started_ticks
            owned = self._owners.get((pid, started), lambda: self._owned(folder, started))
        except (SourceAbsent, SourceFailed):
            return None  # it ended: between two reads of the kernel that is normal
        if owned is None:
            return None
        channel = _wait_channel(folder) if stat.state == WAITING else None
        return ProcessFacts(
            pid=pid,
            name=stat.name,
            state=STOPPED if channel == FROZEN_IN else stat.state,
            started_boottime=started / self._ticks_per_sec,
            owner=owned[0],
            uid=owned[1],
            wait_channel=channel,
            cpu_secs=stat.cpu_ticks / self._ticks_per_sec,
        )

    def _owned(self, folder: str, started_ticks: int) -> tuple[CgroupOwner, int | None] | None:
        """Read whose the process is; None if another process has its pid by now."""
        owner = parse_cgroup(read_text(f"{folder}/cgroup", MAX_CGROUP_BYTES), self._around_us())
        status = read_text(f"{folder}/status", MAX_STAT_BYTES) if self._with_users else ""
        stat = parse_stat(read_text(f"{folder}/stat", MAX_STAT_BYTES, is_one_piece=True))
        is_another = stat is None or stat.started_ticks != started_ticks
        return None if is_another else (owner, parse_uid(status))

    def owner_of(self, path: str) -> CgroupOwner:
        """Find the owner of a cgroup by its path."""
        return parse_path(path, self._around_us())

    def _around_us(self) -> frozenset[str]:
        """Find where our own kubelet has its pods; once."""
        if self._nested_in is None:
            try:
                own = read_text(self._proc / "self/cgroup", MAX_CGROUP_BYTES)
            except (SourceAbsent, SourceFailed):
                own = ""  # a proc filesystem that does not show ourselves
            self._nested_in = roots_of_kubelet(own)
        return self._nested_in


def _wait_channel(folder: str) -> str | None:
    """Where an uninterruptible process waits; the kernel says 0 to those who may not know."""
    try:
        word = clean_text(read_text(f"{folder}/wchan", MAX_WORD_BYTES))
    except (SourceAbsent, SourceFailed):
        return None
    return None if word in ("", "0") else word


def parse_stat(text: str) -> ProcessStat | None:
    """Parse the process of one `stat` line; None when it is cut short or not one.

    The name stands in parentheses and may itself hold blanks, parentheses and newlines.
    """
    _, opening, rest = text.partition("(")
    name, closing, behind = rest.rpartition(")")
    fields = behind.split()
    if not opening or not closing or len(fields) <= STARTED_FIELD:
        return None
    started = parse_counter(fields[STARTED_FIELD])
    spent = [parse_counter(fields[place]) for place in CPU_FIELDS]
    if started is None or None in spent:
        return None
    return ProcessStat(
        name=clean_text(name) or "unknown",
        state=STATES.get(fields[0], "other"),
        started_ticks=started,
        cpu_ticks=sum(ticks or 0 for ticks in spent),
    )


def parse_uid(status: str) -> int | None:
    """Parse the effective user id of `/proc/PID/status`; None when it is not said."""
    for line in status.split("\n"):
        name, _, rest = line.partition(":")
        words = rest.split()
        if name == "Uid" and len(words) > 1:
            return parse_counter(words[1])
    return None


def read_users(host_root: Path) -> dict[int, str]:
    """Read user names by number from the node's passwd; empty where it cannot be read."""
    try:
        return parse_passwd(read_text(host_root / "etc/passwd"))
    except (SourceAbsent, SourceFailed):
        return {}  # the number is shown instead


def parse_passwd(text: str) -> dict[int, str]:
    """Parse user names by number."""
    users: dict[int, str] = {}
    for line in text.split("\n"):
        fields = line.split(":")
        if len(fields) > UID_FIELD and fields[UID_FIELD].isdecimal():
            users.setdefault(int(fields[UID_FIELD]), clean_text(fields[0]))
    return users


@dataclass(frozen=True, slots=True)
class PidScope:
    """What the pids of a proc filesystem are good for.

    `reason` is None when they may be those of the host, else the word that says why not;
    `is_certain` when they are for sure.
    """

    reason: str | None
    is_certain: bool = False


def pid_scope(proc_root: Path) -> PidScope:
    """Tell what the pids under this proc root are good for.

    Only the host's own namespace has the kernel's threads, with kthreadd as process 2.
    """
    if shows_kernel_threads(proc_root):
        return PidScope(None, is_certain=True)
    if not is_there(proc_root / "1/stat"):  # with hidepid=1 the folder of process 1 is there
        return PidScope("proc_hidden")  # mounted with hidepid, or not at all
    is_ours_initial = is_initial(proc_root)
    if is_ours_initial is None:
        # A proc filesystem that does not show ourselves: its first process has to tell.
        first = _name(proc_root, 1)
        return PidScope(None if first is None or first in HOST_INITS else "no_host_pids")
    return PidScope(None, is_certain=True) if is_ours_initial else PidScope("no_host_pids")


def _name(proc_root: Path, pid: int) -> str | None:
    try:
        stat = parse_stat(read_text(proc_root / str(pid) / "stat", 4096))
    except (SourceAbsent, SourceFailed):
        return None
    return None if stat is None else stat.name
