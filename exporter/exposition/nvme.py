"""Families of NVMe disks."""

from collections.abc import Iterable

from exporter.exposition.family import Sample, family
from exporter.exposition.rows import Row, each, families
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


FAMILIES = (
    family(
        "hw_nvme_state",
        "State of the controller; always 1. With more than four controllers, only those that"
        " are not live.",
        _state,
        *("device", "state"),
    ),
    *families(
        "hw_nvme_",
        each(NvmeHealths, lambda found: found.controllers, NvmeHealth, "device"),
        Row(
            "percentage_used_ratio",
            "SMART percentage used: share of the rated endurance that is used; may exceed 1.",
        ),
        Row("available_spare_ratio", "SMART available spare: share of spare blocks left."),
        Row("media_errors_total", "SMART media errors: data the disk could not return."),
        Row("unsafe_shutdowns_total", "SMART unsafe shutdowns: power losses without notification."),
        Row("temperature_celsius", "Composite temperature of the disk, from SMART."),
        Row(
            "critical_warning",
            "SMART critical warning bits: 1 spare, 2 temperature, 4 reliability, 8 read-only, "
            "16 backup.",
        ),
    ),
)
