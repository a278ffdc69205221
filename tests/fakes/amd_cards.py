"""AMD cards as amdgpu shows them in sysfs, built in a folder; facts of public recordings."""

import shutil
import struct
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.card_files import put_card
from tests.fakes.host_proc import file_texts

MI100 = file_texts("cards.toml")["mi100"]


class AmdNode:
    """A sys root with cards; the first sits at 0000:83:00.0."""

    def __init__(self, sys_root: Path) -> None:
        self.sys = sys_root
        (sys_root / "devices").mkdir(parents=True, exist_ok=True)
        (sys_root / "bus/pci/devices").mkdir(parents=True, exist_ok=True)
        (sys_root / "bus/pci/drivers/amdgpu").mkdir(parents=True, exist_ok=True)

    def card(self, address: str, changes: Mapping[str, str | bytes | None] | None = None) -> Path:
        """Add a card, or change files of one; a file that is None is taken away."""
        is_new = not (self.sys / "bus/pci/devices" / address).exists()
        files = {**(MI100 if is_new else {}), **(changes or {})}
        return put_card(self.sys, "amdgpu", address, files)

    def other_device(self, address: str, vendor: str, class_: str) -> None:
        """Add a device that amdgpu is not bound to."""
        folder = self.sys / "bus/pci/devices" / address
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text(f"{class_}\n")

    def unbind(self, address: str) -> None:
        """The card is gone from the bus."""
        (self.sys / "bus/pci/drivers/amdgpu" / address).unlink()
        shutil.rmtree(self.sys / "bus/pci/devices" / address)

    def unload(self) -> None:
        """The driver is unloaded."""
        shutil.rmtree(self.sys / "bus/pci/drivers/amdgpu")

    def compute_node(self, number: int, gpu_id: int, address: str) -> None:
        """Name the card to the compute driver."""
        bus, _, rest = address.removeprefix("0000:").partition(":")
        location = int(bus, 16) << 8 | int(rest.split(".")[0], 16) << 3
        folder = self.sys / f"class/kfd/kfd/topology/nodes/{number}"
        folder.mkdir(parents=True)
        (folder / "gpu_id").write_text(f"{gpu_id}\n")
        properties = f"simd_count 480\ndomain 0\nlocation_id {location}\ngfx_target_version 90008\n"
        (folder / "properties").write_text(properties)

    def process(self, pid: int, vram: Mapping[int, int]) -> None:
        """A process with memory on GPUs, by their ids."""
        folder = self.sys / f"class/kfd/kfd/proc/{pid}"
        folder.mkdir(parents=True, exist_ok=True)
        for gpu_id, held in vram.items():
            (folder / f"vram_{gpu_id}").write_text(f"{held}\n")


def metrics_v1_8(energy: int, residencies: tuple[int, int, int, int, int, int]) -> bytes:
    """The table of an MI300X: energy, and the cycles spent in each throttler."""
    body = struct.pack("<HHHHHHQQQ6I", 45, 40, 39, 500, 90, 40, 5300, energy, 1, *residencies)
    return struct.pack("<HBB", 4 + len(body), 1, 8) + body


def metrics_v1_9(energy: int, residencies: tuple[int, int, int, int, int, int]) -> bytes:
    """The same of newer drivers: each field with its number, type and count before it."""
    body = struct.pack("<I", 9)
    body += struct.pack("<QH", 0x02200001, 45)  # a temperature of 16 bits
    body += struct.pack("<Q8H", 33 << 10 | 0x01200008, *range(8))  # eight clocks
    body += struct.pack("<QQ", 7 << 10 | 0x00600001, energy)
    for place, count in enumerate(residencies):
        body += struct.pack("<QI", (9 + place) << 10 | 0x00400001, count)
    return struct.pack("<HBB", 4 + len(body), 1, 9) + body


def metrics_v1_3(status: int) -> bytes:
    """The table of an MI200 or a Radeon: the throttlers active now as bits."""
    body = bytes(108) + struct.pack("<Q", status)
    return struct.pack("<HBB", 4 + len(body), 1, 3) + body
