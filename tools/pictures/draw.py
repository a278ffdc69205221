"""Draws the README's picture: the live page of a simulated node on which a GPU was lost.

The words of the page are kept inside the picture, numbers masked: a test compares them with the
page as it is now, so that the picture never shows what is not so.
"""

import argparse
import asyncio
import os
import re
import socket
import struct
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tools.pictures.browser import Tab, browser, new_tab

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pictures" / "page.png"
SIZE = (1440, 1010)
BEFORE_THE_LOSS_SECS = 752
"""Where the script begins for a picture: ninety seconds are drawn before the GPU is lost."""

LOSS_SECS = 836
PATIENCE_SECS = 150.0
KEYWORD = b"Description"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
MASKS = (
    (re.compile(r"throttled: [a-z ]+"), ""),  # comes and goes
    (re.compile(r"· up \d+ \w+"), "· up # h"),  # of the machine that draws
    (re.compile(r"\b[A-Z][a-z]{2} \d+ [A-Z][a-z]{2}\b"), "day"),  # of the day it was drawn
    (re.compile(r"\d+(?:\.\d+)?"), "#"),
    (re.compile(r"[ \t]+"), " "),
    (re.compile(r"\n\s*\n*"), "\n"),
)


@asynccontextmanager
async def lost_gpu(start_secs: int) -> AsyncIterator[Tab]:
    """Give the page of a demo on which GPU 5 has fallen off the bus, and what follows is drawn."""
    port = _free_port()
    command = [sys.executable, "-m", "exporter", "demo", "--whole-node", f"--start={start_secs}"]
    environment = {**os.environ, "NODE_NAME": "gpu-7", "LOG_LEVEL": "error"}
    program = subprocess.Popen(  # noqa: ASYNC220 - starts at once, and is looked at over HTTP only
        [*command, "--host=127.0.0.1", f"--port={port}"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        with browser() as address:
            async with new_tab(address) as tab:
                await tab.resize(*SIZE)
                await _open_when_there(tab, f"http://127.0.0.1:{port}/")
                await tab.until("document.querySelector('.gpu.lost')", PATIENCE_SECS)
                await tab.until("document.querySelector('.node.root + ul .node')", PATIENCE_SECS)
                yield tab
    finally:
        program.terminate()
        program.wait()


async def _open_when_there(tab: Tab, url: str) -> None:
    """Load the page again until the exporter answers with a first reading."""
    while True:
        await tab.open(url)
        if await tab.evaluate("!!document.querySelector('.gpu')"):
            return
        await asyncio.sleep(0.3)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


async def words(tab: Tab) -> str:
    """Return the words of the page, with all numbers masked."""
    text: str = await tab.evaluate("document.querySelector('main').innerText")
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    return text.strip()


def with_words(picture: bytes, text: str) -> bytes:
    """Put words into a PNG, as an uncompressed iTXt chunk behind its header."""
    content = KEYWORD + b"\x00\x00\x00\x00\x00" + text.encode()
    chunk = b"iTXt" + content
    written = struct.pack(">I", len(content)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    header_end = len(SIGNATURE) + 25  # IHDR is always the first chunk, and as long as that
    return picture[:header_end] + written + picture[header_end:]


def words_in(picture: bytes) -> str:
    """Return the words that were put into a PNG."""
    at = len(SIGNATURE)
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        kind, content = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        if kind == b"iTXt" and content.startswith(KEYWORD):
            return content[len(KEYWORD) + 5 :].decode()
        at += length + 12
    return ""


async def draw() -> None:
    """Draw the picture into docs/pictures/."""
    async with lost_gpu(BEFORE_THE_LOSS_SECS) as tab:
        text = await words(tab)
        picture = await tab.picture()
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(with_words(picture, text))
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} KiB\n")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(draw())
