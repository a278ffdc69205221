"""Settings of the push over OTLP."""

from exporter.config.setting import setting
from exporter.record import dataclass

URL = r"https?://[\w.:\[\]-]+(/[\w./~-]*)?"


@dataclass(frozen=True, slots=True)
class Otlp:
    """Push of all metrics to an OTLP receiver over HTTP (docs/otlp.md)."""

    endpoint: str = setting(
        "",
        "URL of the receiver, such as http://localhost:4318/v1/metrics; empty: no push.",
        each_like=(f"({URL})?", "a URL such as http://localhost:4318/v1/metrics"),
    )
    headers_file: str = setting(
        "", "File with headers such as a token, one Name: value on each line."
    )
    ca_file: str = setting("", "PEM file with the CA of the receiver; empty: the system's.")
    interval_secs: float = setting(15.0, "Seconds between pushes.", at_least=1, at_most=3600)
    timeout_secs: float = setting(
        10.0, "Seconds after which a push has failed.", at_least=0.1, at_most=60
    )
