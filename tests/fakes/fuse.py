"""Files whose readers sleep in the kernel and cannot be killed, or meet an errno of choice."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("fuse_server.py")


class NoFuse(Exception):
    """This machine cannot mount FUSE; the message says why."""


class StuckFiles:
    """A directory of such files, served by a process of its own until `close`.

    Operations are lookup, getattr, open, read, write, opendir, readdir and statfs; the name `/`
    is the directory itself.
    """

    def __init__(self, folder: Path) -> None:
        if not os.path.exists("/dev/fuse"):  # noqa: PTH110 - Path would raise on odd devices
            raise NoFuse("there is no /dev/fuse")
        self.folder = folder
        self._server = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SERVER), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        answer = self._answer()
        if "error" in answer:
            self.close()
            raise NoFuse(f"FUSE cannot be mounted: {answer['error']}")

    def hang(self, name: str, *operations: str) -> Path:
        """A file whose operations (`read` unless others are named) never end."""
        return self._tell(name, hang=operations or ("read",))

    def fail(self, name: str, code: int, *operations: str) -> Path:
        """A file whose operations (`read` unless others are named) fail with this errno."""
        return self._tell(name, fail=dict.fromkeys(operations or ("read",), code))

    def hold(self, name: str, text: str) -> Path:
        """A file that holds a text and behaves."""
        return self._tell(name, text=text)

    def disk(self, name: str, log_page: bytes) -> Path:
        """An NVMe disk that says this log page to whoever has CAP_SYS_ADMIN."""
        return self._tell(name, log_page=log_page.hex())

    def release(self, name: str) -> None:
        """End what hangs: who waits gets EIO, who comes later gets the text."""
        self._tell(name, release=True)

    def waiting(self, name: str) -> int:
        """How many requests wait for this file now."""
        return int(self._ask(name)["waiting"])

    def close(self) -> None:
        """Unmount; whoever still waits is let go with an error."""
        if self._server.stdin:
            self._server.stdin.close()
        self._server.wait(10)
        if self._server.stdout:
            self._server.stdout.close()

    def _tell(self, name: str, **change: Any) -> Path:
        self._ask(name, **change)
        return self.folder if name == "/" else self.folder / name

    def _ask(self, name: str, **change: Any) -> dict[str, Any]:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"name": name, **change}) + "\n")
        self._server.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer


@contextmanager
def released(files: StuckFiles, name: str) -> Iterator[None]:
    """Let go of a file at the end: a program with a thread in it cannot be ended before."""
    try:
        yield
    finally:
        files.release(name)
