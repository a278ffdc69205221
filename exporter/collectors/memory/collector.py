"""The collector of memory."""

from pathlib import Path

from exporter.collector import Collector, files
from exporter.collectors.memory.edac import EdacReader
from exporter.collectors.memory.entities import DIMM, FIELDS
from exporter.collectors.memory.events import MachineChecks
from exporter.collectors.memory.families import FAMILIES
from exporter.collectors.memory.meminfo import MemoryReader
from exporter.collectors.memory.numa import NumaReader
from exporter.collectors.memory.values import Memory, MemoryErrors, Paging
from exporter.collectors.memory.vmstat import PagingReader
from exporter.faults.subject import Subject

COLLECTOR = Collector(
    "memory",
    sources=(
        files("memory", "memory", lambda ctx: MemoryReader(ctx.proc)),
        files("numa", "memory", lambda ctx: NumaReader(ctx.sys)),
        files("edac", "memory", lambda ctx: EdacReader(ctx.sys)),
        files("paging", "memory", lambda ctx: PagingReader(ctx.proc)),
    ),
    values=(Memory, Paging, MemoryErrors),
    families=FAMILIES,
    subject=Subject(
        kinds=(DIMM,),
        node=FIELDS,
        interpreter=MachineChecks,
    ),
    rules=Path(__file__).parent / "rules",
)
