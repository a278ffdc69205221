"""Everything that is read of a GPU in each pass: the one list of all readings."""

from collections.abc import Callable, Iterator
from typing import Any

import pynvml

from exporter.probes.nvml.library import FATAL_FOR_GPU, READ_ERRORS, Card, reason_of
from exporter.probes.nvml.memory import memory

Read = Callable[[Card], Any]
"""Gives the value of the field, or a dict of several fields; raises READ_ERRORS."""


class GpuGone(Exception):  # noqa: N818 - ends the reading of one GPU
    """The GPU answers nothing any more; the message is the reason."""


READS: tuple[tuple[str, Read], ...] = (
    ("memory", memory),
    ("utilization_percent", lambda card: card.ask("nvmlDeviceGetUtilizationRates").gpu),
    (
        "temperature_celsius",
        lambda card: card.ask("nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU),
    ),
    ("power_draw_watts", lambda card: card.ask("nvmlDeviceGetPowerUsage") / 1000),
    ("power_limit_watts", lambda card: card.ask("nvmlDeviceGetEnforcedPowerLimit") / 1000),
)


def read_fields(
    card: Card, reads: tuple[tuple[str, Read], ...], missing: dict[str, str]
) -> Iterator[tuple[str, Any]]:
    """The fields that the GPU says; the others go to `missing` with the reason.

    Raises GpuGone for an error after which nothing more can be expected of the GPU.
    """
    for field, read in reads:
        try:
            value = read(card)
        except READ_ERRORS as error:
            reason = reason_of(error)
            if reason in FATAL_FOR_GPU:
                raise GpuGone(reason) from error
            missing[field] = reason
            continue
        if isinstance(value, dict):
            yield from value.items()
        else:
            yield field, value
