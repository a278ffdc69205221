"""From the text of nvidia-smi to GPUs and the processes on them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from exporter.model.gpu import Gpu, GpuProcess
from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.sources.gpu.backend import GpuAnswer, GpuProblem
from exporter.sources.gpu.smi_failures import lost_gpus
from exporter.sources.gpu.smi_fields import COLUMNS, MIB, Column, absence, number
from exporter.sources.gpu.validation import drop_implausible

IDENTITY = ("index", "uuid", "driver_version")
NAME = "name"
"""Asked for last: a name may hold commas, and nvidia-smi does not quote."""

APP_FIELDS = ("gpu_uuid", "pid", "used_gpu_memory")
ARCHITECTURES = {
    "3": "Kepler",
    "5": "Maxwell",
    "6": "Pascal",
    "7": "Volta",
    "7.5": "Turing",
    "8": "Ampere",
    "8.9": "Ada",
    "9": "Hopper",
    "10": "Blackwell",
    "12": "Blackwell",
}
"""By compute capability, the whole of it before the number in front of the point."""

FATAL = ("gpu_lost", "reset_required")


def parse_gpus(text: str, fields: Sequence[str]) -> GpuAnswer:
    """The GPUs of `--format=csv,noheader,nounits` with these fields, the name being the last.

    A line that was cut off is left out; sentences among the rows name lost GPUs.
    """
    collected = _Collected()
    for line in _lines(text):
        cells = line.split(", ", len(fields) - 1)
        if len(cells) == len(fields):
            collected.add(dict(zip(fields, (cell.strip() for cell in cells), strict=True)))
        else:
            collected.problems += lost_gpus(line)
    return GpuAnswer(
        gpus=tuple(collected.gpus),
        problems=tuple(collected.problems),
        driver_version=collected.driver_version,
        missing=tuple(collected.missing),
        rejected=dict(collected.rejected),
    )


def _lines(text: str) -> Iterator[str]:
    """Whole lines: what follows the last newline was cut off."""
    *lines, _ = text.replace("\r\n", "\n").replace("\0", "").split("\n")
    return (line for line in lines if line.strip())


class _Collected:
    """The parts of an answer while it is taken apart."""

    def __init__(self) -> None:
        self.gpus: list[Gpu] = []
        self.problems: list[GpuProblem] = []
        self.missing: list[Missing] = []
        self.rejected: Counter[str] = Counter()
        self.driver_version: str | None = None

    def add(self, cells: Mapping[str, str]) -> None:
        """One row; what is not the row of a GPU is left out."""
        index, uuid = cells["index"], clean_text(cells["uuid"])
        if not (index.isascii() and index.isdigit() and len(index) < 4):  # noqa: PLR2004 - digits
            return
        if not uuid.startswith(("GPU-", "MIG-")):
            return
        gpu, reasons = _gpu(int(index), uuid, cells)
        problem = next((word for word in FATAL if word in reasons.values()), None)
        if problem is None and any(gpu.uuid == other.uuid for other in self.gpus):
            self.rejected["uuid"] += 1
            problem, uuid = "duplicate_uuid", ""
        if problem is not None:
            self.problems.append(GpuProblem(problem, uuid or None, gpu.index))
            return
        gpu, impossible = drop_implausible(gpu)
        self.gpus.append(gpu)
        self.rejected.update(impossible)
        self.missing += [Missing(f"gpu{gpu.index}.{k}", why) for k, why in reasons.items()]
        if absence(cells["driver_version"]) is None:
            self.driver_version = clean_text(cells["driver_version"])


def _gpu(index: int, uuid: str, cells: Mapping[str, str]) -> tuple[Gpu, dict[str, str]]:
    """One row as a GPU, and why the fields it does not say are absent."""
    values: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for column in COLUMNS:
        value, reason = _value(column, cells)
        if reason is not None:
            reasons.setdefault(column.field, reason)
        elif column.labels:
            values[column.field] = (*values.get(column.field, ()), (*column.labels, value))
        else:
            values[column.field] = value
    if values.get("mig_enabled"):  # the use of the whole is nobody's, whatever is printed
        values.pop("utilization_percent", None)
        values.pop("memory_controller_utilization_percent", None)
    values["architecture"] = architecture_of(values.get("compute_capability", ""))
    if values["architecture"] is None:
        reasons["architecture"] = reasons.get("compute_capability", "not_said")
    unsaid = {field: why for field, why in reasons.items() if values.get(field) is None}
    name = clean_text(cells[NAME]) or "unknown"
    return Gpu(index=index, uuid=uuid, name=name, **values), unsaid


def architecture_of(compute_capability: str) -> str | None:
    """The generation of a chip, which nvidia-smi does not name, by its compute capability."""
    major = compute_capability.partition(".")[0]
    return ARCHITECTURES.get(compute_capability, ARCHITECTURES.get(major))


def _value(column: Column, cells: Mapping[str, str]) -> tuple[Any, str | None]:
    """The value of a column, or the reason why it has none."""
    cell = cells.get(column.query)
    if cell is None and column.older is not None:
        cell = cells.get(column.older)
    if cell is None:
        return None, "old_driver"
    reason = absence(cell)
    if reason is not None:
        return None, reason
    value = column.convert(cell)
    return value, "garbage" if value is None else None


def parse_apps(text: str) -> Mapping[str, tuple[GpuProcess, ...] | None]:
    """Compute processes by UUID; None for a GPU whose processes may not be seen."""
    found: dict[str, tuple[GpuProcess, ...] | None] = {}
    for line in _lines(text):
        cells = [cell.strip() for cell in line.split(", ")]
        if len(cells) != len(APP_FIELDS) or not cells[0].startswith(("GPU-", "MIG-")):
            continue
        uuid, pid = clean_text(cells[0]), number(cells[1])
        if pid is None or pid < 1:
            found[uuid] = None
            continue
        before = found.get(uuid, ())
        if before is not None:
            found[uuid] = (*before, GpuProcess(int(pid), "compute", _bytes(cells[2])))
    return found


def _bytes(cell: str) -> int | None:
    said = number(cell)
    return None if said is None else round(said * MIB)


def with_processes(
    gpus: Iterable[Gpu], apps: Mapping[str, tuple[GpuProcess, ...] | None]
) -> tuple[Gpu, ...]:
    """The GPUs with their processes; one that is not listed has none."""
    joined = (replace(gpu, processes=apps.get(gpu.uuid, ())) for gpu in gpus)
    return tuple(drop_implausible(gpu)[0] for gpu in joined)
