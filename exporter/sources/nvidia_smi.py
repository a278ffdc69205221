"""GPUs by nvidia-smi: runs it under a deadline and reads its CSV.

Field names: `nvidia-smi --help-query-gpu`; texts: https://docs.nvidia.com/deploy/nvidia-smi/
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.model.gpu import Gpu
from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.probes.child import Children, Command, Finished, run_once
from exporter.sources.gpu_answer import GpuAnswer, GpuProblem, WayFailed
from exporter.sources.gpu_sanity import believable

OUTPUT_LIMIT_BYTES = 4 * 1024 * 1024
MIB = 1024 * 1024

ABSENT = {
    "",
    "n/a",
    "not available",
    "not supported",
    "unknown error",
    "gpu requires reset",
    "insufficient permissions",
    "err!",
    "no data",
    "unknown",
    "not found",
    "reset required",
    "gpu is lost",
}
"""What nvidia-smi writes where it has no value, without brackets, in lower case."""

_SENTENCES = (
    (re.compile(r"driver/library version mismatch", re.IGNORECASE), "version_mismatch"),
    (re.compile(r"no devices were found", re.IGNORECASE), "no_devices"),
    (
        re.compile(r"couldn't communicate with the nvidia driver", re.IGNORECASE),
        "driver_not_loaded",
    ),
    (
        re.compile(r"insufficient (external )?power|power cables", re.IGNORECASE),
        "insufficient_power",
    ),
    (re.compile(r"insufficient permissions|permission denied", re.IGNORECASE), "no_permission"),
    (
        re.compile(r"gpu is lost|unable to determine the device handle|reboot", re.IGNORECASE),
        "gpu_lost",
    ),
    (re.compile(r"couldn't find libnvidia-ml|nvml.*not found", re.IGNORECASE), "no_library"),
)
_EXIT_CODES = {
    4: "no_permission",
    6: "no_devices",
    8: "insufficient_power",
    9: "driver_not_loaded",
    12: "no_library",
    15: "gpu_lost",
    18: "version_mismatch",
}
_UNKNOWN_FIELD = re.compile(r'Field "([^"]{1,80})" is not a valid field')
_LOST = re.compile(
    r"(?:device handle for (?:GPU)?|GPU )\s*(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)",
    re.IGNORECASE,
)


def _mib(value: float) -> int:
    return round(value * MIB)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the field asked for, where it goes, and how its number is converted."""

    query: str
    field: str
    convert: Callable[[float], float]


COLUMNS = (
    Column("memory.total", "memory_total_bytes", _mib),
    Column("memory.used", "memory_used_bytes", _mib),
    Column("memory.free", "memory_free_bytes", _mib),
    Column("utilization.gpu", "utilization_percent", float),
    Column("temperature.gpu", "temperature_celsius", float),
    Column("power.draw", "power_draw_watts", float),
    Column("enforced.power.limit", "power_limit_watts", float),
)
IDENTITY = ("index", "uuid", "name", "driver_version")


class NvidiaSmiWay:
    """Runs nvidia-smi once for each pass; remembers fields that this version does not know."""

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
        """One pass over all GPUs; raises WayFailed."""
        program = next((path for path in self._paths if path.is_file()), None)
        if program is None:
            raise WayFailed("no_program", "nvidia-smi is not at any of gpu.smi_paths")
        while True:
            fields = (*IDENTITY, *(c.query for c in COLUMNS if c.query not in self._unknown))
            finished = await self._run(program, fields)
            unknown = _UNKNOWN_FIELD.search(_all_text(finished))
            if unknown is None or unknown[1] not in fields or unknown[1] in IDENTITY:
                return parse_finished(finished, fields)
            self._unknown.add(unknown[1])

    async def _run(self, program: Path, fields: tuple[str, ...]) -> Finished:
        command = Command(
            (str(program), f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"),
            self._environment,
        )
        try:
            return await run_once(
                self._children,
                command,
                timeout_secs=self._timeout_secs,
                limit_bytes=OUTPUT_LIMIT_BYTES,
            )
        except OSError as error:
            raise WayFailed("no_program", f"{program}: {error.strerror}") from error

    async def close(self) -> None:
        """Nothing runs between two passes."""


def parse_finished(finished: Finished, fields: tuple[str, ...]) -> GpuAnswer:
    """The GPUs of a run, good rows of a failed run included; raises WayFailed without any."""
    text = finished.output.decode("utf-8", "replace")
    answer = parse_csv(text, fields)
    problem = finished.problem or reason_of_failure(finished.code, _all_text(finished))
    if finished.problem is not None or (not answer.gpus and not answer.problems):
        reason = problem or "garbage"
        raise WayFailed(reason, f"nvidia-smi: {reason}{_first_words(finished)}")
    return answer


def reason_of_failure(code: int | None, text: str) -> str | None:
    """Why a run failed, in one word; None for a good one."""
    if code in (0, 14):  # 14: a warning about the infoROM, the data are whole
        return None
    for pattern, reason in _SENTENCES:
        if pattern.search(text):
            return reason
    return _EXIT_CODES.get(code or 0, f"exit_{code}")


def parse_csv(text: str, fields: tuple[str, ...]) -> GpuAnswer:
    """The GPUs of `--format=csv,noheader,nounits`; sentences among the rows name lost GPUs."""
    gpus, problems, missing = [], [], []
    rejected: Counter[str] = Counter()
    driver_version = None
    lines = text.replace("\r", "").replace("\0", "").split("\n")
    for row in csv.reader(lines, skipinitialspace=True):
        if len(row) != len(fields):
            problems += _lost_gpus(",".join(row))
            continue
        values = dict(zip(fields, (cell.strip() for cell in row), strict=True))
        gpu, absent = _gpu(values)
        if gpu is None:
            continue
        gpu, impossible = believable(gpu)
        gpus.append(gpu)
        missing += [Missing(f"gpu{gpu.index}.{field}", reason) for field, reason in absent]
        rejected.update(impossible)
        driver_version = driver_version or _said(values["driver_version"])
    return GpuAnswer(
        gpus=tuple(gpus),
        problems=tuple(problems),
        driver_version=driver_version,
        missing=tuple(missing),
        rejected=dict(rejected),
    )


def _gpu(values: Mapping[str, str]) -> tuple[Gpu | None, list[tuple[str, str]]]:
    """One row as a GPU, and what it does not say; None for a row that is not a GPU's."""
    index, uuid = values["index"], values["uuid"]
    if not (index.isascii() and index.isdigit()) or not uuid.startswith(("GPU-", "MIG-")):
        return None, []
    numbers: dict[str, Any] = {}
    absent = []
    for column in COLUMNS:
        value = number(values.get(column.query, ""))
        if value is None:
            absent.append((column.field, clean_text(values.get(column.query, "unknown field"))))
        else:
            numbers[column.field] = column.convert(value)
    name = clean_text(values["name"]) or "unknown"
    return Gpu(index=int(index), uuid=clean_text(uuid), name=name, **numbers), absent


def number(cell: str) -> float | None:
    """The number of a cell, decimal comma and unit tolerated; None for all ways of being absent."""
    if _said(cell) is None:
        return None
    match = re.fullmatch(r"(-?\d{1,19}(?:[.,]\d{1,9})?)(?: ?[A-Za-z%]{1,8})?", cell.strip())
    return float(match[1].replace(",", ".")) if match else None


def _said(cell: str) -> str | None:
    text = clean_text(cell)
    return None if text.strip("[]").strip().lower() in ABSENT else text


def _lost_gpus(line: str) -> list[GpuProblem]:
    """A lost GPU named by a sentence: it is told apart by its bus address only."""
    return [GpuProblem("gpu_lost") for _ in _LOST.finditer(line)]


def _all_text(finished: Finished) -> str:
    return (finished.output[:65536] + b"\n" + finished.errors[:65536]).decode("utf-8", "replace")


def _first_words(finished: Finished) -> str:
    words = clean_text(finished.errors[:200] or finished.output[:200])
    return f" ({words})" if words else ""
