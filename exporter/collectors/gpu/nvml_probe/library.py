"""The library itself: every call goes through here, and every error becomes one word."""

from collections.abc import Callable
from typing import Any

from exporter.collectors.gpu.nvml_probe.constants import (
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    NVML_ERROR_CORRUPTED_INFOROM,
    NVML_ERROR_DEPRECATED,
    NVML_ERROR_DRIVER_NOT_LOADED,
    NVML_ERROR_FREQ_NOT_SUPPORTED,
    NVML_ERROR_FUNCTION_NOT_FOUND,
    NVML_ERROR_GPU_IS_LOST,
    NVML_ERROR_GPU_NOT_FOUND,
    NVML_ERROR_IN_USE,
    NVML_ERROR_INSUFFICIENT_POWER,
    NVML_ERROR_INSUFFICIENT_RESOURCES,
    NVML_ERROR_INSUFFICIENT_SIZE,
    NVML_ERROR_INVALID_ARGUMENT,
    NVML_ERROR_INVALID_STATE,
    NVML_ERROR_IRQ_ISSUE,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    NVML_ERROR_LIBRARY_NOT_FOUND,
    NVML_ERROR_MEMORY,
    NVML_ERROR_NO_DATA,
    NVML_ERROR_NO_PERMISSION,
    NVML_ERROR_NOT_FOUND,
    NVML_ERROR_NOT_READY,
    NVML_ERROR_NOT_SUPPORTED,
    NVML_ERROR_OPERATING_SYSTEM,
    NVML_ERROR_RESET_REQUIRED,
    NVML_ERROR_TIMEOUT,
    NVML_ERROR_UNINITIALIZED,
    NVML_ERROR_UNKNOWN,
    NVML_ERROR_VGPU_ECC_NOT_SUPPORTED,
)
from exporter.collectors.gpu.nvml_probe.nvml import NVMLError, call
from exporter.collectors.gpu.supervision.call_failures import MARK
from exporter.model.label import clean_text

Handle = Any

UNSUPPORTED = "not_supported"
UNKNOWN_ERROR = "unknown_error"
"""Fatal only where every GPU reports the value: of a fan, a board that works may say it."""

REASONS = {
    NVML_ERROR_UNINITIALIZED: "uninitialized",
    NVML_ERROR_INVALID_ARGUMENT: "invalid_argument",
    NVML_ERROR_NOT_SUPPORTED: UNSUPPORTED,
    NVML_ERROR_NO_PERMISSION: "no_permission",
    NVML_ERROR_NOT_FOUND: "not_found",
    NVML_ERROR_INSUFFICIENT_SIZE: "insufficient_size",
    NVML_ERROR_INSUFFICIENT_POWER: "insufficient_power",
    NVML_ERROR_DRIVER_NOT_LOADED: "driver_not_loaded",
    NVML_ERROR_TIMEOUT: "timeout",
    NVML_ERROR_IRQ_ISSUE: "irq_issue",
    NVML_ERROR_LIBRARY_NOT_FOUND: "no_library",
    NVML_ERROR_FUNCTION_NOT_FOUND: "old_driver",
    NVML_ERROR_CORRUPTED_INFOROM: "corrupted_inforom",
    NVML_ERROR_GPU_IS_LOST: "gpu_lost",
    NVML_ERROR_RESET_REQUIRED: "reset_required",
    NVML_ERROR_OPERATING_SYSTEM: "blocked_by_system",
    NVML_ERROR_LIB_RM_VERSION_MISMATCH: "version_mismatch",
    NVML_ERROR_IN_USE: "in_use",
    NVML_ERROR_MEMORY: "no_memory",
    NVML_ERROR_NO_DATA: "no_data",
    NVML_ERROR_VGPU_ECC_NOT_SUPPORTED: UNSUPPORTED,
    NVML_ERROR_INSUFFICIENT_RESOURCES: "insufficient_resources",
    NVML_ERROR_FREQ_NOT_SUPPORTED: UNSUPPORTED,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "old_driver",
    NVML_ERROR_DEPRECATED: "deprecated",
    NVML_ERROR_NOT_READY: "not_ready",
    NVML_ERROR_GPU_NOT_FOUND: "gpu_not_found",
    NVML_ERROR_INVALID_STATE: "invalid_state",
    30: UNSUPPORTED,  # this kind of reset
    NVML_ERROR_UNKNOWN: UNKNOWN_ERROR,
}
"""One word for each error code; docs/troubleshooting.md explains them."""

FATAL_FOR_GPU = {"gpu_lost", "reset_required", "irq_issue", "insufficient_power"}
"""Errors after which nothing more is asked of a GPU in this pass."""
READ_ERRORS = (NVMLError, ValueError, TypeError, AttributeError)
"""What a reading may raise: NVML's errors, and the binding's on a struct of another driver."""


def reason_of(error: Exception) -> str:
    """Name the reason of an error of NVML or of its Python binding."""
    if isinstance(error, NVMLError):
        return REASONS.get(error.value, f"nvml_error_{error.value}")
    if isinstance(error, SwitchedOffError):
        return "crashes"
    return "garbage"


class SwitchedOffError(ValueError):
    """The call crashed the library too often and is not made any more."""


class Library:
    """NVML by the names of its functions.

    Remembers the variants that this driver turned out to know. `leave_crumb` is told of each
    call before it is made, so that a crash can be told from where it happened; `switched_off`
    names the calls that are not made.
    """

    def __init__(self, leave_crumb: Callable[[str], None] = lambda _: None) -> None:
        self.switched_off: frozenset[str] = frozenset()
        self.leave_crumb = leave_crumb
        self._known: dict[tuple[str, ...], int] = {}

    def ask(self, name: str, *arguments: object, topic: str = "", place: int | None = None) -> Any:
        """Call the function of this name; raises READ_ERRORS.

        `topic` tells apart what one function is asked for (field values), `place` is the index
        of the GPU it is asked of.
        """
        named = f"{name}({topic})" if topic else name
        crumb = named if place is None else f"{named}{MARK}{place}"
        if self.switched_off and not self.switched_off.isdisjoint((named, crumb)):
            raise SwitchedOffError(crumb)
        self.leave_crumb(crumb)
        return call(name, *arguments)

    def ask_newest(
        self, names: tuple[str, ...], *arguments: object, place: int | None = None
    ) -> Any:
        """Call the first of these functions that the driver knows, newest first."""
        first = self._known.get(names, 0)
        for rank, name in enumerate(names[first:], first):
            try:
                answer = self.ask(name, *arguments, place=place)
            except NVMLError as error:
                if reason_of(error) != "old_driver" or rank == len(names) - 1:
                    raise
                self._known[names] = rank + 1
            else:
                return answer
        raise NVMLError(NVML_ERROR_FUNCTION_NOT_FOUND)

    def text(self, name: str, *arguments: object, place: int | None = None) -> str | None:
        """Give the text a function gives; invalid UTF-8 is replaced, a missing answer is None."""
        try:
            return clean_text(self.ask(name, *arguments, place=place)) or None
        except READ_ERRORS as error:
            if reason_of(error) in (*FATAL_FOR_GPU, UNKNOWN_ERROR):
                raise
            return None
