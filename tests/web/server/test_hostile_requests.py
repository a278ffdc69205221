"""Requests that nobody in good faith sends: refused shortly, closed, and never a traceback."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.toml import tomllib
from tests.web.serving import LIMITS, parse, serving, snapshot

HEAD = b"GET /metrics HTTP/1.1\r\nHost: node\r\n"
CONSTANT_BODY = b'{"error": "not found; / lists all pages"}'

HOSTILE = tomllib.loads(Path(__file__).with_name("hostile.toml").read_text("utf-8"))
MALFORMED = [
    *(text.encode("latin-1") for text in HOSTILE["malformed"]["whole"]),
    *(HEAD + text.encode("latin-1") for text in HOSTILE["malformed"]["after_the_head_of_metrics"]),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    HEAD + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    HEAD + b"X" * 100_000 + b": a\r\n\r\n",
    HEAD + b"X: a\r\n" * 1000 + b"\r\n",
    HEAD + b"A: " + b"b" * 1_000_000,
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics?" + b"a=1&" * 10_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"A" * 1_000_000,
]

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

PATHS_OUTSIDE = [
    f"{prefix}{up * depth}{target}"
    for prefix in ("/", "/metrics/", "/node/", "//")
    for up in ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%5c", "....//", "..;/", "%252e%252e%252f")
    for depth in (1, 6)
    for target in ("etc/passwd", "etc/shadow%00.html", "proc/self/environ")
]
SCRIPTS = [f"/{path}" for path in HOSTILE["unknown"]["paths"]]


@pytest.mark.parametrize("request_bytes", MALFORMED, ids=lambda data: repr(data[:60]))
async def test_a_malformed_request_is_refused_and_closed(
    request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """One short 4xx, or nothing at all; then the connection is closed, and the log is silent."""
    async with serving(snapshot(), replace(LIMITS, request_timeout_secs=0.5)) as server:
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
    *HOSTILE["unknown"]["queries"],
    "pid=" + "9" * 4000,
    "hw_id=" + "(a+)+" * 500,
    "hw_id=" + "%41" * 2000,
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
