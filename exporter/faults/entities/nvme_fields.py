"""Fields of a disk from its NVMe controller: state, temperature, wear, warnings."""

from collections.abc import Mapping

from exporter.faults.entities.kind import getters_of, names_of
from exporter.faults.values import FieldType, Type, Value
from exporter.model.nvme import NvmeControllers, NvmeHealth, NvmeHealths
from exporter.model.sensors import Sensors
from exporter.model.snapshot import Snapshot

COMPOSITE = ("Composite", "temp1")
"""What the driver calls the temperature that the limits are about."""

_HEALTH = {name: get for name, get in getters_of(NvmeHealth).items() if name != "device"}

NVME_NAMES: Mapping[str, FieldType] = {
    "nvme_state": FieldType(Type.TEXT),
    **{name: found for name, found in names_of(NvmeHealth).items() if name != "device"},
    "temperature_high_celsius": FieldType(Type.NUMBER),
    "temperature_critical_celsius": FieldType(Type.NUMBER),
}
"""All names; a disk without such a controller has none of them."""


def nvme_fields(snapshot: Snapshot) -> Mapping[str, Mapping[str, Value]]:
    """Return what each controller says, by its name; sensors win over the health log."""
    found: dict[str, dict[str, Value]] = {}
    controllers = snapshot.reading(NvmeControllers)
    for controller in controllers.controllers if controllers else ():
        found.setdefault(controller.device, {})["nvme_state"] = controller.state
    healths = snapshot.reading(NvmeHealths)
    for health in healths.controllers if healths else ():
        reported = {name: get(health) for name, get in _HEALTH.items()}
        found.setdefault(health.device, {}).update(reported)
    sensors = snapshot.reading(Sensors)
    for sensor in sensors.sensors if sensors else ():
        is_hottest = sensor.kind == "temperature" and sensor.sensor in COMPOSITE
        if is_hottest and sensor.hw_name == "nvme" and sensor.value is not None:
            found.setdefault(sensor.hw_id, {}).update(
                temperature_celsius=sensor.value,
                temperature_high_celsius=sensor.limit("high.degraded"),
                temperature_critical_celsius=sensor.limit("high.critical"),
            )
    return found
