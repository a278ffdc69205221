"""Software RAID, from /proc/mdstat (https://raid.wiki.kernel.org/index.php/Mdstat).

Of an array without redundancy that has lost a member, mdstat of most kernels says nothing: only
md/array_state in sysfs does (https://docs.kernel.org/admin-guide/md.html).
"""

import re
from pathlib import Path

from exporter.collectors.disk.values import MdArray, MdArrays
from exporter.model.label import clean_text
from exporter.model.reading import Reading
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader
from exporter.record import replace

# drivers/md/md.c, md_seq_show: (F) faulty, (S) spare, (R) replacement,
# (W) write-mostly, (J) journal; a member may have several.
MEMBER = re.compile(r"(\S+)\[(\d{1,6})\]((?:\([A-Z]\))*)")
CONTAINER = re.compile(r"super external:\w")
"""Firmware RAID (imsm, ddf): a set of disks, never active; its arrays name it, `/md127/0`."""
WANTED_AND_ACTIVE = re.compile(r"\[(\d{1,6})/(\d{1,6})\]")
PROGRESS = re.compile(r"(resync|recovery|reshape|check|repair)\s*=\s*(\d{1,3}(?:\.\d{1,3})?)%")
REBUILD = "recovery"
BROKEN = "broken"


class MdReader:
    """Reads `mdstat` under a proc root, and the state of each array under a sys root."""

    def __init__(self, proc_root: Path, sys_root: Path) -> None:
        self._path = proc_root / "mdstat"
        self._block = sys_root / "block"

    def read(self) -> Reading[MdArrays]:
        """Read all arrays now; raise SourceAbsent if there are none, or SourceFailed."""
        arrays = parse_mdstat(read_text(self._path))
        if not arrays:
            raise SourceAbsent(f"{self._path} lists no array")
        fields = FieldReader()
        known = tuple(self._with_state(array, fields) for array in arrays)
        return Reading(MdArrays(known), fields.missing)

    def _with_state(self, array: MdArray, fields: FieldReader) -> MdArray:
        file = self._block / array.device / "md/array_state"
        state = fields.label(f"{array.device} array_state", file)
        return replace(array, state=BROKEN) if state == BROKEN else array


def parse_mdstat(text: str) -> tuple[MdArray, ...]:
    """Parse the arrays, ordered by name; containers and unknown lines are ignored."""
    result: dict[str, MdArray] = {}
    current = None
    for line in text.split("\n"):
        name, colon, rest = line.partition(" : ")
        if colon and name.strip() == name and name.startswith("md"):
            current = clean_text(name)
            result[current] = _heading(current, rest.split())
        elif not line.startswith(" "):
            current = None
        elif current is not None and CONTAINER.search(line):
            del result[current]
            current = None
        elif current is not None:
            result[current] = _with_details(result[current], line)
    return tuple(result[name] for name in sorted(result))


def _heading(device: str, words: list[str]) -> MdArray:
    """Parse the first line: `active raid1 sdb1[1] sda1[0](F)`."""
    marks = [match[3] for word in words if (match := MEMBER.fullmatch(word))]
    failed = sum("(F)" in mark for mark in marks)
    spare = sum("(S)" in mark for mark in marks)
    others = [word for word in words if not MEMBER.fullmatch(word) and not word.startswith("(")]
    return MdArray(
        device=device,
        state=clean_text(others[0]) if others else "unknown",
        level=clean_text(others[1]) if len(others) > 1 else None,
        active_disks=len(marks) - failed - spare,
        failed_disks=failed,
        spare_disks=spare,
    )


def _with_details(array: MdArray, line: str) -> MdArray:
    """Add the values of a line below the first."""
    if counts := WANTED_AND_ACTIVE.search(line):
        expected, active = int(counts[1]), int(counts[2])
        array = replace(array, active_disks=active, missing_disks=max(0, expected - active))
    if progress := PROGRESS.search(line):
        ratio = min(1.0, float(progress[2]) / 100)
        array = replace(array, resync_ratio=ratio, is_rebuilt=progress[1] == REBUILD)
    return array
