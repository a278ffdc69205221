"""Memory modules, processors, sensors and fans of the board, RAID arrays, and NFS servers."""

from collections.abc import Callable, Iterable, Mapping

from exporter.faults.entities.kind import FieldsOf, Getter, Kind, getters_of, names_of
from exporter.faults.values import NO_FIELDS, Entity, FieldType, Type, Value
from exporter.model.filesystem import Filesystems
from exporter.model.memory_errors import Dimm, MemoryErrors
from exporter.model.node import Cpu
from exporter.model.raid import MdArray, MdArrays
from exporter.model.sensors import Sensor, Sensors
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge

_DIMM_GETTERS = getters_of(Dimm)
_ARRAY_GETTERS = getters_of(MdArray)


def _limit(name: str) -> Getter:
    def value_of(sensor: object) -> Value:
        return sensor.limit(name) if isinstance(sensor, Sensor) else None

    return value_of


_SENSOR_GETTERS: Mapping[str, Getter] = getters_of(Sensor) | {
    "high_degraded": _limit("high.degraded"),
    "high_critical": _limit("high.critical"),
}
_SENSOR_NAMES = names_of(Sensor) | {
    "high_degraded": FieldType(Type.NUMBER),
    "high_critical": FieldType(Type.NUMBER),
}


def _dimms(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(MemoryErrors)
    for controller in reading.controllers if reading else ():
        for dimm in (*controller.dimms, *filter(None, [controller.unlocated])):
            key = ("dimm", f"{controller.controller}/{dimm.dimm}")
            fields = FieldsOf(dimm, _DIMM_GETTERS)
            yield Entity(key, dimm.dimm, fields, (("memory", dimm.dimm),))


def _sensors(kind: str, name: str) -> Callable[[Snapshot], Iterable[Entity]]:
    def build(snapshot: Snapshot) -> Iterable[Entity]:
        reading = snapshot.reading(Sensors)
        for sensor in reading.sensors if reading else ():
            if sensor.kind == kind:
                key = (name, f"{sensor.hw_id}/{sensor.sensor}")
                title = f"{sensor.hw_name} {sensor.sensor}"
                yield Entity(key, title, FieldsOf(sensor, _SENSOR_GETTERS))

    return build


def _arrays(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(MdArrays)
    for array in reading.arrays if reading else ():
        fields = FieldsOf(array, _ARRAY_GETTERS)
        key = ("md_array", array.device)
        yield Entity(key, array.device, fields, (key,))


def _servers(snapshot: Snapshot) -> Iterable[Entity]:
    for server in dict.fromkeys(server for server, _ in _nfs(snapshot)):
        key = ("nfs_mount", server)
        yield Entity(key, server, NO_FIELDS, (key,))


def _mounts(snapshot: Snapshot) -> Iterable[Edge]:
    for server, mountpoint in _nfs(snapshot):
        yield Edge("part_of", ("filesystem", mountpoint), ("nfs_mount", server))


def _nfs(snapshot: Snapshot) -> Iterable[tuple[str, str]]:
    """Server and mount point of each NFS mount."""
    reading = snapshot.reading(Filesystems)
    for filesystem in reading.filesystems if reading else ():
        server, colon, _ = filesystem.device.partition(":/")
        if colon and filesystem.fstype.startswith("nfs"):
            yield server, filesystem.mountpoint


def _nothing(_: Snapshot) -> Iterable[Entity]:
    """Known by events only."""
    return ()


DIMM = Kind("dimm", "memory", names_of(Dimm), _dimms, MemoryErrors)
FAN = Kind("fan", "fan", _SENSOR_NAMES, _sensors("fan", "fan"), Sensors)
TEMPERATURE = Kind(
    "temperature", "temperature", _SENSOR_NAMES, _sensors("temperature", "temperature"), Sensors
)
POWER = Kind(
    "power_supply", "power_supply", _SENSOR_NAMES, _sensors("power", "power_supply"), Sensors
)
MD_ARRAY = Kind("md_array", "logical_disk", names_of(MdArray), _arrays, MdArrays)
NFS_MOUNT = Kind(
    "nfs_mount",
    "nfs_mount",
    {},
    _servers,
    Filesystems,
    related={"filesystem": "filesystem"},
    relate=_mounts,
)
CPU = Kind("cpu", "cpu", {}, _nothing, Cpu)
NVSWITCH = Kind("nvswitch", "nvswitch", {}, _nothing, Cpu)
