"""Answers each request with the simulated node as it is now; prints Xids when they are due."""

import argparse
import contextlib
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from exporter.clock import boottime_now
from exporter.collectors.demo.files import NodeFolder
from exporter.collectors.demo.node import DemoNode, event
from exporter.collectors.demo.script import INCIDENTS
from exporter.probes.protocol import BadLine, decode_line, encode_line

TICK_SECS = 1.0


class DemoServer:
    """The node in real time; `folder` is where its files are kept, if they are wanted."""

    def __init__(
        self, node: DemoNode, folder: NodeFolder | None, speed: float, answers: BinaryIO
    ) -> None:
        self._node = node
        self._folder = folder
        self._speed = speed
        self._answers = answers
        self._first_secs = node.now.secs
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def serve(self, requests: BinaryIO) -> None:
        """Answer each request line with one line, until the input ends."""
        for line in requests:
            try:
                request = decode_line(line)
            except BadLine:
                continue  # not from our supervisor; there is no id to answer to
            with self._lock:
                self._go_on()
                self._write({"id": request.get("id"), **self._node.answer()})

    def tick_for_ever(self) -> None:
        """Move on between requests too, so that an Xid is reported when it happens."""
        while True:
            time.sleep(TICK_SECS / max(1.0, self._speed))
            with self._lock:
                self._go_on()

    def _go_on(self) -> None:
        secs = (time.monotonic() - self._started) * self._speed
        xids = self._node.advance_to(self._first_secs + secs)
        if self._folder is not None:
            self._folder.write(self._node, xids, boottime_now())
        for xid in xids:
            self._write(event(xid))

    def _write(self, message: dict[str, Any]) -> None:
        self._answers.write(encode_line(message))
        self._answers.flush()


def main() -> None:
    """Serve on standard input and output until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", type=float, default=1.0)
    parser.add_argument("--start", type=int, default=0, help="second of the script to begin at")
    parser.add_argument("--folder", type=Path, help="where the files of the node are kept")
    parser.add_argument("--whole-node", action="store_true", help="those of the host as well")
    parser.add_argument("--healthy", action="store_true", help="nothing goes wrong")
    options = parser.parse_args()
    incidents = () if options.healthy else INCIDENTS
    node = DemoNode(options.gpus, options.seed, options.speed, incidents)
    node.advance_to(options.start)
    folder = None
    if options.folder is not None:
        folder = NodeFolder(options.folder, boottime_now(), with_host=options.whole_node)
    server = DemoServer(node, folder, options.speed, os.fdopen(os.dup(1), "wb"))
    threading.Thread(target=server.tick_for_ever, daemon=True).start()
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # whoever asked is gone
        server.serve(sys.stdin.buffer)
    os._exit(0)
