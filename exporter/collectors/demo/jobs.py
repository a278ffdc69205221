"""The processes of the simulated node, and their load at each second."""

import hashlib
import math
from collections.abc import Callable

from exporter.collectors.demo.script import ECC_BURST, FELL_OFF, RESET_SECS, SLOW_DISK, Now
from exporter.record import dataclass

GIB = 2**30
ROLES = 8
BATCH_PERIOD_SECS = 600
BATCH_SECS = 420

Load = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Job:
    """One workload; outside pods `namespace` and `pod` are empty. `load` gives percent."""

    first_pid: int
    command: str
    memory_bytes: int
    load: Load
    namespace: str = ""
    pod: str = ""
    container: str = ""
    unit_cgroup: str = ""

    @property
    def pod_uid(self) -> str:
        """A UUID that is the same in every run."""
        digits = _digest(f"{self.namespace}/{self.pod}")
        return "-".join(
            (digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:32])
        )

    @property
    def container_id(self) -> str:
        """64 hexadecimal digits that are the same in every run."""
        return _digest(f"{self.namespace}/{self.pod}/{self.container}")

    @property
    def cgroup(self) -> str:
        """The cgroup as the systemd driver of containerd names it, or that of the unit."""
        if not self.pod:
            return self.unit_cgroup
        uid = self.pod_uid.replace("-", "_")
        return (
            "/kubepods.slice/kubepods-burstable.slice"
            f"/kubepods-burstable-pod{uid}.slice/cri-containerd-{self.container_id}.scope"
        )


@dataclass(frozen=True, slots=True)
class Running:
    """One process of a job on one GPU."""

    pid: int
    job: Job
    percent: float
    is_waiting: bool = False  # asleep in the kernel, behind a disk


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _training(secs: int) -> float:
    """Flat out, with a checkpoint every ten minutes."""
    return 4.0 if secs % 600 >= 575 else 97.0  # noqa: PLR2004 - the last 25 s of ten minutes


def _chat(secs: int) -> float:
    return 48.0 + 34.0 * math.sin(secs * math.tau / 1500)


def _embedding(secs: int) -> float:
    return 12.0 + 6.0 * math.sin(secs * math.tau / 420)


def _notebook(secs: int) -> float:
    """Somebody went for lunch and left the memory allocated."""
    return 78.0 if secs % 1200 < 60 else 0.0  # noqa: PLR2004 - the first minute of twenty


def _batch(_: int) -> float:
    return 88.0


TRAINING = Job(41000, "python3", 71 * GIB, _training, "ml", "llama-train-0", "trainer")
CHAT = Job(42000, "vllm", 62 * GIB, _chat, "serving", "chat-7c9d5b8f4-x2x6q", "server")
EMBEDDING = Job(43000, "tritonserver", 9 * GIB, _embedding, "serving", "embed-0", "triton")
NOTEBOOK = Job(44000, "jupyter-lab", 18 * GIB, _notebook, "research", "ada-notebook-0", "notebook")
BATCH = Job(
    45000,
    "blender",
    11 * GIB,
    _batch,
    unit_cgroup="/user.slice/user-1000.slice/session-3.scope",
)
JOBS = (TRAINING, CHAT, EMBEDDING, NOTEBOOK, BATCH)

_BY_ROLE: tuple[tuple[Job, ...], ...] = (
    (TRAINING,),
    (TRAINING,),
    (TRAINING,),
    (TRAINING,),
    (CHAT,),
    (CHAT, EMBEDDING),
    (NOTEBOOK,),
    (BATCH,),
)


def jobs_of(index: int) -> tuple[Job, ...]:
    """List the jobs that this GPU is given to."""
    return _BY_ROLE[index % ROLES]


def running_on(index: int, now: Now) -> tuple[Running, ...]:
    """List the processes on this GPU at this second; none where it rests for its repair."""
    if now.of_gpu(FELL_OFF, index) is not None or is_reset(index, now):
        return ()
    is_stalled = now.of_node(SLOW_DISK) is not None
    found = (_running(job, index, now.secs, is_stalled=is_stalled) for job in jobs_of(index))
    return tuple(one for one in found if one is not None)


def is_reset(index: int, now: Now) -> bool:
    """Whether the GPU is drained now, to be repaired at the end of its incident."""
    return any(
        lasted >= incident.ends - incident.starts - RESET_SECS
        for incident, lasted in now.lasting
        if (incident.name, incident.gpu) == (ECC_BURST, index)
    )


def _running(job: Job, index: int, secs: int, *, is_stalled: bool) -> Running | None:
    if job is BATCH:
        run, moment = divmod(secs, BATCH_PERIOD_SECS)
        if moment >= BATCH_SECS:
            return None
        return Running(job.first_pid + index + 100 * (run % 50), job, job.load(secs))
    if job is TRAINING and is_stalled:
        return Running(job.first_pid + index, job, 0.0, is_waiting=True)
    return Running(job.first_pid + index, job, job.load(secs))
