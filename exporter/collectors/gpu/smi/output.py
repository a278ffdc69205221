"""Parses the output of nvidia-smi: GPUs, their processes, and errors."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from exporter.collectors.gpu.backend import AnswerBuilder, GpuAnswer, GpuProblem
from exporter.collectors.gpu.smi.fabric import FABRIC_CELLS, add_fabric, unprinted
from exporter.collectors.gpu.smi.fields import CELLS, ECC_SUMS, Cell, absence, mib, number, whole
from exporter.collectors.gpu.smi.xml import Cells, GpuElement, SmiDocument
from exporter.collectors.gpu.values import Gpu, GpuProcess, MigInstance
from exporter.collectors.gpu.words import CORE_FIELDS
from exporter.collectors.pcie.address import pci_address
from exporter.model.label import clean_text
from exporter.record import dataclass

SENTENCES = (
    (r"driver/library version mismatch", "version_mismatch"),
    (r"no devices were found", "no_devices"),
    (r"couldn't communicate with the nvidia driver|driver not loaded", "driver_not_loaded"),
    (r"couldn't find libnvidia-ml|libnvidia-ml.*not found", "no_library"),
    (r"insufficient (external )?power|power cables", "insufficient_power"),
    (r"requires reset|reset required", "reset_required"),
    (r"gpu is lost|reboot the system", "gpu_lost"),
    (r"insufficient permissions|permission denied", "no_permission"),
    (r"interrupt|\birq\b", "irq_issue"),
    (r"blocked by the operating system|operation not permitted", "blocked_by_system"),
)
_SENTENCES = tuple((re.compile(pattern, re.IGNORECASE), word) for pattern, word in SENTENCES)

WARNING_CODE = 14
"""The infoROM is damaged: a warning, the data are whole."""

EXIT_CODES = {
    2: "invalid_argument",
    3: "not_supported",
    4: "no_permission",
    6: "no_devices",
    8: "insufficient_power",
    9: "driver_not_loaded",
    10: "timeout",
    11: "irq_issue",
    12: "no_library",
    13: "old_driver",
    15: "gpu_lost",
    16: "reset_required",
    17: "blocked_by_system",
    18: "version_mismatch",
    126: "no_program",
    127: "no_program",
}
"""Exit codes of nvidia-smi (`man nvidia-smi`, return value) and of what starts programs."""

_BUS = r"(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)"
_HANDLES = tuple(
    re.compile(rf"device handle for gpu ?{gpu}:? *(?P<why>.*)", re.IGNORECASE)
    for gpu in (_BUS, rf"(?P<index>\d{{1,3}})[:\s]+{_BUS}", r"(?P<index>\d{1,3})(?=[:\s])")
)
_LOST = re.compile(rf"gpu ?{_BUS}:? *(?P<why>.*)", re.IGNORECASE)
_MIG_LINE = re.compile(
    r"  MIG (?P<profile>\S{1,40}) +Device +(?P<index>\d{1,3}): \(UUID: (?P<uuid>MIG-[^)]{1,100})\)"
)
_GPU_LINE = re.compile(r"GPU \d{1,3}: .* \(UUID: (?P<uuid>GPU-[^)]{1,60})\)")
_UUID = re.compile(r"(GPU|MIG)-.*|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)
"""The second form is that of integrated GPUs (Orin, Thor)."""

FATAL = ("gpu_lost", "reset_required")
"""Reasons after which nothing else of a GPU is taken, in whichever field they stand."""

RESET_STATUS = {"reset_required": "reset", "drain_and_reset_recommended": "drain_and_reset"}
"""Elements of `gpu_reset_status`, and the recovery action that `Yes` stands for."""

KINDS = (("M", "mps"), ("C", "compute"), ("G", "graphics"))
"""Kind of a process by a letter of its type (`C`, `G`, `C+G`, `M+C`), the telling one first."""

MAX_PROCESSES = 100_000


def reason_of_failure(code: int | None, text: str) -> str | None:
    """Name why a run failed, in one word; None for a good one."""
    if code in (0, WARNING_CODE):
        return None
    reason = _reason_in(text)
    if reason is None and code is not None and code < 0:
        return "crashed"
    return reason or EXIT_CODES.get(code or 0, "unknown_error")


def _reason_in(text: str) -> str | None:
    return next((reason for pattern, reason in _SENTENCES if pattern.search(text)), None)


def failed_handles(text: str) -> Iterator[GpuProblem]:
    """Yield the GPUs that sentences name, by place, bus address or both, with their own reason."""
    for line in text.split("\n"):
        match = next(filter(None, (pattern.search(line) for pattern in (*_HANDLES, _LOST))), None)
        if match is None:
            continue
        parts = match.groupdict()
        index, bus = parts.get("index"), parts.get("bus")
        yield GpuProblem(
            reason=_reason_in(parts["why"]) or "unknown_error",
            index=int(index) if index else None,
            pci_bus_id=pci_address(bus) if bus else None,
        )


@dataclass(frozen=True, slots=True)
class MigNames:
    """What `nvidia-smi -L` tells of a MIG device and `-q -x` may not."""

    uuid: str
    profile: str


MigNamesByPlace = Mapping[tuple[str, int], MigNames]
"""By the UUID of the GPU and the number of the MIG device on it."""


def parse_list(text: str) -> MigNamesByPlace:
    """Read the MIG devices of `nvidia-smi -L`."""
    found: dict[tuple[str, int], MigNames] = {}
    gpu = ""
    for line in text.split("\n"):
        if match := _GPU_LINE.match(line):
            gpu = clean_text(match["uuid"])
        elif match := _MIG_LINE.match(line):
            names = MigNames(clean_text(match["uuid"]), clean_text(match["profile"]))
            found[gpu, int(match["index"])] = names
    return found


def parse_document(
    document: SmiDocument,
    indexes: Mapping[str, int] | None = None,
    names: MigNamesByPlace | None = None,
) -> GpuAnswer:
    """Give the GPUs of a document that was read, half of a GPU at its end left out.

    `indexes` tells the place of a GPU by its bus address; without it they stand in order.
    """
    builder = AnswerBuilder()
    for place, element in enumerate(document.gpus):
        address = pci_address(element.bus_id) or element.bus_id
        index = place if indexes is None else indexes.get(address, place)
        _add(builder, element, index, names or {})
    return builder.answer(
        driver_version=_reported(document.cells, "driver_version")
        or _reported(document.cells, "kmd_version"),
        cuda_version=_reported(document.cells, "cuda_version")
        or _reported(document.cells, "cuda_umd_version"),
        is_partial=not document.is_whole,
    )


def _add(builder: AnswerBuilder, element: GpuElement, index: int, names: MigNamesByPlace) -> None:
    """Add one GPU of the document, or the problem it has."""
    uuid = _reported(element.cells, "uuid") or ""
    gpu, reasons = _gpu(element, index, uuid, names)
    identity = {name: absence(element.cells.get(name, "")) for name in ("uuid", "product_name")}
    reason = _problem_of({**reasons, **identity})
    address, name = pci_address(element.bus_id), _reported(element.cells, "product_name")
    problem = GpuProblem(reason or "", uuid or None, index, address, name)
    if reason is not None:
        builder.problems.append(problem)
    elif _UUID.fullmatch(uuid) is None:
        builder.add_nameless(problem)
    else:
        builder.add(gpu, reasons)


def _problem_of(reasons: Mapping[str, str | None]) -> str | None:
    """Find why a GPU is not up, among the reasons of fields without value."""
    fatal = next((reason for reason in reasons.values() if reason in FATAL), None)
    if fatal is None and any(reasons.get(name) == "unknown_error" for name in CORE_FIELDS):
        return "unknown_error"
    return fatal


def _gpu(
    element: GpuElement, index: int, uuid: str, names: MigNamesByPlace
) -> tuple[Gpu, dict[str, str]]:
    """One element as a GPU, and why the fields it does not report are absent."""
    values: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for cell in (*CELLS, *FABRIC_CELLS):
        value, reason = _value(cell, element.cells)
        if reason is not None:
            reasons.setdefault(cell.field, reason)
        elif cell.labels:
            values[cell.field] = (*values.get(cell.field, ()), (*cell.labels, value))
        else:
            values[cell.field] = value
    _add_ecc(element.cells, values, reasons)
    _add_reset_status(element.cells, values)
    add_fabric(element.cells, values)
    values["unprinted"] = tuple(unprinted(element.cells, values))
    if values.get("mig_enabled") is not None:
        values["mig_instances"] = tuple(_mig_instances(element, uuid, names))
    values["processes"] = _processes(element)
    if values["processes"] is None:
        reasons["processes"] = absence(element.cells.get("processes", "")) or "not_said"
    absent = {name: why for name, why in reasons.items() if values.get(name) is None}
    name = _reported(element.cells, "product_name") or "unknown"
    return Gpu(index=index, uuid=uuid, name=name, **values), absent


def _reported(cells: Cells, path: str) -> str | None:
    """Read the text at this path; None where it says that there is none."""
    text = cells.get(path, "")
    return None if absence(text) is not None else clean_text(text)


def _value(cell: Cell, cells: Cells) -> tuple[Any, str | None]:
    """Read the first value among the paths of a cell, or the reason why there is none."""
    reasons = []
    for path in cell.paths:
        reason = _absence_at(path, cells)
        if reason is None:
            value = cell.convert(cells[path])
            if value is not None:
                return value, None
            reason = "garbage"
        reasons.append(reason)
    return None, next((reason for reason in reasons if reason != "old_driver"), "old_driver")


def _absence_at(path: str, cells: Cells) -> str | None:
    """Why there is no value at this path: it, or what it is part of, says so, or is not there."""
    while path not in cells:
        path, _, _ = path.rpartition("/")
        if not path:
            return "old_driver"
        if path in cells:  # a group that says «N/A» for all that it holds
            return absence(cells[path]) or "old_driver"
    return absence(cells[path])


def _add_ecc(cells: Cells, values: dict[str, Any], reasons: dict[str, str]) -> None:
    """Add the totals of ECC errors, which newer drivers print by place: only whole sums count."""
    rows = []
    for labels, sums in ECC_SUMS:
        for paths in sums:
            counts = [whole(cells.get(path, "")) for path in paths]
            if None not in counts:
                rows.append((*labels, float(sum(count for count in counts if count is not None))))
                break
    if rows:
        values["ecc_errors_total"] = tuple(rows)
    else:
        reasons["ecc_errors_total"] = _absence_at(ECC_SUMS[0][1][0][0], cells) or "not_said"


def _add_reset_status(cells: Cells, values: dict[str, Any]) -> None:
    """Add the action that drivers 530 to 560 request; their `No` excludes two actions only."""
    for name, action in RESET_STATUS.items():
        if cells.get(f"gpu_reset_status/{name}", "").lower() == "yes":
            values.setdefault("recovery_action", action)


def _mig_instances(element: GpuElement, uuid: str, names: MigNamesByPlace) -> Iterator[MigInstance]:
    """Read the MIG devices of a GPU; the UUID of an unnamed device is empty."""
    for cells in element.mig_devices:
        places = [whole(cells.get(name, "")) for name in ("gpu_instance_id", "compute_instance_id")]
        index = whole(cells.get("index", ""))
        known = names.get((uuid, -1 if index is None else index))
        mig_uuid = _reported(cells, "uuid") or (known.uuid if known else "")
        if places[0] is None or places[1] is None:
            continue
        yield MigInstance(
            gpu_instance=places[0],
            compute_instance=places[1],
            mig_uuid=mig_uuid,
            profile=known.profile if known else "unknown",
            memory_total_bytes=mib(cells.get("fb_memory_usage/total", "")),
            memory_used_bytes=mib(cells.get("fb_memory_usage/used", "")),
        )


def needs_names(document: SmiDocument, names: MigNamesByPlace) -> bool:
    """Tell whether there is a MIG device that `nvidia-smi -L` has not named yet."""
    return any(
        (_reported(element.cells, "uuid") or "", whole(cells.get("index", "")) or 0) not in names
        for element in document.gpus
        for cells in element.mig_devices
    )


def _processes(element: GpuElement) -> tuple[GpuProcess, ...] | None:
    """Read the processes on a GPU; None where they may not be seen."""
    if not element.lists_processes or absence(element.cells.get("processes", "listed")) is not None:
        return None
    found = []
    for cells in element.processes[:MAX_PROCESSES]:
        pid = number(cells.get("pid", ""))
        if pid is None or pid < 1:
            return None
        found.append(
            GpuProcess(
                pid=int(pid),
                kind=next((kind for it, kind in KINDS if it in cells.get("type", "")), "compute"),
                used_memory_bytes=mib(cells.get("used_memory", "")),
                gpu_instance=whole(cells.get("gpu_instance_id", "")),
                compute_instance=whole(cells.get("compute_instance_id", "")),
            )
        )
    return tuple(found)
