"""The last report of a probe, by name and labels: bounded in series."""

from exporter.collectors.external_probes.values import Labels, ProbeMetric, ProbeValue

MAX_SERIES = 1000


class KeptSeries:
    """The last number of each name and labels."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str | Labels], ProbeValue | ProbeMetric] = {}
        self._series = 0

    @property
    def values(self) -> tuple[ProbeValue, ...]:
        """The values in the plain line format."""
        return tuple(each for each in self._kept.values() if isinstance(each, ProbeValue))

    @property
    def metrics(self) -> tuple[ProbeMetric, ...]:
        """The metrics in the rich line format."""
        return tuple(each for each in self._kept.values() if isinstance(each, ProbeMetric))

    def keep(self, reported: ProbeValue | ProbeMetric) -> bool:
        """Replace the value of the same name and labels; False if there are too many series."""
        if isinstance(reported, ProbeValue):
            key: tuple[str, str | Labels] = (reported.event_type, reported.entity)
        else:
            key = (reported.name, reported.labels)
        before = self._kept.get(key)
        series = self._series + reported.series - (before.series if before else 0)
        if series > MAX_SERIES:
            return False
        self._series = series
        self._kept[key] = reported
        return True

    def drop(self, name: str, labels: Labels) -> None:
        """Remove the metric with this name and these labels, if there is one."""
        gone = self._kept.pop((name, labels), None)
        self._series -= gone.series if gone else 0
