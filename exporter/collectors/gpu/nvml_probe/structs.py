"""Structs of NVML that are used, by the names that nvidia-ml-py gives them (nvml.h)."""

import ctypes
from ctypes import (
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_longlong,
    c_ubyte,
    c_uint,
    c_ulong,
    c_ulonglong,
    c_ushort,
)


class _Opaque(ctypes.Structure):
    """What a handle points to: known to the library only."""


Handle = ctypes.POINTER(_Opaque)


class Struct(ctypes.Structure):
    """A struct whose `version`, if it has one, says what the caller knows."""

    VERSION = 0

    def __init__(self) -> None:
        super().__init__()
        if self.VERSION:
            self.version = self.VERSION


class nvmlPciInfo_t(Struct):
    _fields_ = (
        ("busIdLegacy", c_char * 16),
        ("domain", c_uint),
        ("bus", c_uint),
        ("device", c_uint),
        ("pciDeviceId", c_uint),
        ("pciSubSystemId", c_uint),
        ("busId", c_char * 32),
    )


class c_nvmlMemory_t(Struct):
    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class c_nvmlMemory_v2_t(Struct):
    VERSION = 0x2000028
    _fields_ = (
        ("version", c_uint),
        ("total", c_ulonglong),
        ("reserved", c_ulonglong),
        ("free", c_ulonglong),
        ("used", c_ulonglong),
    )


class c_nvmlBAR1Memory_t(Struct):
    _fields_ = (("bar1Total", c_ulonglong), ("bar1Free", c_ulonglong), ("bar1Used", c_ulonglong))


class c_nvmlUtilization_t(Struct):
    _fields_ = (("gpu", c_uint), ("memory", c_uint))


class c_nvmlTemperature_v1_t(Struct):
    VERSION = 0x100000C
    _fields_ = (("version", c_uint), ("sensorType", c_uint), ("temperature", c_int))


class c_nvmlMarginTemperature_v1_t(Struct):
    VERSION = 0x1000008
    _fields_ = (("version", c_uint), ("marginTemperature", c_int))


class OldProcessInfo(Struct):
    """Of the first version, before driver 450, which nvidia-ml-py does not declare any more."""

    _fields_ = (("pid", c_uint), ("usedGpuMemory", c_ulonglong))
    gpuInstanceId = computeInstanceId = None  # noqa: N815 - as in the next one


class c_nvmlProcessInfo_v2_t(Struct):
    _fields_ = (
        ("pid", c_uint),
        ("usedGpuMemory", c_ulonglong),
        ("gpuInstanceId", c_uint),
        ("computeInstanceId", c_uint),
    )


class c_nvmlProcessUtilizationSample_t(Struct):
    _fields_ = (
        ("pid", c_uint),
        ("timeStamp", c_ulonglong),
        ("smUtil", c_uint),
        ("memUtil", c_uint),
        ("encUtil", c_uint),
        ("decUtil", c_uint),
    )


class c_nvmlValue_t(ctypes.Union):
    _fields_ = (
        ("dVal", c_double),
        ("uiVal", c_uint),
        ("ulVal", c_ulong),
        ("ullVal", c_ulonglong),
        ("sllVal", c_longlong),
        ("siVal", c_int),
        ("usVal", c_ushort),
    )


class c_nvmlFieldValue_t(Struct):
    _fields_ = (
        ("fieldId", c_uint),
        ("scopeId", c_uint),
        ("timestamp", c_int64),
        ("latencyUsec", c_int64),
        ("valueType", c_uint),
        ("nvmlReturn", c_uint),
        ("value", c_nvmlValue_t),
    )


class c_nvmlEventData_t(Struct):
    _fields_ = (
        ("device", Handle),
        ("eventType", c_ulonglong),
        ("eventData", c_ulonglong),
        ("gpuInstanceId", c_uint),
        ("computeInstanceId", c_uint),
    )


class c_nvmlRepairStatus_t(Struct):
    VERSION = 0x100000C
    _fields_ = (
        ("version", c_uint),
        ("bChannelRepairPending", c_uint),
        ("bTpcRepairPending", c_uint),
    )


class c_nvmlUnrepairableMemory_v1_t(Struct):
    VERSION = 0x1000008
    _fields_ = (("version", c_uint), ("unrepairableMemory", c_uint))


class c_nvmlRowRemapperHistogramValues(Struct):
    _fields_ = tuple((bank, c_uint) for bank in ("max", "high", "partial", "low", "none"))


class c_nvmlEccSramErrorStatus_v1_t(Struct):
    VERSION = 0x1000068
    _fields_ = (
        ("version", c_uint),
        ("aggregateUncParity", c_ulonglong),
        ("aggregateUncSecDed", c_ulonglong),
        ("aggregateCor", c_ulonglong),
        ("volatileUncParity", c_ulonglong),
        ("volatileUncSecDed", c_ulonglong),
        ("volatileCor", c_ulonglong),
        ("aggregateUncBucketL2", c_ulonglong),
        ("aggregateUncBucketSm", c_ulonglong),
        ("aggregateUncBucketPcie", c_ulonglong),
        ("aggregateUncBucketMcu", c_ulonglong),
        ("aggregateUncBucketOther", c_ulonglong),
        ("bThresholdExceeded", c_uint),
    )


class c_metricInfo_t(Struct):
    _fields_ = (("shortName", c_char_p), ("longName", c_char_p), ("unit", c_char_p))


class c_nvmlGpmMetric_t(Struct):
    _fields_ = (
        ("metricId", c_uint),
        ("nvmlReturn", c_uint),
        ("value", c_double),
        ("metricInfo", c_metricInfo_t),
    )


class c_nvmlGpmMetricsGet_t(Struct):
    VERSION = 1
    _fields_ = (
        ("version", c_uint),
        ("numMetrics", c_uint),
        ("sample1", Handle),
        ("sample2", Handle),
        ("metrics", c_nvmlGpmMetric_t * 477),
    )


class c_nvmlGpmSupport_t(Struct):
    VERSION = 1
    _fields_ = (("version", c_uint), ("isSupportedDevice", c_uint))


class c_nvmlGpuFabricInfo_t(Struct):
    _fields_ = (
        ("clusterUuid", c_ubyte * 16),
        ("status", c_uint),
        ("cliqueId", c_uint),
        ("state", c_uint),
    )


class c_nvmlGpuFabricInfo_v2_t(Struct):
    VERSION = 0x2000024
    _fields_ = (
        ("version", c_uint),
        *c_nvmlGpuFabricInfo_t._fields_,
        ("healthMask", c_uint),
    )


class c_nvmlGpuFabricInfo_v3_t(Struct):
    VERSION = 0x3000028
    _fields_ = (*c_nvmlGpuFabricInfo_v2_t._fields_, ("healthSummary", c_ubyte))


class c_nvmlPlatformInfo_v2_t(Struct):
    VERSION = 0x200002C
    _fields_ = (
        ("version", c_uint),
        ("ibGuid", c_char * 16),
        ("chassisSerialNumber", c_char * 16),
        ("slotNumber", c_char),
        ("trayIndex", c_char),
        ("hostId", c_char),
        ("peerType", c_char),
        ("moduleId", c_char),
    )
