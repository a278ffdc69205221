"""Memory of each NUMA node, from /sys/devices/system/node/node*/meminfo.

https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-devices-node
"""

import re
from pathlib import Path

from exporter.collectors.memory.values import NumaNode, NumaNodes
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader, names_in

NODE = re.compile(r"node([0-9]+)")
FIELD = re.compile(r"^Node [0-9]+ (\w+): +([0-9]{1,19}) kB$", re.MULTILINE)


class NumaReader:
    """Reads the nodes under a sys root."""

    def __init__(self, sys_root: Path) -> None:
        self._folder = sys_root / "devices/system/node"

    def read(self) -> Reading[NumaNodes]:
        """Read all nodes now; raise SourceAbsent or SourceFailed."""
        reader = FieldReader()
        numbers = sorted(
            int(match[1])
            for name in names_in(self._folder, "NUMA nodes")
            if (match := NODE.fullmatch(name))
        )
        if not numbers:
            raise SourceAbsent(f"{self._folder} holds no NUMA node")
        nodes = []
        for number in numbers:
            name = f"node{number}"
            text = reader.text(name, self._folder / name / "meminfo")
            fields = parse_meminfo(text or "")
            if not fields:
                reader.skip(name, "its meminfo says nothing")
            node = NumaNode(str(number), fields.get("MemTotal"), fields.get("MemFree"))
            nodes.append(node)
        return Reading(NumaNodes(tuple(nodes)), reader.missing)


def parse_meminfo(text: str) -> dict[str, int]:
    """Parse the fields in bytes: lines read `Node 0 MemTotal: 8388608 kB`."""
    return {name: int(kib) * 1024 for name, kib in FIELD.findall(text)}
