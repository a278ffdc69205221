"""The collector of memory."""

from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.memory.edac import EdacReader
from exporter.collectors.memory.entities import DIMM, FIELDS, MachineChecks
from exporter.collectors.memory.families import FAMILIES
from exporter.collectors.memory.meminfo import MemoryReader
from exporter.collectors.memory.numa import NumaReader
from exporter.collectors.memory.values import Memory, MemoryErrors, Paging
from exporter.collectors.memory.vmstat import PagingReader
from exporter.faults.subject import CollectorSubject

COLLECTOR = Collector(
    "memory",
    sources=(
        files(
            "memory",
            "memory",
            lambda ctx: MemoryReader(ctx.proc),
            about=About("`/proc/meminfo`", "`hw_memory_*_bytes`, `hw_swap_*`"),
        ),
        files(
            "numa",
            "memory",
            lambda ctx: NumaReader(ctx.sys),
            about=About("`/sys/devices/system/node`", "`hw_memory_numa_*`"),
        ),
        files(
            "edac",
            "memory",
            lambda ctx: EdacReader(ctx.sys),
            about=About(
                "`/sys/devices/system/edac/mc`",
                "`hw_memory_errors_total`",
                "an EDAC driver of the kernel",
                without="memory errors are not detected",
            ),
        ),
        files(
            "paging",
            "memory",
            lambda ctx: PagingReader(ctx.proc),
            about=About(
                "`/proc/vmstat`", "`hw_swap_{in,out}_bytes_total`, major faults, OOM kills"
            ),
        ),
    ),
    values=(Memory, Paging, MemoryErrors),
    families=FAMILIES,
    subject=CollectorSubject(
        kinds=(DIMM,),
        node=FIELDS,
        interpreter=MachineChecks,
    ),
    rules=Path(__file__).parent / "rules",
)
