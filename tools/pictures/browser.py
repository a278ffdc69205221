"""Chromium without a window, driven over its DevTools protocol."""

import asyncio
import base64
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def browser() -> AsyncIterator[Tab]:
    """Give an empty page of a browser that lasts as long as the block; raise NoBrowser."""
    program = find_program()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            program,
            *OPTIONS,
            f"--user-data-dir={folder}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with ClientSession() as session:
                url = await _page_socket(session, Path(folder) / "DevToolsActivePort")
                async with session.ws_connect(url, max_msg_size=MAX_MESSAGE_BYTES) as socket:
                    tab = Tab(socket)
                    yield tab
                    await tab.close()
        finally:
            process.kill()
            await process.wait()


async def _page_socket(session: ClientSession, port_file: Path) -> str:
    """Wait for the browser to listen, and return the address of its first page."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_SECS
    while loop.time() < deadline:
        await asyncio.sleep(POLL_SECS)
        port = _port(port_file)
        if port is None:
            continue
        async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            for target in await answer.json():
                if target["type"] == "page":
                    return str(target["webSocketDebuggerUrl"])
    raise NoBrowser("Chromium does not start")


def _port(file: Path) -> str | None:
    """Return the port that the browser has chosen; None before it has."""
    try:
        port, end, _ = file.read_text("ascii").partition("\n")
    except FileNotFoundError:
        return None
    return port if end else None
