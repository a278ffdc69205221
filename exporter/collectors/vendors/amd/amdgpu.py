"""AMD GPUs from what the kernel driver amdgpu shows in sysfs; no tool of AMD is needed.

https://docs.kernel.org/gpu/amdgpu/thermal.html
https://docs.kernel.org/gpu/amdgpu/driver-misc.html
"""

import re
from typing import Any

from exporter.collectors.gpu.backend import place_name
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.vendors.amd.kfd import KfdCards
from exporter.collectors.vendors.amd.metrics import (
    MAX_METRICS_BYTES,
    GpuMetrics,
    Throttling,
    parse_metrics,
)
from exporter.collectors.vendors.amd.ras import read_ras
from exporter.collectors.vendors.card_files import MICRO, CardFiles, HwmonSensors, heat_of, labeled
from exporter.collectors.vendors.cards import Parts
from exporter.collectors.vendors.sysfs_cards import SysfsCards
from exporter.model.reading import Labeled
from exporter.reading.context import SourceContext

AMDGPU = "amdgpu"
UNIQUE_ID = re.compile(r"[0-9a-f]{1,16}")
CLOCK_LEVEL = re.compile(r"([0-9]{1,2}): ([0-9]{1,6})Mhz( \*)?", re.IGNORECASE)
FULL_PWM = 255
CLOCKS = (("graphics", "sclk", "pp_dpm_sclk"), ("memory", "mclk", "pp_dpm_mclk"))
"""Our names, those of the sensors, and the files with all levels."""


class AmdgpuReader:
    """Reads one card; what cannot change while it is bound is read once."""

    def __init__(self, ctx: SourceContext) -> None:
        self._kfd = KfdCards(ctx.sys)
        self._ecc_locations = ctx.config.gpu.ecc_locations
        self._sees_host_pids = ctx.sees_host_pids
        self._boards: dict[str, dict[str, Any]] = {}
        self._throttling: dict[str, Throttling] = {}
        self._with_fan: set[str] = set()

    def forget_all_but(self, addresses: tuple[str, ...]) -> None:
        """Forget cards that are not bound any more."""
        for known in set(self._boards) - set(addresses):
            del self._boards[known]
            self._throttling.pop(known, None)
            self._with_fan.discard(known)

    def read(self, files: CardFiles, index: int, address: str) -> Gpu:
        """Read everything that amdgpu shows of the card at this address."""
        if address not in self._boards:
            self._kfd.look_again()
            self._boards[address] = {
                **_board(files, address),
                "architecture": self._kfd.architecture(address),
            }
        sensors = HwmonSensors(files, AMDGPU)
        metrics = parse_metrics(files.bytes("gpu_metrics", MAX_METRICS_BYTES) or b"")
        heat = _heat(sensors)
        throttling = self._throttling.setdefault(address, Throttling())
        processes = self._kfd.processes(address) if self._sees_host_pids else None
        return Gpu(
            index=index,
            vendor="amd",
            pci_bus_id=address,
            **self._boards[address],
            **_memory(files),
            **heat,
            **_power(sensors, metrics),
            **_clocks(files, sensors),
            fan_speed_percent=self._fan_speed(sensors, address),
            **files.link(),
            **read_ras(files, with_locations=self._ecc_locations),
            utilization_percent=files.number("gpu_busy_percent"),
            memory_controller_utilization_percent=files.number("mem_busy_percent"),
            pcie_replays_total=files.integer("pcie_replay_count"),
            throttle_active=throttling.active(metrics, heat["thermal_margin_celsius"]),
            processes=processes,
        )

    def _fan_speed(self, sensors: HwmonSensors, address: str) -> Labeled | None:
        """Read percent of full speed; None until it was not 0: boards without a fan show 0 too."""
        speed = sensors.integer("pwm1")
        if speed:
            self._with_fan.add(address)
        if speed is None or address not in self._with_fan:
            return None
        return (("0", round(100 * speed / FULL_PWM, 1)),)


def _board(files: CardFiles, address: str) -> dict[str, Any]:
    """Read what a board is; ROCm names it by its unique id in the same way."""
    unique = (files.text("unique_id", 64) or "").strip().lower().removeprefix("0x")
    known = UNIQUE_ID.fullmatch(unique) and int(unique, 16)
    device = files.label("device") or ""
    return {
        "uuid": f"GPU-{unique}" if known else place_name(address),
        "name": files.label("product_name") or f"AMD GPU {device}".strip(),
        "serial": files.label("serial_number"),
        "board_part_number": files.label("product_number"),
        "vbios_version": files.label("vbios_version"),
        "numa_node": files.numa_node(),
    }


def _memory(files: CardFiles) -> dict[str, Any]:
    total, used = files.integer("mem_info_vram_total"), files.integer("mem_info_vram_used")
    free = None if total is None or used is None or used > total else total - used
    return {
        "memory_total_bytes": total,
        "memory_used_bytes": used,
        "memory_free_bytes": free,
        "bar1_memory_total_bytes": files.integer("mem_info_vis_vram_total"),
        "bar1_memory_used_bytes": files.integer("mem_info_vis_vram_used"),
    }


def _heat(sensors: HwmonSensors) -> dict[str, Any]:
    """Read temperatures and their limits; edge is the chip's, the junction its hottest place."""
    found = sensors.labeled("temp")
    chip = found.get("edge") or found.get("junction") or found.get("temp1")
    places = (found[place].margin() for place in ("edge", "junction", "temp1") if place in found)
    margins = [margin for margin in places if margin is not None]
    return {
        **heat_of(chip, found.get("mem")),
        "thermal_margin_celsius": min(margins, default=None),
    }


def _power(sensors: HwmonSensors, metrics: GpuMetrics) -> dict[str, Any]:
    power = sensors.channel("power1")
    average = power.value("average", MICRO)
    now = power.value("input", MICRO)
    return {
        "power_draw_watts": average if now is None else now,
        "power_average_watts": average,
        "power_limit_watts": power.value("cap", MICRO) or None,
        "power_limit_range_watts": labeled(
            (limit, power.value(f"cap_{limit}", MICRO)) for limit in ("min", "max", "default")
        ),
        "energy_joules_total": metrics.energy_joules,
    }


def _clocks(files: CardFiles, sensors: HwmonSensors) -> dict[str, Any]:
    measured = sensors.labeled("freq")
    now: list[tuple[str, float | None]] = []
    most: list[tuple[str, float | None]] = []
    for clock, sensor, file in CLOCKS:
        current, highest = parse_levels(files.text(file) or "")
        channel = measured.get(sensor)
        value = channel.value("input", 1) if channel else None
        now.append((clock, current if value is None else value))
        most.append((clock, highest))
    return {"clock_hertz": labeled(now), "clock_max_hertz": labeled(most)}


def parse_levels(text: str) -> tuple[float | None, float | None]:
    """Parse the clocks of all levels: that in use, marked by a star, and the highest, in hertz."""
    levels = [(int(match[2]) * 1e6, bool(match[3])) for match in CLOCK_LEVEL.finditer(text)]
    current = next((hertz for hertz, is_current in levels if is_current), None)
    return current, max((hertz for hertz, _ in levels), default=None)


def build(parts: Parts) -> SysfsCards:
    """Build the backend of amdgpu."""
    return SysfsCards(parts, AmdgpuReader(parts.ctx))
