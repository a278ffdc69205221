"""Intel GPUs from what the kernel drivers xe and i915 show in sysfs; no tool of Intel is needed.

https://docs.kernel.org/gpu/xe/xe_gt_freq.html
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon
"""

from collections.abc import Iterable
from typing import Any

from exporter.collectors.gpu.backend import place_name
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.vendors.card_files import MICRO, CardFiles, HwmonSensors, heat_of, labeled
from exporter.collectors.vendors.cards import Parts
from exporter.collectors.vendors.sysfs_cards import SysfsCards
from exporter.model.reading import Labeled
from exporter.record import dataclass

XE = "xe"
BUILT_IN = frozenset({"0000:00:02.0"})
"""Where the graphics of Intel processors sit: part of the processor, and no accelerator."""

MAX_TILES = 8
MEGAHERTZ = 1e6
REASONS = (
    ("sw_power_cap", ("pl1", "pl2", "pl4", "vr_tdc", "iccmax", "psys_pl1", "psys_pl2")),
    ("sw_thermal_slowdown", ("thermal", "soc_thermal", "mem_thermal", "soc_avg_thermal", "ratl")),
    ("hw_thermal_slowdown", ("prochot", "vr_thermalert", "vr_thermal")),
)
"""NVML's reasons, and the files of both drivers that say them."""


@dataclass(frozen=True, slots=True)
class GtFiles:
    """Where a driver shows the frequencies of one GT, and what its files are called."""

    folder: str
    now: str
    highest: str
    reason: str


class IntelReader:
    """Reads one card of the named driver."""

    def __init__(self, driver: str) -> None:
        self._driver = driver

    def forget_all_but(self, addresses: tuple[str, ...]) -> None:
        """Nothing is kept of a card."""

    def read(self, files: CardFiles, index: int, address: str) -> Gpu:
        """Read everything that the driver shows of the card at this address."""
        gts = self._gts(files)
        sizes = [files.integer(f"{tile}/physical_vram_size_bytes") for tile in _tiles(files)]
        known = [size for size in sizes if size]
        return Gpu(
            index=index,
            uuid=place_name(address),
            name=f"Intel GPU {files.label('device') or ''}".strip(),
            vendor="intel",
            pci_bus_id=address,
            numa_node=files.numa_node(),
            memory_total_bytes=sum(known) or None,
            **_sensors(HwmonSensors(files, self._driver)),
            **files.link(),
            clock_hertz=labeled((("graphics", _highest(files, gts, "now")),)),
            clock_max_hertz=labeled((("graphics", _highest(files, gts, "highest")),)),
            throttle_active=_throttling(files, gts),
        )

    def _gts(self, files: CardFiles) -> list[GtFiles]:
        """Find the first GT of each tile: that of graphics and compute, not that of media."""
        if self._driver == XE:
            found = [files.first_folder(tile, "gt") for tile in _tiles(files)]
            return [
                GtFiles(f"{gt}/freq0", "act_freq", "rp0_freq", "throttle/reason_")
                for gt in found
                if gt
            ]
        card = files.first_folder("drm", "card")
        names = files.names(f"{card}/gt")[:MAX_TILES] if card else []
        return [
            GtFiles(f"{card}/gt/{gt}", "rps_act_freq_mhz", "rps_RP0_freq_mhz", "throttle_reason_")
            for gt in names
            if gt.startswith("gt")
        ]


def _tiles(files: CardFiles) -> list[str]:
    return [name for name in files.names() if name.startswith("tile")][:MAX_TILES]


def _highest(files: CardFiles, gts: Iterable[GtFiles], which: str) -> float | None:
    found = (files.number(f"{gt.folder}/{getattr(gt, which)}", 1 / MEGAHERTZ) for gt in gts)
    return max((hertz for hertz in found if hertz is not None), default=None)


def _throttling(files: CardFiles, gts: list[GtFiles]) -> Labeled | None:
    """Tell each reason as 0 or 1: whether any file of any GT says so."""
    rows = []
    for reason, endings in REASONS:
        values = [files.integer(f"{gt.folder}/{gt.reason}{end}") for gt in gts for end in endings]
        known = [value for value in values if value is not None]
        rows.append((reason, float(any(known)) if known else None))
    return labeled(rows)


def _sensors(sensors: HwmonSensors) -> dict[str, Any]:
    """Read heat, power limits and energy: of the card where it counts them, else of the package."""
    heat = sensors.labeled("temp")
    chip = heat.get("pkg") or heat.get("temp2") or heat.get("temp1")
    return {
        **heat_of(chip, heat.get("vram") or heat.get("temp3")),
        "thermal_margin_celsius": chip.margin() if chip else None,
        "power_limit_watts": sensors.first_of(("power1_max", "power2_max"), MICRO) or None,
        "power_limit_range_watts": labeled(
            (("default", sensors.first_of(("power1_rated_max", "power2_rated_max"), MICRO)),)
        ),
        "energy_joules_total": sensors.first_of(("energy1_input", "energy2_input"), MICRO),
    }


def build(parts: Parts) -> SysfsCards:
    """Build the backend of xe or i915."""
    return SysfsCards(parts, IntelReader(parts.vendor.backend), left_out=BUILT_IN)
