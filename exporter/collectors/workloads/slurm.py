"""Jobs of Slurm: account and array task, from the environment of a process on a GPU.

Slurm sets these variables when it starts a task (https://slurm.schedmd.com/sbatch.html, output
environment variables), and the task may change them: they are names and prove nothing. The number
of the job and its user come from the kernel. No other variable is kept.

/proc/PID/environ shows memory of the process, so a tenant can make the read wait for ever
(userfaultfd before Linux 5.11): each job is read in a thread that may be abandoned.
"""

import asyncio
import re
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.collectors.workloads.processes import (
    MAX_STAT_BYTES,
    WAITING,
    ProcessFacts,
    ProcessReader,
    parse_uid,
    read_users,
)
from exporter.collectors.workloads.values import SlurmJob
from exporter.model.reading import Missing
from exporter.reading.cgroup import JOB_OF_SLURM
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent, SourceFailed

MAX_ENVIRON_BYTES = 256 * 1024
"""What is behind it is not read; an environment seldom has a tenth of it."""

MOST_PROCESSES = 8
"""Processes of a job that are looked at until one names its account."""

MOST_HANGING = 4
PATIENCE_SECS = 0.25
"""How long a collection waits for jobs that it sees for the first time."""

_ACCOUNT = re.compile(r"[A-Za-z0-9_.@+-]{1,64}")
_NUMBER = re.compile(r"[0-9]{1,10}")
_FORMS = {
    "SLURM_JOB_ACCOUNT": _ACCOUNT,
    "SLURM_ARRAY_JOB_ID": _NUMBER,
    "SLURM_ARRAY_TASK_ID": _NUMBER,
}


def parse_environ(text: str) -> dict[str, str]:
    """Parse Slurm's variables of an environment; what cannot be a name or number is left out.

    The first of each counts, as for getenv(3).
    """
    entries = (entry.partition("=") for entry in reversed(text.split("\0")))
    variables = {name: value for name, _, value in entries if name in _FORMS}
    return {name: value for name, value in variables.items() if _FORMS[name].fullmatch(value)}


class SlurmJobs:
    """Reads each job once, when a process of it is first seen on a GPU."""

    def __init__(
        self, processes: ProcessReader, proc_root: Path, host_root: Path, call: CallBlocking
    ) -> None:
        self._processes = processes
        self._proc = proc_root
        self._root = host_root
        self._call = call
        self._known: dict[str, SlurmJob | str] = {}  # or why it cannot be read
        self._reading: dict[str, asyncio.Future[SlurmJob | str | None]] = {}

    async def read(
        self, processes: Iterable[ProcessFacts]
    ) -> tuple[tuple[SlurmJob, ...], tuple[Missing, ...]]:
        """Return the jobs of these processes as far as they are known; waits a short time."""
        here: dict[str, list[ProcessFacts]] = {}
        for facts in processes:
            if facts.owner.unit and facts.owner.unit.startswith(JOB_OF_SLURM):
                here.setdefault(facts.owner.unit, []).append(facts)
        self._take_answers()
        self._known = {unit: known for unit, known in self._known.items() if unit in here}
        new = [
            unit
            for unit, some in here.items()
            if unit not in self._known
            and unit not in self._reading
            and any(facts.state != WAITING for facts in some)
        ]
        await self._ask_all({unit: here[unit] for unit in new})
        jobs = (it for unit, it in self._known.items() if unit in here and not isinstance(it, str))
        return tuple(sorted(jobs)), self._missing(here)

    async def _ask_all(self, jobs: dict[str, list[ProcessFacts]]) -> None:
        """Read these jobs, few at once, and wait for answers; jobs that hang are left behind."""
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE_SECS
        left, waiting = deque(jobs), set[asyncio.Future[SlurmJob | str | None]]()
        while left or waiting:
            while left and len(self._reading) < MOST_HANGING:
                unit = left.popleft()
                self._reading[unit] = asyncio.ensure_future(self._ask(unit, jobs[unit]))
                waiting.add(self._reading[unit])
            if not waiting or (secs := end - loop.time()) <= 0:
                return
            _, waiting = await asyncio.wait(
                waiting, timeout=secs, return_when=asyncio.FIRST_COMPLETED
            )
            self._take_answers()

    async def close(self) -> None:
        """Cancel the reads that still hang."""
        for reading in self._reading.values():
            reading.cancel()
        await asyncio.sleep(0)

    async def _ask(self, unit: str, processes: list[ProcessFacts]) -> SlurmJob | str | None:
        awake = [facts for facts in processes if facts.state != WAITING]
        return await self._call(lambda: self._look(unit, awake[:MOST_PROCESSES]))

    def _take_answers(self) -> None:
        for unit in [unit for unit, reading in self._reading.items() if reading.done()]:
            answer = self._reading.pop(unit).result()
            if answer is not None:
                self._known[unit] = answer

    def _missing(self, here: Mapping[str, object]) -> tuple[Missing, ...]:
        reasons = [it for it in self._known.values() if isinstance(it, str)]
        reasons += [f"{unit} does not answer" for unit in here if unit in self._reading]
        return tuple(Missing("slurm_jobs", reason) for reason in reasons[:1])

    def _look(self, unit: str, processes: list[ProcessFacts]) -> SlurmJob | str | None:
        """Read a job from its processes; why it cannot be read, None if all of them have ended."""
        result: SlurmJob | str | None = None
        for facts in processes:
            folder = f"{self._proc}/{facts.pid}"
            try:
                variables = parse_environ(read_text(f"{folder}/environ", MAX_ENVIRON_BYTES))
                uid = parse_uid(read_text(f"{folder}/status", MAX_STAT_BYTES))
            except (SourceAbsent, SourceFailed) as reason:
                result = result or str(reason)
                continue
            after = self._processes.read(facts.pid)
            if after is None or after.started_boottime != facts.started_boottime:
                continue
            if variables or not isinstance(result, SlurmJob):
                result = SlurmJob(
                    container=unit,
                    job=unit.removeprefix(JOB_OF_SLURM).removeprefix("job_"),
                    array_job=variables.get("SLURM_ARRAY_JOB_ID", ""),
                    array_task=variables.get("SLURM_ARRAY_TASK_ID", ""),
                    account=variables.get("SLURM_JOB_ACCOUNT", ""),
                    user=self._user(uid),
                )
            if variables:
                break
        return result

    def _user(self, uid: int | None) -> str:
        """Return the name in the node's passwd, else the number."""
        return "" if uid is None else read_users(self._root).get(uid, str(uid))
