"""What is declared of NVML is what NVIDIA's own binding, nvidia-ml-py, declares of it."""

import ast
import ctypes
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pynvml
import pytest

from exporter.collectors.gpu import fabric
from exporter.collectors.gpu.nvml_probe import (
    card,
    clocks,
    ecc,
    events,
    identity,
    library,
    links,
    nvml,
    profiling,
    structs,
    thermal,
)

PROBE = Path(nvml.__file__).parent
CODES = {name: value for name, value in vars(nvml).items() if name.startswith("NVML_")}
STRUCTS = {
    name: struct
    for name, struct in vars(structs).items()
    if isinstance(struct, type)
    and issubclass(struct, (ctypes.Structure, ctypes.Union))
    and "nvml" in name.lower()
}
SYMBOLS = {
    "nvmlDeviceGetMemoryInfo_v2": "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetPciInfo": "nvmlDeviceGetPciInfo_v3",
}
"""Functions that nvidia-ml-py has inside another one."""


TABLES: tuple[tuple[str, Mapping[Any, Any], str], ...] = (
    (
        "NVML_ERROR_{}",
        dict(zip(library.REASONS, library.REASONS, strict=True)),
        (
            "UNINITIALIZED INVALID_ARGUMENT NOT_SUPPORTED NO_PERMISSION NOT_FOUND INSUFFICIENT_SIZE"
            " INSUFFICIENT_POWER DRIVER_NOT_LOADED TIMEOUT IRQ_ISSUE LIBRARY_NOT_FOUND"
            " FUNCTION_NOT_FOUND CORRUPTED_INFOROM GPU_IS_LOST RESET_REQUIRED OPERATING_SYSTEM"
            " LIB_RM_VERSION_MISMATCH IN_USE MEMORY NO_DATA VGPU_ECC_NOT_SUPPORTED"
            " INSUFFICIENT_RESOURCES FREQ_NOT_SUPPORTED ARGUMENT_VERSION_MISMATCH DEPRECATED"
            " NOT_READY GPU_NOT_FOUND INVALID_STATE RESET_TYPE_NOT_SUPPORTED UNKNOWN"
        ),
    ),
    (
        "NVML_VALUE_TYPE_{}",
        {name: number for number, name in enumerate(card.VALUES)},
        (
            "DOUBLE UNSIGNED_INT UNSIGNED_LONG UNSIGNED_LONG_LONG SIGNED_LONG_LONG SIGNED_INT"
            " UNSIGNED_SHORT"
        ),
    ),
    (
        "NVML_{}_BUFFER_SIZE",
        nvml.TEXTS,
        (
            "DEVICE_PART_NUMBER DEVICE_NAME_V2 DEVICE_SERIAL DEVICE_UUID_V2 DEVICE_VBIOS_VERSION"
            " SYSTEM_DRIVER_VERSION"
        ),
    ),
    ("NVML_CLOCK_{}", clocks.CLOCKS, "GRAPHICS SM MEM VIDEO"),
    ("NVML_FI_DEV_PERF_POLICY_{}", clocks.THROTTLE_TIMES, "POWER SYNC_BOOST"),
    (
        "NVML_TEMPERATURE_THRESHOLD_{}",
        thermal.THRESHOLDS,
        "SHUTDOWN SLOWDOWN GPU_MAX MEM_MAX GPS_CURR",
    ),
    ("NVML_FI_DEV_ECC_{}_TOTAL", ecc.TOTALS, "SBE_VOL DBE_VOL SBE_AGG DBE_AGG"),
    ("NVML_FI_DEV_RETIRED_{}", ecc.RETIRED_PAGES, "SBE DBE"),
    (
        "NVML_FI_DEV_NVLINK_{}_ERROR_COUNT_TOTAL",
        links.ERROR_SUMS,
        "CRC_FLIT CRC_DATA REPLAY RECOVERY ECC_DATA",
    ),
    ("NVML_{}_ECC", ecc.COUNTERS, "VOLATILE AGGREGATE"),
    ("NVML_MEMORY_ERROR_TYPE_{}", ecc.ERROR_TYPES, "CORRECTED UNCORRECTED"),
    (
        "NVML_MEMORY_LOCATION_{}",
        ecc.LOCATIONS,
        "L1_CACHE L2_CACHE DRAM REGISTER_FILE TEXTURE_MEMORY TEXTURE_SHM CBU SRAM",
    ),
    (
        "NVML_FI_DEV_CLOCKS_EVENT_REASON_{}",
        clocks.NEWER_THROTTLE_TIMES,
        "SW_THERM_SLOWDOWN HW_THERM_SLOWDOWN HW_POWER_BRAKE_SLOWDOWN",
    ),
    (
        "NVML_FI_DEV_TEMPERATURE_{}_TLIMIT",
        thermal.MARGIN_THRESHOLDS,
        "SHUTDOWN SLOWDOWN GPU_MAX MEM_MAX",
    ),
    ("NVML_FI_DEV_NVLINK_COUNT_{}_BYTES", links.FIFTH_GENERATION_BYTES, "XMIT RCV"),
    (
        "NVML_FI_DEV_NVLINK_COUNT_{}",
        links.FIFTH_GENERATION,
        (
            "RCV_ERRORS LOCAL_LINK_INTEGRITY_ERRORS LINK_RECOVERY_FAILED_EVENTS EFFECTIVE_ERRORS"
            " SYMBOL_ERRORS"
        ),
    ),
    ("NVML_NVLINK_ERROR_DL_{}", links.LINK_ERRORS, "REPLAY RECOVERY CRC_FLIT CRC_DATA ECC_DATA"),
    (
        "NVML_GPM_METRIC_{}",
        profiling.UNITS,
        (
            "GRAPHICS_UTIL SM_UTIL SM_OCCUPANCY INTEGER_UTIL ANY_TENSOR_UTIL DRAM_BW_UTIL FP64_UTIL"
            " FP32_UTIL FP16_UTIL"
        ),
    ),
)
"""Tables of the readers, and the names that NVIDIA has for their rows, in their order."""

LITERALS = {
    "nvmlEventTypeXidCriticalError": events.XID,
    "NVML_FI_DEV_MEMORY_TEMP": thermal.MEMORY_TEMPERATURE,
    "NVML_FI_DEV_NVLINK_LINK_COUNT": links.LINK_COUNT,
    "NVML_FI_DEV_POWER_AVERAGE": 185,
    "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 83,
    "NVML_TEMPERATURE_GPU": thermal.GPU_SENSOR,
    "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION": ecc.RECOVERY_ACTION,
    "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX": 138,
    "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX": 139,
} | {
    pattern.format(name): number
    for pattern, table, names in TABLES
    for name, number in zip(names.split(), table.values(), strict=True)
}
"""What the readers write as numbers, by the names of NVIDIA."""


def test_each_number_is_that_of_nvidia() -> None:
    """A code, a field, a size, a generation: the number in a reader is that of NVIDIA's name."""
    architectures = {
        f"NVML_DEVICE_ARCH_{name.upper()}": number
        for number, name in identity.ARCHITECTURES.items()
    }
    misconfigurations = {
        f"NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_{name.upper()}": number
        for number, (name, _) in fabric.MISCONFIGURATIONS.items()
    }
    ours = CODES | LITERALS | architectures | misconfigurations
    assert {name: getattr(pynvml, name) for name in ours} == ours


@pytest.mark.parametrize("name", STRUCTS)
def test_a_struct_is_that_of_nvidia(name: str) -> None:
    """A struct has the same fields at the same places, in the same sizes and kinds."""
    assert list(_laid_out(STRUCTS[name])) == list(_laid_out(getattr(pynvml, name)))


@pytest.mark.parametrize("name", [name for name in STRUCTS if getattr(STRUCTS[name], "VERSION", 0)])
def test_a_version_of_a_struct_is_that_of_nvidia(name: str) -> None:
    """The version in a struct is what nvidia-ml-py puts there."""
    known = {value for value in vars(pynvml).values() if isinstance(value, int)}
    version = STRUCTS[name]().version
    assert version in known
    assert version == 1 or version & 0xFFFFFF == ctypes.sizeof(STRUCTS[name])


OLD = {name for name in nvml.FUNCTIONS if name.endswith("RunningProcesses")}
"""First versions of functions: nvidia-ml-py has the newest under this name."""


@pytest.mark.parametrize("name", [name for name in nvml.FUNCTIONS if name not in OLD])
def test_a_function_calls_what_that_of_nvidia_calls(name: str) -> None:
    """A function asks for the same symbol of the library, with as many arguments."""
    source = inspect.getsource(getattr(pynvml, SYMBOLS.get(name, name)))
    if name == "nvmlInit":
        source = inspect.getsource(pynvml.nvmlInitWithFlags)
    library = _Noting()
    arguments = [ctypes.c_void_p(), *[0] * 3][: _takes(name)]
    if name == "nvmlDeviceGetFieldValues":
        arguments = [ctypes.c_void_p(), [1]]
    before, nvml._loaded = nvml._loaded, library  # type: ignore[assignment]
    try:
        nvml.call(name, *arguments)
    except nvml.NVMLError:
        pass  # no samples of processes are an error
    finally:
        nvml._loaded = before
    symbol, count = library.calls[0]
    assert f'"{symbol}"' in source
    passed = re.search(r"\bfn\((.*?)\)$", source, re.MULTILINE | re.DOTALL)
    assert passed is not None
    call = ast.parse(f"fn({passed[1]})", mode="eval").body
    assert isinstance(call, ast.Call)
    assert count == len(call.args)


def test_every_function_that_is_asked_for_is_declared() -> None:
    """A call of the probe that is not declared would be taken for an old driver."""
    asked = {
        name
        for path in PROBE.glob("*.py")
        if path.name not in ("nvml.py", "structs.py")
        for name in re.findall(r'"(nvml[A-Z]\w+)"', path.read_text("utf-8"))
    }
    assert asked - nvml.FUNCTIONS.keys() == set()
    lists = {name for name in nvml.FUNCTIONS if "RunningProcesses" in name}
    assert nvml.FUNCTIONS.keys() - asked == lists


class _Noting:
    """A library whose functions succeed and are noted with the number of their arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def __getattr__(self, symbol: str) -> Any:
        def function(*arguments: object) -> int:
            self.calls.append((symbol, len(arguments)))
            return nvml.NVML_SUCCESS

        return function


def _takes(name: str) -> int:
    """How many arguments the function of nvidia-ml-py takes that has to be given one."""
    if name == "nvmlDeviceGetMemoryInfo_v2":
        return 1
    parameters = inspect.signature(getattr(pynvml, name)).parameters.values()
    return sum(parameter.default is inspect.Parameter.empty for parameter in parameters)


def _laid_out(kind: Any) -> Iterator[tuple[str, int, int, str]]:
    """Name, place, size and kind of each field, those of structs in it included."""
    yield "", 0, ctypes.sizeof(kind), ""
    for name, field in getattr(kind, "_fields_", ()):
        place, inner = getattr(kind, name), getattr(field, "_type_", field)
        yield name, place.offset, place.size, inner if isinstance(inner, str) else ""
        if isinstance(inner, type) and issubclass(inner, (ctypes.Structure, ctypes.Union)):
            yield from _laid_out(inner)
