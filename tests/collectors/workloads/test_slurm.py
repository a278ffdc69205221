"""Jobs of Slurm: what their processes say of them, and what nobody is asked for."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.blocking import DaemonThreads
from exporter.collectors.gpu.values import Gpu, GpuBackend, GpuProcess, Gpus, GpuState
from exporter.collectors.workloads.processes import ProcessReader
from exporter.collectors.workloads.slurm import (
    MAX_ENVIRON_BYTES,
    MOST_HANGING,
    SlurmJobs,
    parse_environ,
)
from exporter.collectors.workloads.source import WorkloadSource
from exporter.collectors.workloads.values import SlurmJob, Workloads
from exporter.config.file import Layer, load
from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot
from tests.collectors.node_tree import TICKS, NodeTree
from tests.fakes.source_context import source_context
from tests.program import wait_for

READ_AT = 1000.0
ARRAY = {
    "SLURM_JOB_ACCOUNT": "physics",
    "SLURM_ARRAY_JOB_ID": "7",
    "SLURM_ARRAY_TASK_ID": "3",
    "SLURM_JOB_USER": "root",
    "TOKEN": "hush-4711",
}


class Jobs:
    """Jobs on a GPU of a fake tree, read as the configuration asks."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.tree = NodeTree(folder)
        (self.tree.root / "etc").mkdir()
        (self.tree.root / "etc/passwd").write_text("ada:x:1000:1000::/home/ada:/bin/sh\n")
        self.pids: list[int] = []
        sources = {"proc_root": str(self.tree.proc), "host_root": str(self.tree.root)}
        asked = {"sources": sources, "processes": {"slurm_jobs": True, **settings}}
        ctx = source_context(
            load([Layer("test", asked)]), call=DaemonThreads(), boottime=lambda: READ_AT
        )
        self.source = WorkloadSource(ctx)

    def process(
        self,
        pid: int,
        job: object,
        said: dict[str, str] | None,
        *,
        state: str = "S",
        uid: int = 1000,
    ) -> Path:
        """A process of a job, with this environment or none; returns the file."""
        name = f"job_{job}" if isinstance(job, int) else job
        cgroup = f"0::/system.slice/slurmstepd.scope/{name}/step_0/user/task_0"
        self.tree.process(pid, cgroup, state=state, uid=uid)
        self.pids.append(pid)
        file = self.tree.proc / str(pid) / "environ"
        if said is not None:
            file.write_text("".join(f"{name}={value}\0" for name, value in said.items()))
        return file

    def hanging(self, pid: int, job: int) -> Path:
        """A process whose environment does not answer: a pipe that nobody writes to."""
        file = self.process(pid, job, None)
        os.mkfifo(file)
        return file

    async def reading(self) -> Reading[Workloads]:
        processes = tuple(GpuProcess(pid, "compute", 2**30) for pid in self.pids)
        state = GpuState(Gpu(0, "GPU-0", "H100", processes=processes), READ_AT)
        readings: dict[type, object] = {Gpus: Gpus(GpuBackend("nvml", "ok"), (state,))}
        return await self.source.read_after(Snapshot("n", 1, 0.0, READ_AT, 0.0, readings))

    async def read(self) -> tuple[SlurmJob, ...]:
        return (await self.reading()).value.jobs

    async def until(self, count: int) -> tuple[SlurmJob, ...]:
        """The jobs, once there are so many."""
        for _ in range(500):
            if len(found := await self.read()) == count:
                return found
            await asyncio.sleep(0.01)
        raise AssertionError(f"{len(found)} jobs in place of {count}")

    async def missing(self) -> list[str]:
        found = (await self.reading()).missing
        return [it.reason for it in found if it.field == "slurm_jobs"]


def _job(job: int, *said: str, user: str = "ada") -> SlurmJob:
    array_job, array_task, account = said or ("", "", "")
    return SlurmJob(f"slurm/job_{job}", str(job), array_job, array_task, account, user)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    """A node where jobs are read."""
    return Jobs(tmp_path)


async def test_a_job_is_named_by_its_sluid_from_slurm_26_05_on(jobs: Jobs) -> None:
    """There it is the name of the cgroup; the tools of Slurm take it as they take the number."""
    jobs.process(10, "s0DQK7Z3N8R100", ARRAY)
    expected = SlurmJob("slurm/s0DQK7Z3N8R100", "s0DQK7Z3N8R100", "7", "3", "physics", user="ada")
    assert await jobs.read() == (expected,)


async def test_a_job_has_its_account_task_and_user(jobs: Jobs) -> None:
    """Once for all its processes; the user is the owner of the process, not what it says."""
    jobs.process(10, 9, ARRAY)
    jobs.process(11, 9, ARRAY)
    jobs.process(12, 8, {"SLURM_JOB_ACCOUNT": "chem"}, uid=4711)
    jobs.tree.process(13, "0::/system.slice/a.service")
    jobs.pids.append(13)
    assert await jobs.read() == (
        _job(8, "", "", "chem", user="4711"),
        _job(9, "7", "3", "physics"),
    )
    assert await jobs.missing() == []


@pytest.mark.parametrize("settings", [{"slurm_jobs": False}, {"redact": ["container"]}])
async def test_no_environment_is_opened_unless_asked_for(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    """Off by default, and off while jobs have no names: a file that hangs is not noticed."""
    jobs = Jobs(tmp_path, **settings)
    jobs.hanging(10, 9)
    reading = await asyncio.wait_for(jobs.reading(), 5)
    assert (reading.value.jobs, reading.missing[1:]) == ((), ())
    assert reading.value.uses[0].processes == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SLURM_JOB_ACCOUNT=a.b-c_d@e+1\0", {"SLURM_JOB_ACCOUNT": "a.b-c_d@e+1"}),
        ("SLURM_JOB_ACCOUNT=first\0SLURM_JOB_ACCOUNT=second\0", {"SLURM_JOB_ACCOUNT": "first"}),
        ("SLURM_JOB_ACCOUNT=a b\0SLURM_ARRAY_TASK_ID=0\0", {"SLURM_ARRAY_TASK_ID": "0"}),
        ('SLURM_JOB_ACCOUNT=a"} 1\nhw_x 1\0', {}),
        (f"SLURM_JOB_ACCOUNT={'a' * 65}\0", {}),
        ("SLURM_JOB_ACCOUNT=\0SLURM_JOB_ACCOUNT\0=\0", {}),
        ("SLURM_ARRAY_TASK_ID=1e3\0SLURM_ARRAY_JOB_ID=-1\0", {}),
        ("SLURM_ARRAY_TASK_ID=12345678901\0SLURM_ARRAY_JOB_ID=٣\0", {}),
        ("XSLURM_JOB_ACCOUNT=a\0slurm_job_account=a\0A=SLURM_JOB_ACCOUNT=a\0", {}),
        ("SLURM_JOB_USER=ada\0SLURM_JOB_NAME=x\0AWS_SECRET_ACCESS_KEY=hush\0", {}),
        ("", {}),
    ],
)
def test_only_names_and_numbers_of_three_variables_are_kept(
    text: str, said: dict[str, str]
) -> None:
    """As getenv the first of each counts; what cannot be a name of Slurm is as if not there."""
    assert parse_environ(text) == said


async def test_what_is_too_far_behind_is_not_read(jobs: Jobs) -> None:
    """An environment of any size costs no more than its first quarter of a megabyte."""
    jobs.process(10, 9, {"A": "x" * MAX_ENVIRON_BYTES, **ARRAY})
    assert await jobs.read() == (_job(9),)


async def test_a_process_that_says_nothing_does_not_speak_for_its_job(jobs: Jobs) -> None:
    """The next one is asked, at most eight; those that end or cannot be read are no answer."""
    jobs.process(10, 9, {})
    jobs.process(11, 9, None).mkdir()
    jobs.process(12, 9, ARRAY)
    for pid in range(20, 30):
        jobs.process(pid, 8, {} if pid < 28 else ARRAY)
    assert await jobs.read() == (_job(8), _job(9, "7", "3", "physics"))


async def test_what_may_not_be_read_is_said(jobs: Jobs) -> None:
    """One sentence for the operator, in each reading; the workloads are there all the same."""
    jobs.process(10, 9, None).mkdir()
    for _ in range(2):
        reading = await jobs.reading()
        assert reading.value.jobs == ()
        assert reading.value.uses[0].workload.container == "slurm/job_9"
        (reason,) = [it.reason for it in reading.missing if it.field == "slurm_jobs"]
        assert reason == f"{jobs.tree.proc}/10/environ cannot be read: Is a directory"


async def test_a_job_is_read_once(jobs: Jobs) -> None:
    """What a process says later changes nothing, until the job has left the GPUs."""
    file = jobs.process(10, 9, ARRAY)
    first = await jobs.read()
    file.write_text("SLURM_JOB_ACCOUNT=other\0")
    jobs.process(10, 9, None, state="D")
    assert await jobs.read() == first
    jobs.pids.clear()
    assert await jobs.read() == ()
    jobs.process(10, 9, None)
    assert await jobs.read() == (_job(9, "", "", "other"),)


async def test_a_process_that_waits_for_the_driver_is_not_asked(jobs: Jobs) -> None:
    """Its memory may be locked; it is asked when it is awake."""
    jobs.process(10, 9, ARRAY, state="D")
    assert (await jobs.read(), await jobs.missing()) == ((), [])
    jobs.process(10, 9, None)
    assert await jobs.read() == (_job(9, "7", "3", "physics"),)


async def test_a_job_that_does_not_answer_delays_no_other(jobs: Jobs) -> None:
    """Whatever a tenant does to its memory: workloads and other jobs are there."""
    pipe = jobs.hanging(10, 9)
    jobs.process(11, 8, ARRAY)
    for _ in range(3):
        reading = await asyncio.wait_for(jobs.reading(), 5)
        assert reading.value.jobs == (_job(8, "7", "3", "physics"),)
        assert len(reading.value.uses) == 2
    assert await jobs.missing() == ["slurm/job_9 does not answer"]
    pipe.write_text("SLURM_JOB_ACCOUNT=chem\0")
    assert (await jobs.until(2))[1] == _job(9, "", "", "chem")
    await jobs.source.close()


async def test_few_threads_wait(jobs: Jobs) -> None:
    """So many jobs hang and no more; those that wait behind them are read later."""
    pipes = [jobs.hanging(10 + job, job) for job in range(MOST_HANGING)]
    jobs.process(90, 90, ARRAY)
    assert await jobs.read() == ()
    for pipe in pipes:
        pipe.write_text("")
    assert (await jobs.until(MOST_HANGING + 1))[-1] == _job(90, "7", "3", "physics")


async def test_a_later_process_of_the_same_pid_speaks_for_no_job(jobs: Jobs) -> None:
    """It began after the process that was on the GPU."""
    jobs.process(10, 9, ARRAY)
    reader = ProcessReader(jobs.tree.proc, TICKS)
    before = reader.read(10)
    assert before is not None
    jobs.tree.process(10, "0::/system.slice/a.service", started=200.0)
    asked = SlurmJobs(reader, jobs.tree.proc, jobs.tree.root, DaemonThreads())
    assert await asked.read([before]) == ((), ())


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, setpriv")
@pytest.mark.parametrize(
    ("capabilities", "may_read"),
    [(("sys_ptrace", "dac_read_search"), True), (("sys_ptrace",), False), ((), False)],
)
def test_the_rights_that_the_pages_name_are_those_it_takes(
    *, capabilities: tuple[str, ...], may_read: bool
) -> None:
    """Another user reads an environment with both capabilities, and with no less."""
    given = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    drop = ("setpriv", "--clear-groups", "--reuid")
    rights = (*drop, "65534", "--inh-caps", given, "--ambient-caps", given)
    tried = subprocess.run([*rights, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(tried.stderr.strip())
    with subprocess.Popen([*drop, "1000", "sleep", "600"], env={**os.environ, **ARRAY}) as task:
        name = Path(f"/proc/{task.pid}/comm")
        wait_for(lambda: name.read_text() == "sleep\n" or None, "the task")
        read = [*rights, "cat", f"/proc/{task.pid}/environ"]
        done = subprocess.run(read, capture_output=True, text=True, check=False)
        task.kill()
    assert (parse_environ(done.stdout) != {}) == may_read, done.stderr


@pytest.fixture
def real() -> Iterator["subprocess.Popen[bytes]"]:
    """A process with the variables of a task, and others."""
    with subprocess.Popen(["sleep", "600"], env={**os.environ, **ARRAY}) as process:
        yield process
        process.kill()


@pytest.mark.system
async def test_the_kernel_shows_them(jobs: Jobs, real: "subprocess.Popen[bytes]") -> None:
    """The file of a real process has this form."""
    jobs.process(10, 9, None).symlink_to(f"/proc/{real.pid}/environ")
    (jobs.tree.proc / "10/status").unlink()
    (jobs.tree.proc / "10/status").symlink_to(f"/proc/{real.pid}/status")
    (job,) = await jobs.read()
    assert job == _job(9, "7", "3", "physics", user=str(os.getuid()))
