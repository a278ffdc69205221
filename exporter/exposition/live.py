"""Families computed at the time of the scrape: ages and counters of the HTTP server."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from exporter.exposition.family import Family, family, one
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """Values known only at the scrape.

    `series` and `dropped` are of the page itself; `requests` counts answers by path and code,
    `pushes` requests to the OTLP receiver by outcome.
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
    is_reloaded: bool = True  # whether the last reload of the configuration succeeded
    reloaded_at: float | None = None  # seconds since the epoch
    pushes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def page_families(moment: Moment) -> tuple[Family, ...]:
    """Return the families with the values of this scrape."""
    return (*_of_the_page(moment), *_of_the_server(moment), *_of_the_push(moment))


def _of_the_page(moment: Moment) -> tuple[Family, ...]:
    return (
        family(
            "hw_exporter_build_info",
            "Version of the exporter and of Python; always 1.",
            lambda _: one(1, moment.version, moment.python),
            *("version", "python"),
        ),
        family(
            "hw_exporter_snapshot_age_seconds",
            "Seconds since the last complete collection started.",
            lambda snapshot: one(round(max(0.0, moment.boottime - snapshot.taken_boottime), 3)),
        ),
        family(
            "hw_exporter_series",
            "Series on this page, except those computed at the time of the scrape.",
            lambda _: one(moment.series),
        ),
        family(
            "hw_exporter_dropped_series_total",
            "Series dropped because a family had too many or duplicate series.",
            lambda _: [((name,), count) for name, count in sorted(moment.dropped.items())],
            "family",
        ),
    )


def _of_the_server(moment: Moment) -> tuple[Family, ...]:
    return (
        family(
            "hw_exporter_http_requests_total",
            "HTTP requests that were answered, by path and status code.",
            lambda _: [
                ((path, str(code)), count)
                for (path, code), count in sorted(moment.requests.items())
            ],
            *("path", "code"),
        ),
        family(
            "hw_exporter_http_connections_refused_total",
            "HTTP connections refused because too many were open.",
            lambda _: one(moment.refused_connections),
        ),
        family(
            "hw_exporter_http_tls_handshakes_failed_total",
            "TLS handshakes that failed; absent without TLS.",
            lambda _: one(moment.failed_handshakes),
        ),
        family(
            "hw_exporter_credentials_last_reload_successful",
            "Whether the last reload of certificates and tokens succeeded; absent if none are"
            " configured.",
            lambda _: one(moment.last_reload_successful),
        ),
        family(
            "hw_exporter_config_last_reload_successful",
            "Whether the last reload of the configuration succeeded.",
            lambda _: one(moment.is_reloaded),
        ),
        family(
            "hw_exporter_config_last_reload_success_timestamp_seconds",
            "Unix time of the last successful reload of the configuration, or of the start.",
            lambda _: one(moment.reloaded_at),
        ),
        family(
            "hw_exporter_log_lines_dropped_total",
            "Log lines dropped: repeated too often, or standard error was blocked.",
            lambda _: one(moment.dropped_log_lines),
        ),
    )


def _of_the_push(moment: Moment) -> tuple[Family, ...]:
    pushes = family(
        "hw_exporter_otlp_pushes_total",
        "Pushes to the OTLP receiver, by outcome: accepted or failed; absent without a receiver.",
        lambda _: [((outcome,), count) for outcome, count in sorted(moment.pushes.items())],
        "outcome",
    )
    return (pushes,)
