"""Records as /dev/kmsg gives them."""

import os
import re
import time
from pathlib import Path

from tests.program import wait_for

UNPRINTABLE = re.compile(rb"[\x00-\x1f\x7f-\xff\\]")


def kmsg_record(text: str, *, sequence: int, stamp: float, prefix: int = 4) -> bytes:
    r"""The record of a text that was printed `stamp` seconds after boot.

    Bytes that are not printable, and `\`, are `\xNN`. The NVIDIA driver marks each of its lines as
    a continuation, also a whole one (nv_printf, kernel-open/nvidia/os-interface.c).
    """
    flag = "c" if text.startswith("NVRM: ") else "-"
    escaped = UNPRINTABLE.sub(lambda byte: rb"\x%02x" % byte[0][0], text.encode()).decode()
    return f"{prefix},{sequence},{int(stamp * 1e6)},{flag};{escaped}\n".encode()


class KernelLog:
    """A kernel log that a test writes: a pipe that gives one record for each read."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._sequence = 0
        # Held open for reading as well: the pipe does not end between two programs.
        self._reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)

    def say(self, text: str, prefix: int = 4) -> None:
        """Print one line; a prefix of 8 or more is that of a program, not of the kernel."""
        self._sequence += 1
        now = time.monotonic()
        os.write(self._pipe, kmsg_record(text, sequence=self._sequence, stamp=now, prefix=prefix))

    def insist(self, text: str) -> None:
        """Print one line, as soon as there is room for it."""

        def said() -> bool:
            try:
                self.say(text)
            except BlockingIOError:
                self._sequence -= 1
                return False
            return True

        wait_for(said, "room in the kernel log")

    def close(self) -> None:
        """End the pipe."""
        os.close(self._pipe)
        os.close(self._reading)
