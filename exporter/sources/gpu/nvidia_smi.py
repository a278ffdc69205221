"""GPUs by nvidia-smi: runs it under a deadline; what it prints is read elsewhere.

Texts: https://docs.nvidia.com/deploy/nvidia-smi/
"""

import asyncio
import logging
import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from exporter.config import Gpu as GpuConfig
from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.probes.child import Children, Command, Finished, run_once
from exporter.sources.gpu.backend import BackendError, GpuAnswer
from exporter.sources.gpu.smi_failures import UNKNOWN_FIELD, WARNING_CODE, reason_of_failure
from exporter.sources.gpu.smi_fields import COLUMNS
from exporter.sources.gpu.smi_output import (
    APP_FIELDS,
    IDENTITY,
    NAME,
    parse_apps,
    parse_gpus,
    with_processes,
)

OUTPUT_LIMIT_BYTES = 4 * 1024 * 1024
READ_FOR_SENTENCES_BYTES = 65536

log = logging.getLogger("exporter.sources.gpu.source")


class NvidiaSmiBackend:
    """Runs nvidia-smi twice for each pass, for GPUs and for processes, under one deadline.

    Remembers fields that this version does not know.
    """

    def __init__(
        self,
        children: Children,
        paths: tuple[Path, ...],
        environment: Mapping[str, str],
        timeout_secs: float,
    ) -> None:
        self._children = children
        self._paths = paths
        self._environment = {**environment, "LC_ALL": "C"}
        self._timeout_secs = timeout_secs
        self._unknown: set[str] = set()

    async def ask(self) -> GpuAnswer:
        """One pass over all GPUs; raises BackendError."""
        program = next((path for path in self._paths if is_trustworthy(path)), None)
        if program is None:
            raise BackendError("no_program", "nvidia-smi is not at any of gpu.smi_paths")
        deadline = asyncio.get_running_loop().time() + self._timeout_secs
        answer = await self._ask_for_gpus(program, deadline)
        if answer.is_partial:
            return answer
        return await self._add_processes(program, answer, deadline)

    async def close(self) -> None:
        """Nothing runs between two passes."""

    async def _ask_for_gpus(self, program: Path, deadline: float) -> GpuAnswer:
        while True:
            fields = self._fields()
            finished = await self._run(program, "gpu", fields, deadline)
            unknown = UNKNOWN_FIELD.search(_all_text(finished))
            if unknown is None or unknown[1] not in fields or unknown[1] in (*IDENTITY, NAME):
                return parse_finished(finished, fields)
            log.debug("nvidia-smi does not know %s", unknown[1])
            self._unknown.add(unknown[1])

    def _fields(self) -> tuple[str, ...]:
        """All that this version may know; a column under its older name where it has one."""
        asked = []
        for column in COLUMNS:
            if column.query not in self._unknown:
                asked.append(column.query)
            elif column.older is not None and column.older not in self._unknown:
                asked.append(column.older)
        return (*IDENTITY, *asked, NAME)

    async def _add_processes(self, program: Path, answer: GpuAnswer, deadline: float) -> GpuAnswer:
        """The answer with processes; without, where they cannot be had."""
        try:
            finished = await self._run(program, "compute-apps", APP_FIELDS, deadline)
        except BackendError:
            return answer
        text = finished.output.decode("utf-8", "replace")
        if finished.problem is not None or reason_of_failure(finished.code, text) is not None:
            return answer
        return replace(answer, gpus=with_processes(answer.gpus, parse_apps(text)))

    async def _run(
        self, program: Path, what: str, fields: tuple[str, ...], deadline: float
    ) -> Finished:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise BackendError("timeout", "nvidia-smi takes too long to learn what it knows")
        query = f"--query-{what}={','.join(fields)}"
        argv = (str(program), query, "--format=csv,noheader,nounits")
        try:
            return await run_once(
                self._children,
                Command(argv, self._environment),
                timeout_secs=left,
                limit_bytes=OUTPUT_LIMIT_BYTES,
            )
        except OSError as error:
            raise BackendError("no_program", f"{program}: {error.strerror}") from error


def is_trustworthy(program: Path) -> bool:
    """Whether this is a file that only root or we can have put there."""
    try:
        found, folder = program.stat(), program.parent.stat()
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode) or not os.access(program, os.X_OK):
        return False
    owners = {0, os.geteuid()}
    anyone = stat.S_IWOTH
    return (
        found.st_uid in owners
        and not found.st_mode & anyone
        and not (folder.st_mode & anyone and not folder.st_mode & stat.S_ISVTX)
    )


def parse_finished(finished: Finished, fields: tuple[str, ...]) -> GpuAnswer:
    """The GPUs of a run, good rows of a failed run included; raises BackendError without any."""
    answer = parse_gpus(finished.output.decode("utf-8", "replace"), fields)
    problem = finished.problem or reason_of_failure(finished.code, _all_text(finished))
    if finished.problem in ("flood", "stuck") or not (answer.gpus or answer.problems):
        reason = problem or "garbage"
        raise BackendError(reason, f"nvidia-smi: {reason}{_first_words(finished)}")
    if finished.code == WARNING_CODE:
        answer = replace(answer, missing=(*answer.missing, Missing("inforom", "corrupted_inforom")))
    return replace(answer, is_partial=problem is not None)


def _all_text(finished: Finished) -> str:
    parts = (finished.output[:READ_FOR_SENTENCES_BYTES], finished.errors[:READ_FOR_SENTENCES_BYTES])
    return b"\n".join(parts).decode("utf-8", "replace")


def _first_words(finished: Finished) -> str:
    words = clean_text(finished.errors[:200] or finished.output[:200])
    return f" ({words})" if words else ""


def program_paths(config: GpuConfig, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """List the configured files, then every directory of the PATH."""
    directories = [part for part in environment.get("PATH", "").split(":") if part.startswith("/")]
    return (
        *(Path(path) for path in config.smi_paths),
        *(Path(directory, "nvidia-smi") for directory in directories),
    )
