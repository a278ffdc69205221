"""Child processes that do what a test says: no process, no real time."""

import asyncio
from collections.abc import Callable
from typing import cast

from exporter.probes.child import Children, Command, OnBytes


class ScriptedChild:
    """One child; a test lets it speak and end, and sees what was done to it."""

    def __init__(self, command: Command, on_output: OnBytes, on_errors: OnBytes) -> None:
        loop = asyncio.get_running_loop()
        self.command = command
        self.started_at = loop.time()
        self.says = on_output
        self.complains = on_errors
        self.exited: asyncio.Future[int] = loop.create_future()
        self.takes_requests = True
        self.requests: list[bytes] = []
        self.on_request: Callable[[bytes], None] = self.requests.append
        self.pauses: list[float] = []
        self.is_killed = False
        self.is_undying = False

    @property
    def is_running(self) -> bool:
        return not self.exited.done()

    def write(self, data: bytes) -> bool:
        if self.takes_requests:
            self.on_request(data)
        return self.takes_requests

    def kill(self) -> None:
        self.is_killed = True
        if not self.is_undying:
            self.ends(-9)

    def pause_reading(self, secs: float) -> None:
        self.pauses.append(secs)

    def ends(self, code: int) -> None:
        """Be over, unless it is already."""
        if self.is_running:
            self.exited.set_result(code)


class ScriptedChildren:
    """Starts such children, each prepared by `prepare`; an OSError in it is one of the start."""

    def __init__(self, prepare: Callable[[ScriptedChild], None] = lambda _: None) -> None:
        self.started: list[ScriptedChild] = []
        self._prepare = prepare

    def start(self, command: Command, on_output: OnBytes, on_errors: OnBytes) -> ScriptedChild:
        child = ScriptedChild(command, on_output, on_errors)
        self.started.append(child)
        self._prepare(child)
        return child

    async def end(self, child: ScriptedChild) -> bool:
        child.kill()
        await asyncio.sleep(0)
        return not child.is_running

    @property
    def abandoned_count(self) -> int:
        """How many were killed and have not died."""
        return sum(child.is_killed and child.is_running for child in self.started)

    @property
    def last(self) -> ScriptedChild:
        return self.started[-1]

    @property
    def starts(self) -> list[float]:
        """When children were started, in seconds."""
        return [child.started_at for child in self.started]

    def as_children(self) -> Children:
        """The same, for who expects real ones."""
        return cast("Children", self)
