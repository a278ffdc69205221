"""NVML by the names of its functions, through ctypes: the ones that are asked for here.

A tenth of the memory of nvidia-ml-py, the binding of NVIDIA, which tests compare this one with.
https://docs.nvidia.com/deploy/nvml-api/
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_int, c_uint, c_ulonglong
from functools import partial

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe import structs

NVML_SUCCESS = 0
NVML_ERROR_UNINITIALIZED = 1
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_INSUFFICIENT_SIZE = 7
NVML_ERROR_LIBRARY_NOT_FOUND = 12
NVML_ERROR_FUNCTION_NOT_FOUND = 13
NVML_ERROR_NO_DATA = 21

LIBRARY = "libnvidia-ml.so.1"
NO_LIBRARY = "NVML Shared Library Not Found"

Function = Callable[..., Any]


class NVMLError(Exception):
    """A call failed; `value` is the error code."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        text = getattr(_loaded, "nvmlErrorString", None)
        if text is None:
            return NO_LIBRARY if _loaded is None else f"NVML error {self.value}"
        text.restype = ctypes.c_char_p
        return str(text(self.value), "utf-8", "replace")


_loaded: ctypes.CDLL | None = None


def call(name: str, *arguments: object) -> Any:
    """Call the function of this name and return what it answers; raise NVMLError.

    Numbers that it writes are a number or a list, texts are bytes, structs and handles as they are.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        raise NVMLError(NVML_ERROR_FUNCTION_NOT_FOUND)
    return function(*arguments)


def _ask(symbol: str, *arguments: Any) -> int:
    """Call the library and return its code; ctypes passes numbers as 32 bits."""
    if _loaded is None:
        raise NVMLError(NVML_ERROR_UNINITIALIZED)
    try:
        function = getattr(_loaded, symbol)
    except AttributeError:
        raise NVMLError(NVML_ERROR_FUNCTION_NOT_FOUND) from None
    code: int = function(*arguments)
    return code


def _must(symbol: str, *arguments: Any) -> None:
    code = _ask(symbol, *arguments)
    if code != NVML_SUCCESS:
        raise NVMLError(code)


def _init() -> None:
    global _loaded  # noqa: PLW0603 - the library of the process
    if _loaded is None:
        try:
            _loaded = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise NVMLError(NVML_ERROR_LIBRARY_NOT_FOUND) from error
    _must("nvmlInitWithFlags", 0)


def _writes(symbol: str, kind: Any) -> Function:
    """Make a function whose last argument is a pointer to this kind, which it writes."""
    is_number = kind in NUMBERS

    def function(*arguments: object) -> Any:
        written = kind()
        _must(symbol, *arguments, byref(written))
        return written.value if is_number else written

    return function


def _writes_numbers(symbol: str, *kinds: Any) -> Function:
    """Make a function whose last arguments are pointers to numbers, which it writes."""

    def function(*arguments: object) -> list[int]:
        written = [kind() for kind in kinds]
        _must(symbol, *arguments, *map(byref, written))
        return [each.value for each in written]

    return function


def _text(symbol: str, size: int) -> Function:
    """Make a function that writes a text of at most so many bytes."""

    def function(*arguments: object) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        _must(symbol, *arguments, buffer, size)
        return buffer.value

    return function


def _event_set_wait(events: object, milliseconds: int) -> structs.c_nvmlEventData_t:
    found = structs.c_nvmlEventData_t()
    _must("nvmlEventSetWait_v2", events, byref(found), milliseconds)
    return found


def _temperature(device: object, sensor: int) -> int:
    asked = structs.c_nvmlTemperature_v1_t()
    asked.sensorType = sensor
    _must("nvmlDeviceGetTemperatureV", device, byref(asked))
    return int(asked.temperature)


def _field_values(device: object, wanted: Sequence[int | tuple[int, int]]) -> Any:
    values = (structs.c_nvmlFieldValue_t * len(wanted))()
    for value, each in zip(values, wanted, strict=True):
        value.fieldId, value.scopeId = each if isinstance(each, tuple) else (each, 0)
    _must("nvmlDeviceGetFieldValues", device, len(wanted), byref(values))
    return values


def _processes(symbol: str, struct: type[structs.Struct]) -> Function:
    """Make a function that lists processes; `usedGpuMemory` is None where it is not known."""

    def function(device: object) -> Any:
        count = c_uint(0)
        code = _ask(symbol, device, byref(count), None)
        if code == NVML_SUCCESS:
            return []
        if code != NVML_ERROR_INSUFFICIENT_SIZE:
            raise NVMLError(code)
        count.value = count.value * 2 + 5  # some may start meanwhile
        listed = (struct * count.value)()
        _must(symbol, device, byref(count), listed)
        return listed[: count.value]

    return function


def _process_utilization(device: object, since: int) -> Any:
    symbol, count = "nvmlDeviceGetProcessUtilization", c_uint(0)
    code = _ask(symbol, device, None, byref(count), c_ulonglong(since))
    if code != NVML_ERROR_INSUFFICIENT_SIZE:
        raise NVMLError(code)
    samples = (structs.c_nvmlProcessUtilizationSample_t * count.value)()
    _must(symbol, device, samples, byref(count), c_ulonglong(since))
    return samples[: count.value]


PROCESS_VERSIONS = ("_v3", "_v2", "")
"""The endings of the functions that list processes, newest first."""

NUMBERS = (c_int, c_uint, c_ulonglong)
_ONE_NUMBER = {
    c_uint: """
        nvmlDeviceGetArchitecture nvmlDeviceGetClockInfo nvmlDeviceGetComputeInstanceId
        nvmlDeviceGetComputeMode nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetCurrPcieLinkWidth
        nvmlDeviceGetEnforcedPowerLimit nvmlDeviceGetFanSpeed nvmlDeviceGetFanSpeed_v2
        nvmlDeviceGetGpuInstanceId nvmlDeviceGetIndex nvmlDeviceGetMaxClockInfo
        nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMaxPcieLinkGeneration
        nvmlDeviceGetMaxPcieLinkWidth nvmlDeviceGetMinorNumber nvmlDeviceGetNumFans
        nvmlDeviceGetNvLinkState nvmlDeviceGetPcieReplayCounter nvmlDeviceGetPcieThroughput
        nvmlDeviceGetPerformanceState nvmlDeviceGetPersistenceMode
        nvmlDeviceGetPowerManagementDefaultLimit nvmlDeviceGetPowerManagementLimit
        nvmlDeviceGetPowerUsage nvmlDeviceGetRetiredPagesPendingStatus nvmlDeviceGetTemperature
        nvmlDeviceGetTemperatureThreshold
    """,
    c_int: "nvmlSystemGetCudaDriverVersion_v2",
    c_ulonglong: """
        nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons
        nvmlDeviceGetMemoryErrorCounter nvmlDeviceGetNvLinkErrorCounter
    """,
}
_TWO_NUMBERS = """
    nvmlDeviceGetDecoderUtilization nvmlDeviceGetEccMode nvmlDeviceGetEncoderUtilization
    nvmlDeviceGetGspFirmwareMode nvmlDeviceGetJpgUtilization nvmlDeviceGetMigMode
    nvmlDeviceGetOfaUtilization nvmlDeviceGetPowerManagementLimitConstraints
"""
TEXTS = {
    "nvmlDeviceGetBoardPartNumber": 80,
    "nvmlDeviceGetName": 96,
    "nvmlDeviceGetSerial": 30,
    "nvmlDeviceGetUUID": 96,
    "nvmlDeviceGetVbiosVersion": 32,
    "nvmlSystemGetDriverVersion": 80,
}
"""Functions that write a text, and the bytes that nvml.h gives it."""
# Functions that write nothing, or only what their arguments point to.
_NOTHING_WRITTEN = """
    nvmlDeviceGetGpuFabricInfo nvmlDeviceGetGpuFabricInfoV nvmlDeviceGetSramEccErrorStatus
    nvmlDeviceGetPlatformInfo
    nvmlDeviceRegisterEvents nvmlDeviceValidateInforom nvmlEventSetFree nvmlGpmMetricsGet
    nvmlGpmMigSampleGet nvmlGpmSampleFree nvmlGpmSampleGet
"""


_STRUCTS = {
    "nvmlDeviceGetBAR1MemoryInfo": structs.c_nvmlBAR1Memory_t,
    "nvmlDeviceGetMarginTemperature": structs.c_nvmlMarginTemperature_v1_t,
    "nvmlDeviceGetMemoryInfo": structs.c_nvmlMemory_t,
    "nvmlDeviceGetMemoryInfo_v2": structs.c_nvmlMemory_v2_t,
    "nvmlDeviceGetMigDeviceHandleByIndex": structs.Handle,
    "nvmlDeviceGetRepairStatus": structs.c_nvmlRepairStatus_t,
    "nvmlDeviceGetRowRemapperHistogram": structs.c_nvmlRowRemapperHistogramValues,
    "nvmlDeviceGetUnrepairableMemoryFlag_v1": structs.c_nvmlUnrepairableMemory_v1_t,
    "nvmlDeviceGetUtilizationRates": structs.c_nvmlUtilization_t,
    "nvmlEventSetCreate": structs.Handle,
    "nvmlGpmQueryDeviceSupport": structs.c_nvmlGpmSupport_t,
    "nvmlGpmSampleAlloc": structs.Handle,
}


def _declared() -> Iterator[tuple[str, Function]]:
    for number, names in _ONE_NUMBER.items():
        yield from ((name, _writes(name, number)) for name in names.split())
    yield from ((name, _writes_numbers(name, c_uint, c_uint)) for name in _TWO_NUMBERS.split())
    yield from ((name, _text(name, size)) for name, size in TEXTS.items())
    yield from ((name, partial(_must, name)) for name in _NOTHING_WRITTEN.split())
    yield from ((name, _writes(name, struct)) for name, struct in _STRUCTS.items())
    for kind in ("Compute", "Graphics", "MPSCompute"):
        for version in PROCESS_VERSIONS:
            struct = structs.c_nvmlProcessInfo_v2_t if version else structs.OldProcessInfo
            name = f"nvmlDeviceGet{kind}RunningProcesses{version}"
            yield name, _processes(name, struct)


FUNCTIONS: dict[str, Function] = {
    **dict(_declared()),
    "nvmlInit": _init,
    "nvmlDeviceGetCount": _writes("nvmlDeviceGetCount_v2", c_uint),
    "nvmlDeviceGetHandleByIndex": _writes("nvmlDeviceGetHandleByIndex_v2", structs.Handle),
    "nvmlDeviceGetPciInfo": _writes("nvmlDeviceGetPciInfo_v3", structs.nvmlPciInfo_t),
    "nvmlDeviceGetCudaComputeCapability": _writes_numbers(
        "nvmlDeviceGetCudaComputeCapability", c_int, c_int
    ),
    "nvmlDeviceGetRemappedRows": _writes_numbers("nvmlDeviceGetRemappedRows", *4 * (c_uint,)),
    "nvmlDeviceGetTemperatureV1": _temperature,
    "nvmlDeviceGetFieldValues": _field_values,
    "nvmlDeviceGetProcessUtilization": _process_utilization,
    "nvmlEventSetWait_v2": _event_set_wait,
}
