"""Who may have the GPUs released: programs of this machine, and what cannot be taken for one."""

import pytest

from exporter.web.server.local_client import refusal_of


@pytest.mark.parametrize("remote", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:8080", "[::1]:8080", "[::1]"]
)
def test_a_program_of_this_machine_is_one(remote: str, host: str) -> None:
    """As curl asks."""
    headers = {"Host": host, "User-Agent": "curl/8.5.0", "Accept": "*/*", "Content-Length": "0"}
    assert refusal_of(remote, headers, [host]) is None


@pytest.mark.parametrize("remote", ["", "10.0.0.1", "127.0.0.6", "127.0.1.1", "::", "fe80::1%lo"])
def test_another_address_is_refused(remote: str) -> None:
    """127.0.0.6 is what a service mesh passes the requests of others on from."""
    refusal = refusal_of(remote, {}, ["localhost"])
    assert refusal == "only programs on this machine can request this"


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [""],
        ["evil.example"],
        ["evil.example:8080"],
        ["localhost.evil.example"],
        ["localhost", "localhost"],
        ["127.0.0.1.nip.io"],
        ["10.0.0.1:8080"],
        ["[::2]"],
        ["localhost:80:80"],
        ["localhost:x"],
        ["user@localhost"],
    ],
)
def test_another_host_is_refused(hosts: list[str]) -> None:
    """A page in a browser that has its own name lead to 127.0.0.1 cannot hide that name."""
    assert refusal_of("127.0.0.1", {}, hosts) == "this must be requested as localhost"


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-For",
        "x-forwarded-proto",
        "X-Real-IP",
        "X-Envoy-External-Address",
        "X-Request-Id",
        "Forwarded",
        "Via",
        "CF-Connecting-IP",
        "Traceparent",
        "b3",
        "Origin",
        "Referer",
        "Cookie",
        "Sec-Fetch-Site",
        "Sec-Fetch-Mode",
    ],
)
def test_what_a_proxy_or_a_browser_adds_is_refused(header: str) -> None:
    """Whatever its value."""
    refusal = refusal_of("127.0.0.1", {"Host": "localhost", header: ""}, ["localhost"])
    assert refusal == "this cannot be requested through a proxy or from a web page"
