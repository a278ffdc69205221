"""Families computed at the time of the scrape: ages and counters of the HTTP server."""

from exporter.exposition.family import Family, family, one
from exporter.exposition.page import Moment


def live_families(moment: Moment) -> tuple[Family, ...]:
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
