"""Large documents: rendered once, away from the event loop, and a bounded number at a time."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from exporter.blocking import DaemonThreads
from exporter.model.snapshot import Snapshot
from exporter.web.answer import Answer
from exporter.web.renderer import MAX_WAITING, Renderer
from tests.web.serving import snapshot

T = TypeVar("T")
ONE = Answer(b"1", "text/plain")


class _Held:
    """Calls functions once it is released, one after the other."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    def __call__(self, function: Callable[[], T]) -> Awaitable[T]:
        return self._run(function)

    async def _run(self, function: Callable[[], T]) -> T:
        await self.released.wait()
        return function()


async def test_a_document_is_rendered_once_for_all_who_ask() -> None:
    """Also for those who ask later within the second; another snapshot or second is another."""
    first, second = snapshot(), snapshot()
    renderer = Renderer(DaemonThreads())

    async def ask(of: Snapshot, boottime: float, key: str = "a") -> Answer:
        return await renderer.answer(of, boottime, key, lambda: ONE)

    answers = await asyncio.gather(*(ask(first, 7.0 + number / 100) for number in range(50)))
    assert answers == [ONE] * 50
    assert renderer.rendered == 1
    await ask(first, 7.5, "another")
    assert renderer.rendered == 2
    await ask(second, 7.6)
    assert renderer.rendered == 3
    await ask(second, 8.0)
    assert renderer.rendered == 4


async def test_rendering_is_not_done_on_the_event_loop() -> None:
    """Who waits for it does not keep others waiting."""
    here = threading.get_ident()
    seen: list[int] = []

    def render() -> Answer:
        seen.append(threading.get_ident())
        return ONE

    await Renderer(DaemonThreads()).answer(None, 0.0, "a", render)
    assert seen != [here]


async def test_different_documents_wait_in_a_bounded_number() -> None:
    """Beyond, the answer is to try again; who asks for one that is coming gets it."""
    held = _Held()
    renderer = Renderer(held)
    asking = [
        asyncio.ensure_future(renderer.answer(None, 0.0, number, lambda: ONE))
        for number in range(MAX_WAITING)
    ]
    await asyncio.sleep(0)
    refused = await renderer.answer(None, 0.0, "one more", lambda: ONE)
    assert refused.status == 503
    same = asyncio.ensure_future(renderer.answer(None, 0.0, 5, lambda: ONE))
    held.released.set()
    assert await asyncio.gather(*asking, same) == [ONE] * (MAX_WAITING + 1)


async def test_a_client_that_leaves_takes_nothing_from_others() -> None:
    """The document that it asked for first is still made."""
    held = _Held()
    renderer = Renderer(held)
    leaving, staying = (
        asyncio.ensure_future(renderer.answer(None, 0.0, "a", lambda: ONE)) for _ in range(2)
    )
    await asyncio.sleep(0)
    leaving.cancel()
    held.released.set()
    assert await staying is ONE


async def test_a_document_that_cannot_be_rendered_fails_for_all_who_ask() -> None:
    """Each gets the error; the next second tries again."""

    def broken() -> Answer:
        raise ValueError("a bug")

    renderer = Renderer(DaemonThreads())
    for boottime in (0.0, 0.5, 1.0):
        with pytest.raises(ValueError, match="a bug"):
            await renderer.answer(None, boottime, "a", broken)
    assert renderer.rendered == 2
