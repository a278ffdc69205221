"""Zero degrees that mean «not known»: dying boards say it between two true temperatures."""

from collections.abc import Iterable
from dataclasses import replace

from exporter.model.gpu import Gpu

WARM_CELSIUS = 20.0
"""A chip that was warmer than this did not freeze since: on its way it would have been seen."""


class LastHeat:
    """The last temperature of each GPU that could be believed."""

    def __init__(self) -> None:
        self._celsius: dict[str, float] = {}

    def believable(self, gpus: Iterable[Gpu]) -> tuple[tuple[Gpu, ...], tuple[str, ...]]:
        """The GPUs without a zero that cannot be, and the names of the fields left out."""
        kept, rejected = [], []
        for gpu in gpus:
            celsius = gpu.temperature_celsius
            if celsius == 0 and self._celsius.get(gpu.uuid, 0.0) > WARM_CELSIUS:
                rejected.append("temperature_celsius")
                kept.append(replace(gpu, temperature_celsius=None))
                continue
            if celsius is not None:
                self._celsius[gpu.uuid] = celsius
            kept.append(gpu)
        return tuple(kept), tuple(rejected)
