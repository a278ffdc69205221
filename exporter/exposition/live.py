"""Families that depend on the moment of the scrape: ages, and what the server counts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from exporter.exposition import gpu
from exporter.exposition.family import Family, MetricType, Sample, one
from exporter.exposition.gpu_labels import GPU_LABELS
from exporter.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Moment:
    """What is known only at the scrape.

    `series` and `dropped` describe the page itself; `requests` counts answers by path and code.
    """

    boottime: float  # seconds since boot, suspended time included
    version: str = ""
    python: str = ""
    series: int = 0
    dropped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    requests: Mapping[tuple[str, int], int] = field(default_factory=lambda: MappingProxyType({}))
    refused_connections: int = 0
    failed_handshakes: int | None = None  # None while connections are not encrypted
    last_reload_successful: bool | None = None  # None without files of certificates and tokens
    dropped_log_lines: int = 0


@dataclass(frozen=True, slots=True)
class LiveFamily:
    """A family whose samples depend on the moment too."""

    name: str
    help: str
    type: MetricType
    labels: tuple[str, ...]
    samples: Callable[[Snapshot, Moment], Iterable[Sample]]

    def at(self, moment: Moment) -> Family:
        """Return the same family for one moment."""
        live = self.samples
        return Family(
            self.name, self.help, self.type, self.labels, lambda snapshot: live(snapshot, moment)
        )


def _requests(_: Snapshot, moment: Moment) -> Iterable[Sample]:
    for (path, code), count in sorted(moment.requests.items()):
        yield (path, str(code)), count


LIVE_FAMILIES = (
    LiveFamily(
        "hw_gpu_data_age_seconds",
        "Seconds since this GPU was last read successfully; it grows while cached values are"
        " served.",
        MetricType.GAUGE,
        GPU_LABELS,
        lambda snapshot, moment: gpu.ages(snapshot, moment.boottime),
    ),
    LiveFamily(
        "hw_exporter_build_info",
        "Version of the exporter and of Python; always 1.",
        MetricType.GAUGE,
        ("version", "python"),
        lambda _, moment: (((moment.version, moment.python), 1),),
    ),
    LiveFamily(
        "hw_exporter_snapshot_age_seconds",
        "Seconds since the last complete collection started.",
        MetricType.GAUGE,
        (),
        lambda snapshot, moment: (
            ((), round(max(0.0, moment.boottime - snapshot.taken_boottime), 3)),
        ),
    ),
    LiveFamily(
        "hw_exporter_series",
        "Series on this page, except those computed at the time of the scrape.",
        MetricType.GAUGE,
        (),
        lambda _, moment: (((), moment.series),),
    ),
    LiveFamily(
        "hw_exporter_dropped_series_total",
        "Series dropped because a family had too many or duplicate series.",
        MetricType.COUNTER,
        ("family",),
        lambda _, moment: [((name,), count) for name, count in sorted(moment.dropped.items())],
    ),
    LiveFamily(
        "hw_exporter_http_requests_total",
        "HTTP requests answered.",
        MetricType.COUNTER,
        ("path", "code"),
        _requests,
    ),
    LiveFamily(
        "hw_exporter_http_connections_refused_total",
        "HTTP connections refused because too many were open.",
        MetricType.COUNTER,
        (),
        lambda _, moment: (((), moment.refused_connections),),
    ),
    LiveFamily(
        "hw_exporter_http_tls_handshakes_failed_total",
        "TLS handshakes that failed; absent without TLS.",
        MetricType.COUNTER,
        (),
        lambda _, moment: one(moment.failed_handshakes),
    ),
    LiveFamily(
        "hw_exporter_credentials_last_reload_successful",
        "Whether the last reload of certificates and tokens succeeded; absent if none are"
        " configured.",
        MetricType.GAUGE,
        (),
        lambda _, moment: one(moment.last_reload_successful),
    ),
    LiveFamily(
        "hw_exporter_log_lines_dropped_total",
        "Log lines dropped: repeated too often, or standard error was blocked.",
        MetricType.COUNTER,
        (),
        lambda _, moment: (((), moment.dropped_log_lines),),
    ),
)
