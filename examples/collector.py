"""A collector: the entropy of the kernel, from a file under /proc.

https://docs.kernel.org/admin-guide/sysctl/kernel.html#random
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.exposition.rows import families, metric, reading, rows_of
from exporter.model.reading import Reading
from exporter.reading.files import read_text
from exporter.reading.sysfs import parse_counter


@dataclass(frozen=True, slots=True)
class Entropy:
    """The random numbers of the kernel; None where the kernel does not tell."""

    available: int | None = metric(
        "Bits of entropy that the kernel has.", never_bad="the kernel refills it"
    )


class EntropyReader:
    """Reads `entropy_avail` under a proc root."""

    def __init__(self, proc_root: Path) -> None:
        self._path = proc_root / "sys/kernel/random/entropy_avail"

    def read(self) -> Reading[Entropy]:
        """Read the number now; raise SourceAbsent or SourceFailed."""
        return Reading(Entropy(parse_counter(read_text(self._path).strip())))


COLLECTOR = Collector(
    "entropy",
    sources=(
        files(
            "entropy",
            "node",
            lambda ctx: EntropyReader(ctx.proc),
            about=About("`/proc/sys/kernel/random`", "`hw_entropy_available`"),
        ),
    ),
    values=(Entropy,),
    families=families("hw_entropy_", reading(Entropy), *rows_of(Entropy)),
)
