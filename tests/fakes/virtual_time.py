"""An event loop whose time jumps ahead whenever nothing is left to do: no test sleeps for real."""

import asyncio
import inspect
import selectors
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Story = Callable[..., Coroutine[Any, Any, None]]


class Deadlock(Exception):
    """Everything waits and nothing will ever happen."""


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits; tells how long the loop wanted to."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise Deadlock
        self.now += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop in virtual time; real threads and real processes do not mix with it."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.now


def be_busy(secs: float) -> None:
    """Let the running virtual loop be late by so many seconds, as if a callback took so long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop._jumping.now += secs


def run_virtually(scenario: Coroutine[Any, Any, T]) -> T:
    """The scenario's result, with all its waiting done in virtual time."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(scenario)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """The same test with all its waiting done in virtual time."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_virtually(test(*args, **kwargs))

    return run


def in_virtual_scene(
    scene: Callable[[], AbstractAsyncContextManager[object]],
) -> Callable[[Story], Callable[..., None]]:
    """Let a test, an `async def` with a scene before its fixtures, be played in virtual time."""

    def decorate(story: Story) -> Callable[..., None]:
        async def whole(fixtures: dict[str, Any]) -> None:
            async with scene() as made:
                await story(made, **fixtures)

        @wraps(story)
        def test(**fixtures: Any) -> None:
            run_virtually(whole(fixtures))

        _, *rest = inspect.signature(story).parameters.values()
        vars(test)["__signature__"] = inspect.Signature(rest)  # the scene is no fixture of pytest
        return test

    return decorate
