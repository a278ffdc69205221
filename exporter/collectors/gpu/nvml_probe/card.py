"""One GPU of the library: its handle, every call on it, and what is asked of it only once."""

import math
from collections.abc import Callable, Iterable, Mapping

from exporter.annotation import Any, T
from exporter.collectors.gpu.nvml_probe.library import (
    FATAL_FOR_GPU,
    READ_ERRORS,
    Library,
    reason_of,
)
from exporter.collectors.gpu.nvml_probe.nvml import (
    NVML_ERROR_NO_DATA,
    NVML_ERROR_NOT_SUPPORTED,
    NVML_SUCCESS,
    NVMLError,
)

ALL_LINKS = NO_INSTANCE = 0xFFFFFFFF
FieldId = int | tuple[int, int]
"""A field of nvmlDeviceGetFieldValues, with its scope (a link) where it has one."""

Labeled = list[tuple[Any, ...]]
"""Rows of label values and a number, as the model keeps them."""

VALUES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Where the value of each type is, in the order of nvmlValueType_t."""


class NvmlDevice:
    """One GPU, or one MIG device, of the library; `place` is the index of the GPU."""

    def __init__(self, library: Library, handle: Any, place: int | None = None) -> None:
        self.library = library
        self.handle = handle
        self.place = place
        self._kept: dict[str, Any] = {}

    def ask(self, name: str, *arguments: object, topic: str = "") -> Any:
        """Call the function for this GPU; raises READ_ERRORS."""
        return self.library.ask(name, self.handle, *arguments, topic=topic, place=self.place)

    def ask_newest(self, names: tuple[str, ...], *arguments: object) -> Any:
        """Call the first of these functions that the driver knows, newest first."""
        return self.library.newest(names, lambda name: self.ask(name, *arguments))

    def text(self, name: str) -> str | None:
        """Get the text of a function for this GPU; None where it gives none."""
        return self.library.text(name, self.handle, place=self.place)

    def once(self, fact: str, read: Callable[["NvmlDevice"], T]) -> T:
        """Read a fact that does not change until it was answered once; raises READ_ERRORS."""
        if fact not in self._kept:
            self._kept[fact] = read(self)
        answer: T = self._kept[fact]
        return answer

    def field_values(self, topic: str, wanted: Mapping[str, FieldId]) -> dict[str, Any]:
        """Read field values by the names given here; a field without value has its NVMLError.

        Raises READ_ERRORS when the call itself fails.
        """
        values = self.ask("nvmlDeviceGetFieldValues", list(wanted.values()), topic=topic)
        return {name: _field_value(value) for name, value in zip(wanted, values, strict=True)}


def _field_value(value: Any) -> Any:
    if value.nvmlReturn != NVML_SUCCESS:
        return NVMLError(value.nvmlReturn)
    member = VALUES[value.valueType] if value.valueType < len(VALUES) else "ullVal"
    return finite(getattr(value.value, member))


def instance_of(number: int | None) -> int | None:
    """Return the number of a MIG instance; None where the driver names none."""
    return None if number == NO_INSTANCE else number


def finite(number: float) -> Any:
    """Return the number, or the error that nothing was measured in place of NaN and infinity."""
    return number if math.isfinite(number) else NVMLError(NVML_ERROR_NO_DATA)


def converted(value: Any, times: int = 1, per: int = 1) -> Any:
    """Convert to our unit, `times / per` of the driver's; an error stays an error."""
    if isinstance(value, Exception):
        return value
    return value * times if per == 1 else value * times / per


def available_values(values: Mapping[Any, Any]) -> Any:
    """Collect the available numbers as rows by label; the first error when there is none."""
    rows = [
        (*(label if isinstance(label, tuple) else (label,)), value)
        for label, value in values.items()
        if not isinstance(value, Exception)
    ]
    if rows:
        return rows
    return next(iter(values.values()), NVMLError(NVML_ERROR_NOT_SUPPORTED))


def call_each(
    card: NvmlDevice, calls: Iterable[tuple[Any, str, tuple[Any, ...]]]
) -> dict[Any, Any]:
    """Make each call, by label; a call that failed has its error as value.

    Raises an error after which nothing more can be expected of the GPU.
    """
    found: dict[Any, Any] = {}
    for label, name, arguments in calls:
        try:
            found[label] = card.ask(name, *arguments)
        except READ_ERRORS as error:
            if reason_of(error) in FATAL_FOR_GPU:
                raise
            found[label] = error
    return found
