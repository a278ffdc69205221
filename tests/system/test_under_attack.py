"""The real program among clients that mean ill: others are served, and nothing is left behind."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.attacks import (
    HALF,
    at_once,
    connect,
    deaf_client,
    is_closed,
    is_of_one_moment,
    reset_in_the_middle,
    scrape,
    send_garbage,
)
from tests.program import PATIENCE_SECS, Program, value_of, wait_for

SETTINGS: dict[str, dict[str, Any]] = {
    "metrics": {"collect_interval_secs": 0.2},
    "server": {"request_timeout_secs": 1.0, "keepalive_timeout_secs": 1.0},
}
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """One program for all attacks: what the first one breaks, the next ones find."""
    with Program(tmp_path_factory.mktemp("attacked"), SETTINGS) as running:
        running.first_page()
        for _ in range(200):
            running.get("/metrics", Accept_Encoding="gzip")
        yield running


@pytest.fixture(autouse=True)
def unharmed(program: Program) -> Iterator[None]:
    """After each attack: descriptors, memory, log, liveness and collections are as before."""
    descriptors, resident = program.descriptor_count(), program.resident_bytes()
    lines = len(program.log_lines)
    yield
    assert program.get("/health").status == 200
    assert program.get("/ready").status == 200
    wait_for(lambda: program.descriptor_count() <= descriptors, "its descriptors")
    # What was freed is given back to the system every few seconds.
    wait_for(lambda: program.resident_bytes() < resident + 16 * MIB, "its memory")
    assert len(program.log_lines) - lines < 10
    assert "Traceback" not in program.log_file.read_text()
    before = program.collections()
    wait_for(lambda: program.collections() > before, "another collection")


async def test_pages_are_never_torn(program: Program) -> None:
    """While snapshots change all the time, used and available memory always make the total."""
    pages: set[str] = set()
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        pages.update(await at_once(10, lambda: scrape(program.port)))
    assert len({value_of(page, "hw_exporter_collections_total") for page in pages}) > 1
    assert all(map(is_of_one_moment, pages))


async def test_half_headers_silence_and_nobody_reading(program: Program) -> None:
    """Six hundred bad clients: a good one is served meanwhile, and all bad ones are closed."""
    open_before = program.descriptor_count()
    deaf = [deaf_client(program.port) for _ in range(200)]
    halves = await at_once(300, lambda: connect(program.port, HALF))
    silent = await at_once(50, lambda: connect(program.port))
    took = []
    for _ in range(30):
        began = time.monotonic()
        assert is_of_one_moment(await scrape(program.port))
        took.append(time.monotonic() - began)
    assert all(await asyncio.gather(*map(is_closed, [*halves, *silent])))
    # Those who never read are closed by the program too, while they still hold on.
    wait_for(lambda: program.descriptor_count() <= open_before, "all to be closed")
    for sock in deaf:
        sock.close()
    took = sorted(took)
    assert took[len(took) // 2] < 0.1


def test_clients_that_leave_in_the_middle(program: Program) -> None:
    """Two thousand clients reset their connection while the answer is on its way."""
    reset_in_the_middle(program.port, 2000)


def test_garbage_of_all_kinds(program: Program) -> None:
    """Two thousand malformed requests: no answer of theirs is an error of ours."""
    assert asyncio.run(send_garbage(program.port, 2000)) == 0


async def test_a_header_without_end(program: Program) -> None:
    """A client that sends header lines for ever is cut off after a bounded number of bytes."""
    reader, writer = await connect(program.port, b"GET / HTTP/1.1\r\n")
    sent = 0
    try:
        while sent < 50 * MIB and not reader.at_eof():
            writer.write(b"X-More: and more\r\n" * 1000)
            await writer.drain()
            sent += 18_000
    except ConnectionError:
        pass  # that is what is expected
    writer.close()
    assert sent < 20 * MIB


async def test_a_body_nobody_asked_for(program: Program) -> None:
    """A gigabyte announced with a GET is not waited for, and what comes of it is not kept."""
    head = b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n"
    reader, writer = await connect(program.port, head)
    answer = await asyncio.wait_for(reader.readuntil(b"}"), PATIENCE_SECS)
    try:
        for _ in range(100):
            writer.write(bytes(100_000))
            await writer.drain()
    except ConnectionError:
        pass  # that is what is expected
    await is_closed((reader, writer))
    assert answer.startswith(b"HTTP/1.1 200 OK")


async def test_many_requests_on_one_connection(program: Program) -> None:
    """Thousands of pipelined requests are answered one after the other, all of them."""
    request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    reader, writer = await connect(program.port, request * 2000 + last)
    answers = await asyncio.wait_for(reader.read(), PATIENCE_SECS)
    writer.close()
    assert answers.count(b'{"status"') == 2001
