"""The tables of `npu-smi info`, of versions 22 to 26: which chips there are, and who is on them.

A chip has two rows. What stands in the third column of each is named by the two rows of the head,
and differs between chips: numbers, parts of a whole (`3397 / 65536`), or `-` and `NA`.
"""

import re
from dataclasses import field

from exporter.collectors.gpu.values import Gpu, GpuProcess
from exporter.collectors.pcie.address import pci_address
from exporter.model.label import clean_text
from exporter.record import dataclass

MIB = 1024 * 1024
MAX_CHIPS = 128
MAX_PROCESSES = 4096
VALUE = re.compile(r"\d{1,12}\s*/\s*\d{1,12}|\d{1,9}(?:\.\d{1,6})?|-|N/?A", re.IGNORECASE)
VERSION = re.compile(r"npu-smi\s+(\S{1,64})\s+Version:")
PROCESS = re.compile(r"\|\s*(\d{1,6})\s+(\d{1,3})\s*\|\s*(\d{1,10})\s*\|.*\|\s*(\d{1,9})\s*\|")
PROCESS_HEAD = "Process id"
IDLE = "No running processes"
HEALTH = {"ok": "ok", "warning": "warning", "alarm": "alarm", "critical": "critical"}
COLUMNS = 3
HEADS = ("NPU", "Chip")
NO_ADDRESS = ("NA", "N/A", "-")


@dataclass(slots=True)
class _Table:
    """What was read so far of the document."""

    version: str | None = None
    heads: list[list[str]] = field(default_factory=list)
    name_row: list[str] | None = None
    chips: list[tuple[list[str], list[str]]] = field(default_factory=list)
    processes: dict[tuple[str, str], list[GpuProcess]] = field(default_factory=dict)
    has_processes: bool = False
    width: int = 0


@dataclass(frozen=True, slots=True)
class Chips:
    """The chips of one document, in its order; the index of each is its number on the node."""

    gpus: tuple[Gpu, ...]
    version: str | None


def parse_info(text: str) -> Chips:
    """Parse all chips; whatever cannot be read is left out, a row that is cut off too."""
    table = _Table()
    for line in text.splitlines():
        _take(table, line.rstrip())
    gpus: dict[tuple[str, ...], Gpu] = {}
    for first, second in table.chips:
        gpu = _chip(table, first, second, len(gpus))
        if gpu is not None and len(gpus) < MAX_CHIPS:
            gpus.setdefault((first[0], *second[:2]), gpu)  # one chip has one row
    return Chips(tuple(gpus.values()), table.version)


def _take(table: _Table, line: str) -> None:
    if line.startswith("+"):
        table.width = len(line)
        return
    if not line.startswith("|") or not line.endswith("|"):
        return  # a sentence, or a row that is cut off
    if table.version is None and (version := VERSION.search(line)):
        table.version = clean_text(version[1], 64)
    elif PROCESS_HEAD in line:
        table.has_processes = True
    elif table.has_processes:
        _take_process(table, line)
    else:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == COLUMNS:
            _take_chip(table, cells)


def _take_chip(table: _Table, cells: list[str]) -> None:
    """Take a row of the head or of a chip; the second row of each has its address."""
    if cells[0].startswith(HEADS):
        table.heads.append(cells[2].split())
    elif pci_address(cells[1]) is None and cells[1] not in NO_ADDRESS:
        table.name_row = cells
    elif table.name_row is not None:
        table.chips.append((table.name_row, cells))
        table.name_row = None


def _take_process(table: _Table, line: str) -> None:
    """Take a row of the second table; a name chosen by a tenant cannot make one of full width."""
    row = PROCESS.fullmatch(line)
    if row is None or len(line) != table.width or IDLE in line:
        return
    found = table.processes.setdefault((row[1], row[2]), [])
    if len(found) < MAX_PROCESSES:
        found.append(GpuProcess(int(row[3]), "compute", int(row[4]) * MIB))


def _chip(table: _Table, first: list[str], second: list[str], place: int) -> Gpu | None:
    """Make a chip of its two rows; None where they are not the rows of one."""
    card, _, name = first[0].partition(" ")
    numbers = second[0].split()
    is_one = card.isdecimal() and bool(numbers) and numbers[0].isdecimal()
    if not is_one or len(table.heads) != len(HEADS):
        return None
    values = _values(table.heads[0], first[2]) | _values(table.heads[1], second[2])
    address = pci_address(second[1])
    used, total = _memory(values)
    known = table.processes.get((card, numbers[0]), [])
    return Gpu(
        index=int(numbers[1]) if len(numbers) > 1 and numbers[1].isdecimal() else place,
        uuid=f"NPU-{address or card}-{numbers[0]}",
        name=_named(clean_text(name)),
        vendor="ascend",
        pci_bus_id=address,
        npu_id=int(card),
        chip_id=int(numbers[0]),
        health=HEALTH.get(first[1].lower()),
        memory_total_bytes=total,
        memory_used_bytes=used,
        memory_free_bytes=None if total is None or used is None else total - used,
        utilization_percent=_number(values.get("AICore(%)")),
        temperature_celsius=_number(values.get("Temp(C)")),
        power_draw_watts=_number(values.get("Power(W)")),
        processes=tuple(known) if table.has_processes else None,
    )


def _values(head: list[str], cell: str) -> dict[str, str]:
    """Give the values of a cell the names above them; none where their number differs."""
    found = VALUE.findall(cell)
    return dict(zip(head, found, strict=True)) if len(found) == len(head) else {}


def _memory(values: dict[str, str]) -> tuple[int | None, int | None]:
    """Return memory in use and in all, in bytes: HBM, on chips without it the DDR memory."""
    for name in ("HBM-Usage(MB)", "Memory-Usage(MB)"):
        used, slash, total = values.get(name, "").partition("/")
        if slash and int(total) > 0 and int(used) <= int(total):
            return int(used) * MIB, int(total) * MIB
    return None, None


def _named(name: str) -> str:
    return name if name.lower().startswith("ascend") else f"Ascend {name}".strip()


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text[0].isdigit() else None
