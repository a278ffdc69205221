"""Compute processes on AMD GPUs, from the kernel's compute driver (KFD): no walk over /proc.

/sys/class/kfd/kfd/topology/nodes says which GPU is which PCI device, /sys/class/kfd/kfd/proc has
a folder for each process that opened /dev/kfd, with the memory it holds on each GPU.
"""

from pathlib import Path

from exporter.collectors.gpu.values import GpuProcess
from exporter.collectors.vendors.card_files import CardFiles

MAX_NODES = 256
MAX_PROCESSES = 4096


class KfdCards:
    """Which GPU ids are parts of which card; a card may be cut into partitions."""

    def __init__(self, sys_root: Path) -> None:
        self._files = CardFiles(sys_root / "class/kfd/kfd", "kfd")
        self._ids: dict[str, list[str]] = {}
        self._architectures: dict[str, str] = {}

    def look_again(self) -> None:
        """Read which GPUs there are: a card was bound."""
        ids: dict[str, list[str]] = {}
        for node in self._files.names("topology/nodes")[:MAX_NODES]:
            folder = f"topology/nodes/{node}"
            gpu_id = self._files.integer(f"{folder}/gpu_id")
            properties = _properties(self._files.text(f"{folder}/properties") or "")
            if not gpu_id or "location_id" not in properties:
                continue  # a processor is a node too
            address = _address(properties.get("domain", 0), properties["location_id"])
            ids.setdefault(address, []).append(str(gpu_id))
            self._architectures[address] = _architecture(properties.get("gfx_target_version", 0))
        self._ids = ids

    def architecture(self, address: str) -> str | None:
        """Return the name that compilers give the chip, as gfx942."""
        return self._architectures.get(address) or None

    def processes(self, address: str) -> tuple[GpuProcess, ...] | None:
        """List the processes that hold memory on the card; None without the compute driver."""
        ids = self._ids.get(address)
        if not ids:
            return None
        found = []
        for pid in self._files.names("proc")[:MAX_PROCESSES]:
            held = [self._files.integer(f"proc/{pid}/vram_{gpu_id}") for gpu_id in ids]
            known = [each for each in held if each is not None]
            if pid.isdecimal() and any(known):
                found.append(GpuProcess(int(pid), "compute", sum(known)))
        self._files.missing.clear()  # a process that ends while it is read is no failure
        return tuple(found)


def _properties(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}  # noqa: PLR2004 - a name and a number


def _address(domain: int, location: int) -> str:
    """Write the PCI address; the function holds the number of a partition, the card is one."""
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.0"


def _architecture(version: int) -> str:
    """Write `gfx942` for 90402: two digits each for version, minor version and stepping."""
    if not version:
        return ""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
