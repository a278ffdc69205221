"""The library itself: every call goes through here, and every error becomes one word."""

from collections.abc import Callable
from typing import Any

import pynvml

from exporter.model.label import clean_text
from exporter.probes.call_failures import MARK

Handle = Any

UNSUPPORTED = "not_supported"
REASONS = {
    pynvml.NVML_ERROR_UNINITIALIZED: "uninitialized",
    pynvml.NVML_ERROR_INVALID_ARGUMENT: "invalid_argument",
    pynvml.NVML_ERROR_NOT_SUPPORTED: UNSUPPORTED,
    pynvml.NVML_ERROR_NO_PERMISSION: "no_permission",
    pynvml.NVML_ERROR_NOT_FOUND: "not_found",
    pynvml.NVML_ERROR_INSUFFICIENT_SIZE: "insufficient_size",
    pynvml.NVML_ERROR_INSUFFICIENT_POWER: "insufficient_power",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "driver_not_loaded",
    pynvml.NVML_ERROR_TIMEOUT: "timeout",
    pynvml.NVML_ERROR_IRQ_ISSUE: "irq_issue",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "no_library",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "old_driver",
    pynvml.NVML_ERROR_CORRUPTED_INFOROM: "corrupted_inforom",
    pynvml.NVML_ERROR_GPU_IS_LOST: "gpu_lost",
    pynvml.NVML_ERROR_RESET_REQUIRED: "reset_required",
    pynvml.NVML_ERROR_OPERATING_SYSTEM: "blocked_by_system",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "version_mismatch",
    pynvml.NVML_ERROR_IN_USE: "in_use",
    pynvml.NVML_ERROR_MEMORY: "no_memory",
    pynvml.NVML_ERROR_NO_DATA: "no_data",
    pynvml.NVML_ERROR_VGPU_ECC_NOT_SUPPORTED: UNSUPPORTED,
    pynvml.NVML_ERROR_INSUFFICIENT_RESOURCES: "insufficient_resources",
    pynvml.NVML_ERROR_FREQ_NOT_SUPPORTED: UNSUPPORTED,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "old_driver",
    pynvml.NVML_ERROR_DEPRECATED: "deprecated",
    pynvml.NVML_ERROR_NOT_READY: "not_ready",
    pynvml.NVML_ERROR_GPU_NOT_FOUND: "gpu_not_found",
    pynvml.NVML_ERROR_INVALID_STATE: "invalid_state",
    30: UNSUPPORTED,  # this kind of reset; nvidia-ml-py 12 has no name for it
    pynvml.NVML_ERROR_UNKNOWN: "unknown_error",
}
"""One word for each error code; docs/troubleshooting.md explains them."""

FATAL_FOR_GPU = {"gpu_lost", "reset_required", "unknown_error", "irq_issue", "insufficient_power"}
"""Errors after which nothing more is asked of a GPU in this pass."""

READ_ERRORS = (pynvml.NVMLError, ValueError, TypeError, AttributeError)
"""What a reading may raise: NVML's errors, and the binding's on a struct of another driver."""


def reason_of(error: Exception) -> str:
    """Name the reason of an error of NVML or of its Python binding."""
    if isinstance(error, pynvml.NVMLError):
        return REASONS.get(error.value, f"nvml_error_{error.value}")
    if isinstance(error, SwitchedOffError):
        return "crashes"
    # A name with invalid UTF-8 raises UnicodeDecodeError, a struct of another driver TypeError.
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
        call = f"{name}({topic})" if topic else name
        crumb = call if place is None else f"{call}{MARK}{place}"
        if not self.switched_off.isdisjoint((call, crumb)):
            raise SwitchedOffError(crumb)
        function = getattr(pynvml, name, None)
        if function is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        self.leave_crumb(crumb)
        return function(*arguments)

    def ask_newest(
        self, names: tuple[str, ...], *arguments: object, place: int | None = None
    ) -> Any:
        """Call the first of these functions that the driver knows, newest first."""
        first = self._known.get(names, 0)
        for rank, name in enumerate(names[first:], first):
            try:
                answer = self.ask(name, *arguments, place=place)
            except pynvml.NVMLError as error:
                if reason_of(error) != "old_driver" or rank == len(names) - 1:
                    raise
                self._known[names] = rank + 1
            else:
                return answer
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)

    def text(self, name: str, *arguments: object, place: int | None = None) -> str | None:
        """Give the text a function gives; invalid UTF-8 is replaced, a missing answer is None."""
        try:
            return clean_text(self.ask(name, *arguments, place=place)) or None
        except UnicodeDecodeError as error:
            return clean_text(error.object) or None
        except READ_ERRORS as error:
            if reason_of(error) in FATAL_FOR_GPU:
                raise
            return None
