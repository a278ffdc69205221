"""NVMe controllers, from /sys/class/nvme.

https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-nvme
"""

import re
from pathlib import Path

from exporter.model.nvme import NvmeController, NvmeControllers
from exporter.model.reading import Reading
from exporter.sources.host.sysfs import FieldReader, names_in, pci_address_of
from exporter.sources.interface import SourceAbsent

CONTROLLER = re.compile(r"nvme[0-9]+")


def controllers_in(folder: Path) -> list[str]:
    """List the controllers; raise SourceAbsent where there is none."""
    names = [name for name in names_in(folder, "NVMe disks") if CONTROLLER.fullmatch(name)]
    if not names:
        raise SourceAbsent(f"{folder} holds no NVMe controller")
    return names


class NvmeReader:
    """Reads the controllers under a sys root; no command is sent to a disk."""

    def __init__(self, sys_root: Path) -> None:
        self._folder = sys_root / "class/nvme"

    def read(self) -> Reading[NvmeControllers]:
        """Read all controllers now; raise SourceAbsent or SourceFailed."""
        fields = FieldReader()
        controllers = tuple(
            NvmeController(
                device=name,
                state=fields.label(f"{name} state", self._folder / name / "state"),
                pci_bus_id=pci_address_of(self._folder / name / "device"),
            )
            for name in controllers_in(self._folder)
        )
        return Reading(NvmeControllers(controllers), fields.missing)
