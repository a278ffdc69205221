"""Families of NVMe disks."""

from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample
from exporter.exposition.samples import of_each
from exporter.model.nvme import NvmeControllers, NvmeHealth, NvmeHealths
from exporter.model.snapshot import Snapshot

MAX_LIVE_SHOWN = 4
"""With more controllers than this only those that are not live are shown."""


def _state(snapshot: Snapshot) -> Iterable[Sample]:
    found = snapshot.reading(NvmeControllers)
    controllers = found.controllers if found else ()
    for controller in controllers:
        is_shown = len(controllers) <= MAX_LIVE_SHOWN or controller.state != "live"
        if controller.state is not None and is_shown:
            yield (controller.device, controller.state), 1


def _of(
    name: str,
    help_text: str,
    value: Callable[[NvmeHealth], float | None],
    kind: Kind = Kind.GAUGE,
) -> Family:
    samples = of_each(
        NvmeHealths, lambda found: found.controllers, lambda health: (health.device,), value
    )
    return Family(f"hw_nvme_{name}", help_text, kind, ("device",), samples)


FAMILIES = (
    Family(
        "hw_nvme_state",
        "The state the controller is in, always 1; of many controllers those that are not live.",
        Kind.GAUGE,
        ("device", "state"),
        _state,
    ),
    _of(
        "percentage_used_ratio",
        "Share of its promised life that is used up; may exceed 1.",
        lambda health: health.percentage_used_ratio,
    ),
    _of(
        "available_spare_ratio",
        "Share of its spare blocks that is left.",
        lambda health: health.available_spare_ratio,
    ),
    _of(
        "media_errors_total",
        "Data that the disk could not give back, since it was made.",
        lambda health: health.media_errors,
        Kind.COUNTER,
    ),
    _of(
        "unsafe_shutdowns_total",
        "How often it lost power without notice, since it was made.",
        lambda health: health.unsafe_shutdowns,
        Kind.COUNTER,
    ),
    _of("temperature_celsius", "Temperature.", lambda health: health.temperature_celsius),
    _of(
        "critical_warning",
        "Warnings as bits: 1 spare, 2 temperature, 4 reliability, 8 read-only, 16 backup.",
        lambda health: health.critical_warning,
    ),
)
