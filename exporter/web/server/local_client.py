"""Whether a request comes from a program on this machine, and was passed on by nobody."""

from collections.abc import Iterable, Mapping

LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
"""Not all of 127/8: sidecars of service meshes pass on what others ask from 127.0.0.6."""

HOSTS = ("localhost", "127.0.0.1", "[::1]")
OF_PROXIES_AND_BROWSERS = (
    *("forwarded", "via", "x-", "cf-", "true-client-ip", "traceparent", "tracestate", "b3"),
    *("origin", "referer", "cookie", "sec-"),
)
"""How the names of headers begin that a program on this machine has no reason to send."""


def refusal_of(remote: str, headers: Mapping[str, str], hosts: Iterable[str]) -> str | None:
    """Return in one sentence why this is no program of this machine; None when it is one.

    `hosts` are the values of the Host header: exactly one, which a page in a browser cannot
    choose; `headers` may be in any case.
    """
    if remote.partition("%")[0] not in LOOPBACK:
        return "only programs on this machine can request this"
    if [_name_of(host) for host in hosts] not in [[name] for name in HOSTS]:
        return "this must be requested as localhost"
    for name in headers:
        if name.lower().startswith(OF_PROXIES_AND_BROWSERS):
            return "this cannot be requested through a proxy or from a web page"
    return None


def _name_of(host: str) -> str:
    """Return the host without its port, in lower case."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() and not host.endswith("]") else host.lower()
