"""The library itself: every call goes through here, and every error becomes one word."""

from collections.abc import Callable

from exporter.annotation import Any, T
from exporter.collectors.gpu.nvml_probe.nvml import (
    NVML_ERROR_FUNCTION_NOT_FOUND,
    NVMLError,
    call,
)
from exporter.collectors.gpu.supervision.call_failures import MARK
from exporter.model.label import clean_text

UNSUPPORTED = "not_supported"
UNKNOWN_ERROR = "unknown_error"
"""Fatal only where every GPU reports the value: of a fan, a board that works may say it."""

REASONS = {
    1: "uninitialized",
    2: "invalid_argument",
    3: UNSUPPORTED,
    4: "no_permission",
    6: "not_found",
    7: "insufficient_size",
    8: "insufficient_power",
    9: "driver_not_loaded",
    10: "timeout",
    11: "irq_issue",
    12: "no_library",
    13: "old_driver",
    14: "corrupted_inforom",
    15: "gpu_lost",
    16: "reset_required",
    17: "blocked_by_system",
    18: "version_mismatch",
    19: "in_use",
    20: "no_memory",
    21: "no_data",
    22: UNSUPPORTED,  # ECC of a vGPU
    23: "insufficient_resources",
    24: UNSUPPORTED,  # this frequency
    25: "old_driver",  # of a struct
    26: "deprecated",
    27: "not_ready",
    28: "gpu_not_found",
    29: "invalid_state",
    30: UNSUPPORTED,  # this kind of reset
    999: UNKNOWN_ERROR,
}
"""One word for each error code (nvmlReturn_t); docs/troubleshooting.md explains them."""

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
        self._known: dict[tuple[Any, ...], int] = {}

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

    def newest(self, variants: tuple[T, ...], ask: Callable[[T], Any]) -> Any:
        """Ask by the first of these variants that the driver knows, newest first."""
        first = self._known.get(variants, 0)
        for rank, variant in enumerate(variants[first:], first):
            try:
                answer = ask(variant)
            except NVMLError as error:
                if reason_of(error) != "old_driver" or rank == len(variants) - 1:
                    raise
                self._known[variants] = rank + 1
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
