"""Chromium without a window, driven over its DevTools protocol."""

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, WSMsgType

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_SECS = 30.0
POLL_SECS = 0.1
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)


class NoBrowser(Exception):
    """There is no Chromium on this machine."""


def find_program() -> str:
    """Return the path of the first Chromium found; raise NoBrowser."""
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is not None:
            return path
    raise NoBrowser(f"none of {', '.join(PROGRAMS)} is installed")


class Tab:
    """One page of the browser; `events` are what it reported, `requests` what it asked for."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.ensure_future(self._read())
        self.events: list[dict[str, Any]] = []

    async def command(self, method: str, **parameters: object) -> dict[str, Any]:
        """Run one command of the protocol and return its result."""
        self._numbers += 1
        answer = asyncio.get_running_loop().create_future()
        self._answers[self._numbers] = answer
        await self._socket.send_json({"id": self._numbers, "method": method, "params": parameters})
        result: dict[str, Any] = await asyncio.wait_for(answer, PATIENCE_SECS)
        return result

    async def _read(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                break
            document = json.loads(message.data)
            answer = self._answers.pop(document.get("id", 0), None)
            if answer is None:
                self.events.append(document)
            elif "error" in document:
                answer.set_exception(RuntimeError(document["error"]["message"]))
            else:
                answer.set_result(document["result"])

    async def open(self, url: str) -> None:
        """Load a page and wait until it is complete."""
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.command(f"{domain}.enable")
        await self.command("Page.navigate", url=url)
        await self.until("document.readyState === 'complete'")

    async def evaluate(self, script: str) -> Any:
        """Run a script in the page and return its value."""
        result = await self.command("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:500])
        return result["result"].get("value")

    async def until(self, script: str, secs: float = PATIENCE_SECS) -> None:
        """Wait until a script is true; raise TimeoutError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + secs
        while not await self.evaluate(f"Boolean({script})"):
            if loop.time() > deadline:
                raise TimeoutError(f"waited {secs:g} s for {script}")
            await asyncio.sleep(POLL_SECS)

    async def resize(self, width: int, height: int) -> None:
        """Give the page another window."""
        await self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def prefer(self, scheme: str) -> None:
        """Let the page believe that its reader prefers light or dark."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        await self.command("Emulation.setEmulatedMedia", features=[feature])

    async def picture(self) -> bytes:
        """Return what the window shows as PNG."""
        result = await self.command("Page.captureScreenshot", format="png")
        return base64.b64decode(result["data"])

    def urls(self) -> list[str]:
        """Return everything the page asked for."""
        sent = (event for event in self.events if event["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def complaints(self) -> list[str]:
        """Return what the browser logged: broken policies, errors, exceptions."""
        entries = [
            event["params"]["entry"]["text"]
            for event in self.events
            if event["method"] == "Log.entryAdded"
        ]
        thrown = [event for event in self.events if event["method"] == "Runtime.exceptionThrown"]
        return [*entries, *(json.dumps(event)[:300] for event in thrown)]

    async def close(self) -> None:
        """Let go of the page."""
        self._reader.cancel()
        await self._socket.close()


@contextmanager
def browser() -> Iterator[str]:
    """Start a browser that lasts as long as the block, and give its address; raise NoBrowser."""
    program = find_program()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [program, *OPTIONS, f"--user-data-dir={folder}", "about:blank"]
        silent = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=silent, stderr=silent) as process:
            try:
                yield f"http://127.0.0.1:{_port(Path(folder) / 'DevToolsActivePort')}"
            finally:
                process.kill()


def _port(file: Path) -> str:
    """Return the port that the browser chooses, as soon as it has."""
    deadline = time.monotonic() + PATIENCE_SECS
    while time.monotonic() < deadline:
        time.sleep(POLL_SECS)
        port, end, _ = file.read_text("ascii").partition("\n") if file.exists() else ("", "", "")
        if end:
            return port
    raise NoBrowser("Chromium does not start")


@asynccontextmanager
async def new_tab(address: str) -> AsyncIterator[Tab]:
    """Give an empty page of this browser that lasts as long as the block."""
    async with ClientSession(address) as session:
        async with session.put("/json/new") as answer:
            target = await answer.json()
        url = target["webSocketDebuggerUrl"]
        async with session.ws_connect(url, max_msg_size=MAX_MESSAGE_BYTES) as socket:
            tab = Tab(socket)
            yield tab
            await tab.command("Page.close")
            await tab.close()
