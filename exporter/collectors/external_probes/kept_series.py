"""The last report of a probe, by name and labels: bounded in series."""

from exporter.model.probe import Labels, ProbeMetric, ProbeValue

MAX_SERIES = 1000


class KeptSeries:
    """The last number of each name and labels."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], ProbeValue] = {}
        self._metrics: dict[tuple[str, Labels], ProbeMetric] = {}
        self._series = 0

    @property
    def values(self) -> tuple[ProbeValue, ...]:
        """The values in the plain line format."""
        return tuple(self._values.values())

    @property
    def metrics(self) -> tuple[ProbeMetric, ...]:
        """The metrics in the rich line format."""
        return tuple(self._metrics.values())

    def keep(self, reported: ProbeValue | ProbeMetric) -> bool:
        """Replace the value of the same name and labels; False if there are too many series."""
        before: ProbeValue | ProbeMetric | None
        if isinstance(reported, ProbeValue):
            before = self._values.get((reported.event_type, reported.entity))
        else:
            before = self._metrics.get((reported.name, reported.labels))
        series = self._series + reported.series - (before.series if before else 0)
        if series > MAX_SERIES:
            return False
        self._series = series
        if isinstance(reported, ProbeValue):
            self._values[reported.event_type, reported.entity] = reported
        else:
            self._metrics[reported.name, reported.labels] = reported
        return True

    def drop(self, name: str, labels: Labels) -> None:
        """Remove the metric with this name and these labels, if there is one."""
        gone = self._metrics.pop((name, labels), None)
        self._series -= gone.series if gone else 0
