"""Settings of the HTTP server, of TLS and of authentication."""

from collections.abc import Mapping

from exporter.config.setting import section, setting
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """TLS; off unless a certificate is set."""

    cert_file: str = setting("", "PEM file with the certificate chain; enables TLS.")
    key_file: str = setting("", "PEM file with the private key of the certificate.")
    client_ca_file: str = setting(
        "", "PEM file with the CAs of client certificates, which are then required."
    )


@dataclass(frozen=True, slots=True)
class AuthConfig:
    """Authentication; off unless users or a token file are set."""

    basic_users: Mapping[str, str] = setting(
        {}, "User names and bcrypt password hashes for basic authentication."
    )
    bearer_token_file: str = setting("", "File with bearer tokens, one per line.")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The HTTP server."""

    host: str = setting(
        "0.0.0.0",  # noqa: S104 - an exporter is there to be scraped from outside
        "Address or name to listen on, without brackets; 0.0.0.0 also means IPv6, if available.",
    )
    port: int = setting(
        8080, "Port to listen on; 0 selects a free port.", at_least=0, at_most=65535
    )
    max_connections: int = setting(
        1024,
        "Maximum concurrent connections, a quarter of it with TLS; then the most idle one is"
        " closed.",
        at_least=1,
        at_most=65536,
    )
    request_timeout_secs: float = setting(
        5.0, "Seconds in which a client must send a complete request.", at_least=0.1, at_most=3600
    )
    keepalive_timeout_secs: float = setting(
        75.0, "Seconds an idle connection is kept open after a response.", at_least=0, at_most=86400
    )
    tls: TlsConfig = section(TlsConfig)
    auth: AuthConfig = section(AuthConfig)
