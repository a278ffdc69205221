"""Errors found by memory controllers, from /sys/devices/system/edac/mc.

https://docs.kernel.org/driver-api/edac.html
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-devices-edac
"""

import re
from pathlib import Path

from exporter.collectors.memory.values import Dimm, MemoryController, MemoryErrors
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader, names_in, names_or_none

CONTROLLER = re.compile(r"mc[0-9]+")
MODULE = re.compile(r"(?:dimm|rank)[0-9]+")
ROW = re.compile(r"csrow[0-9]+")
BYTES_PER_MEBIBYTE = 1024 * 1024
UNLOCATED = "unknown module"


class EdacReader:
    """Reads the controllers under a sys root."""

    def __init__(self, sys_root: Path) -> None:
        self._folder = sys_root / "devices/system/edac/mc"

    def read(self) -> Reading[MemoryErrors]:
        """Read all controllers now; raise SourceAbsent or SourceFailed."""
        fields = FieldReader()
        names = [
            name
            for name in names_in(self._folder, "memory controllers")
            if CONTROLLER.fullmatch(name)
        ]
        if not names:
            raise SourceAbsent(f"{self._folder} holds no memory controller")
        return Reading(
            MemoryErrors(tuple(self._controller(name, fields) for name in names)), fields.missing
        )

    def _controller(self, name: str, fields: FieldReader) -> MemoryController:
        folder = f"{self._folder}/{name}"
        return MemoryController(
            controller=name,
            corrected_errors=fields.count(f"{name} ce_count", f"{folder}/ce_count"),
            uncorrected_errors=fields.count(f"{name} ue_count", f"{folder}/ue_count"),
            dimms=self._dimms(name, folder, fields),
            unlocated=_unlocated(name, folder, fields),
        )

    def _dimms(self, controller: str, folder: str, fields: FieldReader) -> tuple[Dimm, ...]:
        """Read the modules; old drivers know rows of chips only, which then stand for them."""
        names = names_or_none(folder)
        result: dict[str, Dimm] = {}
        modules = [name for name in names if MODULE.fullmatch(name)]
        prefix, size_file = ("dimm_", "size") if modules else ("", "size_mb")
        for name in modules or [name for name in names if ROW.fullmatch(name)]:
            path, key = f"{folder}/{name}", f"{controller} {name}"
            label = fields.label(f"{key} label", f"{path}/dimm_label") or name
            # Both in MiB: drivers/edac/edac_mc_sysfs.c, PAGES_TO_MiB.
            size = fields.count(f"{key} size", f"{path}/{size_file}")
            dimm = Dimm(
                controller=controller,
                dimm=label if label not in result else f"{label} {name}",
                corrected_errors=fields.count(key, f"{path}/{prefix}ce_count"),
                uncorrected_errors=fields.count(key, f"{path}/{prefix}ue_count"),
                size_bytes=None if size is None else size * BYTES_PER_MEBIBYTE,
            )
            result[dimm.dimm] = dimm
        return tuple(result.values())


def _unlocated(controller: str, folder: str, fields: FieldReader) -> Dimm | None:
    """Read what the controller counted without knowing the module; None where it does not say."""
    # drivers/edac/edac_mc.c (edac_inc_ce_error) counts here what it can place on no one DIMM.
    corrected = fields.count(f"{controller} ce_noinfo", f"{folder}/ce_noinfo_count")
    uncorrected = fields.count(f"{controller} ue_noinfo", f"{folder}/ue_noinfo_count")
    if corrected is None and uncorrected is None:
        return None
    return Dimm(controller, UNLOCATED, corrected, uncorrected)
