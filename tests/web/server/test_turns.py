"""Large answers are sent one at a time, and those who pipeline wait for each other only."""

import asyncio
import logging
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse

from exporter.web.server.guard import LARGE_BYTES, GuardedServer
from tests.web.serving import LIMITS, PATIENCE_SECS, listening, until

CLIENTS = 20


@dataclass
class Passes:
    """Counts the passes of the event loop, and notes in which one each answer was begun."""

    now: int = 0
    of_answers: dict[str, list[int]] = field(default_factory=dict)

    def count(self) -> None:
        self.now += 1
        asyncio.get_running_loop().call_soon(self.count)


class NotedResponse(Response):
    """Notes when it is begun to be sent."""

    def __init__(self, passes: Passes, path: str, size: int) -> None:
        super().__init__(body=bytes(size))
        self._passes = passes
        self._path = path

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter | None:
        if not self.prepared:
            self._passes.of_answers.setdefault(self._path, []).append(self._passes.now)
        return await super().prepare(request)


async def _passes_of(paths: list[bytes], sizes: dict[str, int]) -> dict[str, list[int]]:
    """Let each client send its requests, answer all at the same moment, and return the passes."""
    passes, arrived, answering = Passes(), asyncio.Semaphore(0), asyncio.Event()

    async def handle(request: BaseRequest) -> StreamResponse:
        arrived.release()
        await answering.wait()
        return NotedResponse(passes, request.path, sizes[request.path])

    server = GuardedServer(handle, LIMITS)
    async with listening(server) as port:
        clients = [await asyncio.open_connection("127.0.0.1", port) for _ in paths]
        for path, (_, writer) in zip(paths, clients, strict=True):
            writer.write(b"".join(b"GET %s HTTP/1.1\r\nHost: n\r\n\r\n" % x for x in path.split()))
        for _ in clients:
            await asyncio.wait_for(arrived.acquire(), PATIENCE_SECS)
        passes.count()
        answering.set()
        for reader, _ in clients:
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_SECS)
        for _, writer in clients:
            writer.close()
    return passes.of_answers


async def test_two_large_answers_never_leave_in_one_pass_of_the_loop() -> None:
    """Twenty clients whose answers are ready at once: the loop turns between any two of them."""
    sent = (await _passes_of([b"/large"] * CLIENTS, {"/large": LARGE_BYTES + 1}))["/large"]
    assert len(sent) == CLIENTS
    assert all(later > earlier for earlier, later in pairwise(sent))


async def test_small_answers_do_not_wait() -> None:
    """What is small leaves at once, whoever else is served."""
    sizes = {"/large": LARGE_BYTES + 1, "/small": 10}
    sent = await _passes_of([*[b"/large"] * CLIENTS, b"/small"], sizes)
    assert sent["/small"][0] <= min(sent["/large"]) + 1


async def test_a_scrape_does_not_wait_for_clients_that_pipeline() -> None:
    """Who asks for one page gets it in the first passes, not after all who ask for many."""
    sizes = {"/many": LARGE_BYTES + 1, "/one": LARGE_BYTES + 1}
    sent = await _passes_of([*[b"/many /many"] * CLIENTS, b"/one"], sizes)
    assert sum(each < sent["/one"][0] for each in sent["/many"]) <= 1


async def test_a_client_that_leaves_before_its_turn_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever asks for large answers and resets cannot fill our log."""
    arrived, answering = asyncio.Semaphore(0), asyncio.Event()

    async def handle(_: BaseRequest) -> StreamResponse:
        arrived.release()
        await answering.wait()
        return Response(body=bytes(LARGE_BYTES + 1))

    server = GuardedServer(handle, LIMITS)
    async with listening(server) as port:
        clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CLIENTS)]
        for _, writer in clients:
            writer.write(b"GET /large HTTP/1.1\r\nHost: n\r\n\r\n")
        for _ in clients:
            await asyncio.wait_for(arrived.acquire(), PATIENCE_SECS)
        for _, writer in clients:
            writer.transport.abort()
        await until(lambda: server.open_connections() == 0)
        answering.set()
        for _ in range(10 * CLIENTS):
            await asyncio.sleep(0)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
