"""What each path answers, over real connections."""

import gzip
import json

import pytest

from tests.web.serving import Node, parse, serving, snapshot

ALWAYS = ("/", "/health", "/healthz", "/ready")
OF_SNAPSHOT = ("/metrics", "/metrics/json", "/node", "/processes", "/faults", "/why")
PATHS = ALWAYS + OF_SNAPSHOT
OTHER_METHODS = ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND")
TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@pytest.mark.parametrize("path", PATHS)
async def test_head_says_what_get_would(path: str) -> None:
    """HEAD has the status and headers of GET, length included, and no body."""
    async with serving(snapshot()) as server:
        get = await server.get(path)
        head = await server.get(path, "HEAD")
    assert get.status == head.status == 200
    assert head.body == b""
    # The count of requests is on the page: one more is the same length.
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}
    assert int(get.headers["content-length"]) == len(get.body)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", OTHER_METHODS)
async def test_pages_can_only_be_read(path: str, method: str) -> None:
    """Every other method is refused, with the allowed ones named."""
    async with serving(snapshot()) as server:
        answer = await server.get(path, method)
    assert answer.status == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert json.loads(answer.body) == {"error": "this page is read-only"}


async def test_the_header_of_metrics_is_exact() -> None:
    """Prometheus reads the format from the header, to the letter."""
    async with serving(snapshot()) as server:
        text = await server.get("/metrics")
        openmetrics = await server.get("/metrics", Accept="application/openmetrics-text")
    assert text.headers["content-type"] == TEXT_TYPE
    assert text.headers["vary"] == "Accept, Accept-Encoding"
    assert openmetrics.headers["content-type"] == OPENMETRICS_TYPE
    assert openmetrics.body.endswith(b"# EOF\n")


@pytest.mark.parametrize("name", ["collect[]", "exclude[]", "name[]"])
async def test_a_part_of_the_page_is_refused(name: str) -> None:
    """Whoever asks for some families learns that there is no such choice, and how to make it."""
    async with serving(snapshot()) as server:
        answer = await server.get(f"/metrics?{name}=cpu")
        other = await server.get("/metrics?target=a")
    assert answer.status == 400
    assert json.loads(answer.body)["error"].startswith(f"{name} is not supported: ")
    assert other.status == 200


async def test_gzip_is_the_same_page() -> None:
    """The packed page is the plain one, and says that it is packed."""
    async with serving(snapshot()) as server:
        packed = await server.get("/metrics", Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body).startswith(b"# HELP hw_")


async def test_before_the_first_snapshot() -> None:
    """Pages that need a snapshot say so with 503; liveness does not need one."""
    async with serving(node=Node(reasons=["the first collection is not complete yet"])) as server:
        answers = {path: (await server.get(path)).status for path in PATHS}
        ready = await server.get("/ready")
    assert {path for path, status in answers.items() if status == 503} == {"/ready", *OF_SNAPSHOT}
    assert json.loads(ready.body) == {
        "status": "not ready",
        "version": "1.2.3",
        "reasons": ["the first collection is not complete yet"],
    }


async def test_liveness_is_lost_with_the_collecting_loop() -> None:
    """`/health` fails when the loop behind it is dead, and only then."""
    async with serving(snapshot(), node=Node(live=False)) as server:
        answer = await server.get("/health")
    assert answer.status == 503
    assert json.loads(answer.body) == {"status": "unhealthy", "version": "1.2.3"}


async def test_health_is_two_fields() -> None:
    """The document that probes read stays as it was."""
    async with serving(snapshot()) as server:
        answer = await server.get("/health")
    assert answer.body == b'{"status": "healthy", "version": "1.2.3"}'


async def test_versions_are_not_told() -> None:
    """The Server header names neither Python nor aiohttp, and no page is sniffed."""
    async with serving(snapshot()) as server:
        for path in (*PATHS, "/nowhere"):
            answer = await server.get(path)
            assert answer.headers["server"] == "hw-exporter"
            assert answer.headers["x-content-type-options"] == "nosniff"


async def test_requests_are_counted_under_few_names() -> None:
    """A thousand different unknown paths are one series, not a thousand."""
    async with serving(snapshot()) as server:
        for number in range(20):
            await server.get(f"/{number}")
        await server.get("/health")
        await server.get("/health", "POST")
    assert dict(server.routes.requests) == {
        ("other", 404): 20,
        ("/health", 200): 1,
        ("/health", 405): 1,
    }


async def test_a_query_changes_nothing() -> None:
    """Pages without parameters ignore a query, also a strange one."""
    async with serving(snapshot()) as server:
        for query in ("?", "?a=b", "?%ff=%00", "?a&b&&&", "?" + "x=1&" * 1500):
            assert (await server.get(f"/health{query}")).status == 200


async def test_a_header_in_several_lines_is_one_list() -> None:
    """Several Accept lines mean what they would mean in one (RFC 9110, section 5.3)."""
    lines = b"Accept: text/html\r\nAccept: application/openmetrics-text\r\n"
    head = b"GET /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n"
    async with serving(snapshot()) as server:
        answer = parse(await server.exchange(head + lines + b"\r\n"))
    assert answer.headers["content-type"] == OPENMETRICS_TYPE
