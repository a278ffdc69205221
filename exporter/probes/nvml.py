"""The NVML probe: reads every GPU in one pass and prints it as one JSON line.

Runs as its own process (`python -m exporter.probes.nvml`), because NVML calls may hang, crash,
or stay broken after a driver upgrade until the process ends.
Calls: https://docs.nvidia.com/deploy/nvml-api/
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import pynvml

from exporter.model.label import clean_text
from exporter.probes.protocol import BadLine, decode_line, encode_line

UNSUPPORTED = "not_supported"
REASONS = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: UNSUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: UNSUPPORTED,
    pynvml.NVML_ERROR_NO_PERMISSION: "no_permission",
    pynvml.NVML_ERROR_NOT_FOUND: "not_found",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "no_library",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "driver_not_loaded",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "version_mismatch",
    pynvml.NVML_ERROR_INSUFFICIENT_POWER: "insufficient_power",
    pynvml.NVML_ERROR_IRQ_ISSUE: "irq_issue",
    pynvml.NVML_ERROR_GPU_IS_LOST: "gpu_lost",
    pynvml.NVML_ERROR_RESET_REQUIRED: "reset_required",
    pynvml.NVML_ERROR_TIMEOUT: "timeout",
    pynvml.NVML_ERROR_UNKNOWN: "unknown_error",
}
FATAL_FOR_GPU = {"gpu_lost", "reset_required", "unknown_error", "irq_issue", "insufficient_power"}

Handle = Any
Read = Callable[[Handle], Any]


class _GpuGone(Exception):  # noqa: N818 - ends the reading of one GPU
    """The GPU answers nothing any more; the message is the reason."""


def reason_of(error: Exception) -> str:
    """The reason word of an error of NVML or of its Python binding."""
    if isinstance(error, pynvml.NVMLError):
        return REASONS.get(error.value, f"nvml_error_{error.value}")
    # A name with invalid UTF-8 raises UnicodeDecodeError, a struct of another driver TypeError.
    return type(error).__name__


def _memory(handle: Handle) -> dict[str, int]:
    """nvmlDeviceGetMemoryInfo_v2 (used without the reserved part), else the first version."""
    try:
        info = pynvml.nvmlDeviceGetMemoryInfo(handle, pynvml.nvmlMemory_v2)
    except pynvml.NVMLError as error:
        if reason_of(error) in FATAL_FOR_GPU:
            raise
        info = pynvml.nvmlDeviceGetMemoryInfo(handle)
    return {
        "memory_total_bytes": info.total,
        "memory_used_bytes": info.used,
        "memory_free_bytes": info.free,
    }


def _temperature(handle: Handle) -> int:
    """Celsius of the GPU sensor."""
    return int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU))


READS: tuple[tuple[str, Read], ...] = (
    ("memory", _memory),
    ("utilization_percent", lambda h: pynvml.nvmlDeviceGetUtilizationRates(h).gpu),
    ("temperature_celsius", _temperature),
    ("power_draw_watts", lambda h: pynvml.nvmlDeviceGetPowerUsage(h) / 1000),
    ("power_limit_watts", lambda h: pynvml.nvmlDeviceGetEnforcedPowerLimit(h) / 1000),
    (
        "compute_processes",
        lambda h: len(pynvml.nvmlDeviceGetComputeRunningProcesses(h)),
    ),
)


class Nvml:
    """The library, initialised once, with one handle per GPU kept by UUID."""

    def __init__(self) -> None:
        self._initialised = False
        self._gpus: dict[int, dict[str, Any]] = {}
        self._handles: dict[int, Handle] = {}

    def read_all(self) -> dict[str, Any]:
        """One pass over all GPUs; raises NVMLError when the library cannot be used."""
        if not self._initialised:
            pynvml.nvmlInit()
            self._initialised = True
        count = pynvml.nvmlDeviceGetCount()
        if count != len(self._gpus):
            self._gpus.clear()
            self._handles.clear()
        return {
            "driver_version": _text(pynvml.nvmlSystemGetDriverVersion),
            "cuda_version": _cuda_version(),
            "gpus": [self._read(index) for index in range(count)],
        }

    def _read(self, index: int) -> dict[str, Any]:
        try:
            identity = self._identity(index)
        except pynvml.NVMLError as error:
            return {"index": index, "problem": reason_of(error)}
        gpu = dict(identity, missing={})
        try:
            gpu.update(_fields(self._handles[index], gpu["missing"]))
        except _GpuGone as gone:
            self._gpus.clear()  # the order may change: ask for every handle again
            return dict(identity, problem=str(gone))
        return gpu

    def _identity(self, index: int) -> dict[str, Any]:
        """Index, UUID and name, asked once per GPU and again after any error of a handle."""
        if index not in self._gpus:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            self._handles[index] = handle
            self._gpus[index] = {
                "index": index,
                "uuid": _text(pynvml.nvmlDeviceGetUUID, handle),
                "name": _text(pynvml.nvmlDeviceGetName, handle) or "unknown",
            }
        return self._gpus[index]


def _fields(handle: Handle, missing: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for field, read in READS:
        try:
            value = read(handle)
        except (pynvml.NVMLError, ValueError, TypeError, AttributeError) as error:
            reason = reason_of(error)
            if reason in FATAL_FOR_GPU:
                raise _GpuGone(reason) from error
            missing[field] = reason
            continue
        if isinstance(value, dict):
            yield from value.items()
        else:
            yield field, value


def _text(call: Callable[..., Any], *arguments: Handle) -> str | None:
    """The text a call gives; invalid UTF-8 is replaced, a missing answer is None."""
    try:
        return clean_text(call(*arguments))
    except UnicodeDecodeError as error:
        return clean_text(error.object)
    except pynvml.NVMLError as error:
        if reason_of(error) in FATAL_FOR_GPU:
            raise
        return None


def _cuda_version() -> str | None:
    try:
        version = pynvml.nvmlSystemGetCudaDriverVersion_v2()
    except pynvml.NVMLError:
        return None  # older drivers do not say it
    return f"{version // 1000}.{version % 1000 // 10}"


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer each request line with one line, until the input ends."""
    nvml = Nvml()
    for line in requests:
        try:
            request = decode_line(line)
        except BadLine:
            continue  # not from our supervisor; there is no id to answer to
        answer: dict[str, Any] = {"id": request.get("id")}
        try:
            answer.update(nvml.read_all())
        except pynvml.NVMLError as error:
            answer["error"] = reason_of(error)
            answer["message"] = clean_text(str(error))
            nvml = Nvml()
        answers.write(encode_line(answer))
        answers.flush()


def main() -> None:
    """Speak over a private copy of standard output: the library may print to it, or close it."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        serve(sys.stdin.buffer, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # whoever asked is gone


if __name__ == "__main__":
    main()
