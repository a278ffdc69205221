"""GPUs by nvidia-smi: runs `nvidia-smi -q -x` under a deadline; reading it is done elsewhere.

Texts: https://docs.nvidia.com/deploy/nvidia-smi/
"""

import asyncio
import ctypes
import os
import re
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from exporter.collectors.gpu.backend import BackendError, Deadline, GpuAnswer, GpuProblem
from exporter.collectors.gpu.smi.output import (
    WARNING_CODE,
    MigNamesByPlace,
    failed_handles,
    needs_names,
    parse_document,
    parse_list,
    reason_of_failure,
)
from exporter.collectors.gpu.smi.xml import SmiDocument
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.pcie.address import pci_address
from exporter.config import GpuConfig
from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.probes.child import Children, Command, Finished, adopted, reap, run_once
from exporter.probes.trusted_program import first_trustworthy, paths_in
from exporter.record import dataclass, replace

PROGRAM = "nvidia-smi"
OUTPUT_LIMIT_BYTES = 4 * 1024 * 1024
LIST_LIMIT_BYTES = 256 * 1024
ERRORS_READ_BYTES = 64 * 1024
"""A flood of errors is not searched for sentences to its end: that took seconds."""

_INFOROM = re.compile(r"infoROM is corrupted at gpu ([0-9a-fA-F:.]{7,20})", re.IGNORECASE)
PR_SET_CHILD_SUBREAPER = 36
MAX_ORPHANS = 1000
MAX_RETRIES = 16
"""So many GPUs that cannot be opened are left out in one pass, one run for each."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of `nvidia-smi -q -x`: how it ended, and the document it printed."""

    finished: Finished
    document: SmiDocument

    @property
    def text(self) -> str:
        """The text that the program printed beside its document, of errors the beginning."""
        errors = self.finished.errors[:ERRORS_READ_BYTES].decode("utf-8", "replace")
        return "\n".join((*self.document.sentences, errors))

    @property
    def reason(self) -> str | None:
        """Why it failed, in one word; None for a good run."""
        return self.finished.problem or reason_of_failure(self.finished.code, self.text)


class Orphans:
    """Adopts orphans of our children (prctl(2)), as long as wanted.

    A child of ours that we did not start was adopted.
    """

    _is_adopting = False

    def adopt(self, *, wanted: bool = True) -> None:
        """Become the parent of orphaned descendants, or no longer."""
        if wanted != self._is_adopting:
            self._is_adopting = wanted
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)

    def end(self, program: str) -> None:
        """Kill adopted processes of this program, and reap ended ones."""
        name = program[:15]  # the kernel keeps 15 characters
        found = adopted()[:MAX_ORPHANS]
        for pid in found:
            if _name(pid) == name:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        reap(found)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""  # the process has ended


class NvidiaSmiBackend:
    """Runs `nvidia-smi -q -x` once for each pass.

    Where a GPU cannot be opened nvidia-smi prints none: the others are asked for by address.
    `bound_gpus` lists the GPUs that the driver is bound to.
    """

    def __init__(
        self,
        children: Children,
        paths: tuple[Path, ...],
        environment: Mapping[str, str],
        deadline: Deadline,
        bound_gpus: Callable[[], Awaitable[tuple[str, ...]]],
    ) -> None:
        self._children = children
        self._paths = paths
        self._environment = {**environment, "LC_ALL": "C"}
        self._deadline = deadline
        self._bound_gpus = bound_gpus
        self._orphans = Orphans()
        self._known: dict[str, int] = {}
        self._mig_names: MigNamesByPlace = {}

    async def ask(self) -> GpuAnswer:
        """Read all GPUs in one pass; raises BackendError."""
        program = first_trustworthy(self._paths)
        if program is None:
            raise BackendError("no_program", "nvidia-smi is not at any of gpu.smi_paths")
        loop = asyncio.get_running_loop()
        started = loop.time()
        self._orphans.adopt()
        try:
            answer = await self._ask(program, started + self._deadline.secs)
        except BackendError as error:
            if error.reason == "timeout":
                self._deadline.took(loop.time() - started)
            raise
        finally:
            self._orphans.end(PROGRAM)
        self._deadline.took(loop.time() - started)
        return answer

    async def close(self) -> None:
        """End what the last run has left behind: nothing else runs between two passes."""
        self._orphans.end(PROGRAM)
        self._orphans.adopt(wanted=False)

    async def _ask(self, program: Path, deadline: float) -> GpuAnswer:
        run = await self._query(program, (), deadline)
        problems = tuple(failed_handles(run.text)) if run.reason else ()
        if problems and not run.document.gpus:
            return await self._ask_others(program, problems, deadline)
        answer = await self._answer(program, run, deadline)
        if not answer.is_partial:
            self._known = {gpu.pci_bus_id: gpu.index for gpu in answer.gpus if gpu.pci_bus_id}
        return answer

    async def _ask_others(
        self, program: Path, problems: tuple[GpuProblem, ...], deadline: float
    ) -> GpuAnswer:
        """Ask for all GPUs but those that cannot be opened, until the rest can."""
        bound = () if self._known else await self._bound_gpus()
        indexes = self._known or {address: index for index, address in enumerate(bound)}
        for _ in range(MAX_RETRIES):
            failed = {problem.pci_bus_id or problem.index for problem in problems}
            others = [a for a, index in indexes.items() if not failed & {a, index}]
            if not others:
                return GpuAnswer((), _placed(problems, indexes), is_partial=not indexes)
            run = await self._query(program, (f"--id={','.join(others)}",), deadline)
            if run.document.gpus or not run.reason:
                answer = await self._answer(program, run, deadline, indexes)
                placed = _placed(problems, indexes)
                return replace(answer, problems=(*answer.problems, *placed))
            more = tuple(failed_handles(run.text))
            if not more or {p.pci_bus_id or p.index for p in more} <= failed:
                break
            problems = (*problems, *more)
        return GpuAnswer((), _placed(problems, indexes), is_partial=True)

    async def _answer(
        self,
        program: Path,
        run: Run,
        deadline: float,
        indexes: Mapping[str, int] | None = None,
    ) -> GpuAnswer:
        """Read the GPUs of a run, a failed one included; raises BackendError without any."""
        if needs_names(run.document, self._mig_names):
            self._mig_names = await self._list(program, deadline)
        answer = parse_document(run.document, indexes, self._mig_names)
        reason = run.reason
        is_useless = not (answer.gpus or answer.problems)
        if run.finished.problem in ("flood", "stuck") or is_useless:
            reason = reason or "garbage"
            raise BackendError(reason, f"nvidia-smi: {reason}{_first_words(run)}")
        if run.finished.code == WARNING_CODE:
            answer = _with_damaged_inforom(answer, run.text)
        return replace(answer, is_partial=answer.is_partial or reason is not None)

    async def _query(self, program: Path, chosen: tuple[str, ...], deadline: float) -> Run:
        document = SmiDocument()
        finished = await self._run(
            program, ("-q", "-x", *chosen), deadline, OUTPUT_LIMIT_BYTES, document.feed
        )
        document.close()
        return Run(finished, document)

    async def _list(self, program: Path, deadline: float) -> MigNamesByPlace:
        """Ask for the names of MIG devices; those known before where they cannot be had."""
        try:
            finished = await self._run(program, ("-L",), deadline, LIST_LIMIT_BYTES)
        except BackendError:
            return self._mig_names
        return parse_list(finished.output.decode("utf-8", "replace")) or self._mig_names

    async def _run(
        self,
        program: Path,
        arguments: tuple[str, ...],
        deadline: float,
        limit_bytes: int,
        sink: Callable[[bytes], None] | None = None,
    ) -> Finished:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise BackendError("timeout", "nvidia-smi takes too long")
        try:
            return await run_once(
                self._children,
                Command((str(program), *arguments), self._environment),
                timeout_secs=left,
                limit_bytes=limit_bytes,
                sink=sink,
            )
        except OSError as error:
            raise BackendError("no_program", f"{program}: {error.strerror}") from error


def _placed(problems: tuple[GpuProblem, ...], indexes: Mapping[str, int]) -> tuple[GpuProblem, ...]:
    """Add the place of each GPU to its problem, where its address tells it."""
    return tuple(
        problem
        if problem.index is not None
        else replace(problem, index=indexes.get(problem.pci_bus_id or ""))
        for problem in problems
    )


def _with_damaged_inforom(answer: GpuAnswer, text: str) -> GpuAnswer:
    """Mark the GPUs whose infoROM is named as corrupted; the only one where none is named."""
    named = {pci_address(bus) for bus in _INFOROM.findall(text)}

    def marked(gpu: Gpu) -> Gpu:
        is_it = gpu.pci_bus_id in named or (not named and len(answer.gpus) == 1)
        return replace(gpu, inforom_valid=False) if is_it else gpu

    missing = (*answer.missing, Missing("inforom", "corrupted_inforom"))
    return replace(answer, gpus=tuple(map(marked, answer.gpus)), missing=missing)


def _first_words(run: Run) -> str:
    words = clean_text(run.text[:200]) or run.document.problem
    return f" ({words})" if words else ""


def program_paths(config: GpuConfig, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """List the configured files, then every directory of the PATH."""
    return (*map(Path, config.smi_paths), *paths_in(environment, PROGRAM))
