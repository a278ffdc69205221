"""AMD cards as amdgpu shows them in sysfs, built in a folder; facts of public recordings."""

import shutil
import struct
from collections.abc import Mapping
from pathlib import Path

MI100: dict[str, str] = {
    "vendor": "0x1002\n",
    "device": "0x738c\n",
    "class": "0x038000\n",
    "numa_node": "1\n",
    "unique_id": "a3b0000000000001\n",
    "product_name": "Arcturus GL-XL [Instinct MI100]\n",
    "product_number": "D3431401\n",
    "serial_number": "692124000001\n",
    "vbios_version": "113-D3431401-101\n",
    "power/runtime_status": "active\n",
    "gpu_busy_percent": "37\n",
    "mem_busy_percent": "12\n",
    "mem_info_vram_total": "34342961152\n",
    "mem_info_vram_used": "6750208\n",
    "mem_info_vis_vram_total": "34342961152\n",
    "mem_info_vis_vram_used": "6750208\n",
    "pp_dpm_sclk": "0: 300Mhz *\n1: 495Mhz\n15: 1502Mhz\n",
    "pp_dpm_mclk": "0: 167Mhz\n1: 1200Mhz *\n",
    "current_link_speed": "16.0 GT/s PCIe\n",
    "max_link_speed": "16.0 GT/s PCIe\n",
    "current_link_width": "16\n",
    "max_link_width": "16\n",
    "pcie_replay_count": "0\n",
    "ras/features": "feature mask: 0x00000001\n",
    "ras/umc_err_count": "ue: 0\nce: 3\n",
    "ras/gfx_err_count": "ue: 0\nce: 1\n",
    "ras/gpu_vram_bad_pages": "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : R\n",
    "hwmon/hwmon7/name": "amdgpu\n",
    "hwmon/hwmon7/temp1_label": "edge\n",
    "hwmon/hwmon7/temp1_input": "53000\n",
    "hwmon/hwmon7/temp1_crit": "100000\n",
    "hwmon/hwmon7/temp1_emergency": "105000\n",
    "hwmon/hwmon7/temp2_label": "junction\n",
    "hwmon/hwmon7/temp2_input": "55000\n",
    "hwmon/hwmon7/temp2_crit": "100000\n",
    "hwmon/hwmon7/temp3_label": "mem\n",
    "hwmon/hwmon7/temp3_input": "53000\n",
    "hwmon/hwmon7/temp3_crit": "94000\n",
    "hwmon/hwmon7/power1_average": "36000000\n",
    "hwmon/hwmon7/power1_cap": "290000000\n",
    "hwmon/hwmon7/power1_cap_max": "290000000\n",
    "hwmon/hwmon7/power1_cap_min": "0\n",
    "hwmon/hwmon7/power1_cap_default": "290000000\n",
    "hwmon/hwmon7/freq1_label": "sclk\n",
    "hwmon/hwmon7/freq1_input": "300000000\n",
    "hwmon/hwmon7/freq2_label": "mclk\n",
    "hwmon/hwmon7/freq2_input": "1200000000\n",
}
"""What the sensors, memory, limits and ids of one MI100 in a public recording of rocm-smi were."""


class AmdNode:
    """A sys root with cards; the first sits at 0000:83:00.0."""

    def __init__(self, sys_root: Path) -> None:
        self.sys = sys_root
        (sys_root / "bus/pci/devices").mkdir(parents=True, exist_ok=True)
        (sys_root / "bus/pci/drivers/amdgpu").mkdir(parents=True, exist_ok=True)

    def card(self, address: str, changes: Mapping[str, str | bytes | None] | None = None) -> Path:
        """Add a card, or change files of one; a file that is None is taken away."""
        folder = self.sys / "bus/pci/devices" / address
        is_new = not folder.exists()
        files: dict[str, str | bytes | None] = {**(MI100 if is_new else {}), **(changes or {})}
        for name, content in files.items():
            file = folder / name
            if content is None:
                file.unlink(missing_ok=True)
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        link = self.sys / "bus/pci/drivers/amdgpu" / address
        if not link.is_symlink():
            link.symlink_to(f"../../../../bus/pci/devices/{address}")
        return folder

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

    def compute_node(self, number: int, gpu_id: int, address: str, gfx: int = 90008) -> None:
        """Name the card to the compute driver."""
        bus, _, rest = address.removeprefix("0000:").partition(":")
        location = int(bus, 16) << 8 | int(rest.split(".")[0], 16) << 3
        folder = self.sys / f"class/kfd/kfd/topology/nodes/{number}"
        folder.mkdir(parents=True)
        (folder / "gpu_id").write_text(f"{gpu_id}\n")
        properties = f"simd_count 480\ndomain 0\nlocation_id {location}\ngfx_target_version {gfx}\n"
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
