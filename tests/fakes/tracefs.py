"""Files of a tracefs in which the NVIDIA driver has its tracepoint."""

import os
from pathlib import Path

from exporter.collectors.xid_tracepoint.tracefs import INSTANCE, TRACEPOINT


class Tracefs:
    """A tracefs with an instance that an exporter left, whose pipe a test writes."""

    def __init__(self, path: Path) -> None:
        self.instance = path / INSTANCE
        for folder in (path, self.instance):
            (folder / TRACEPOINT).mkdir(parents=True)
            (folder / TRACEPOINT / "enable").write_text("0\n")
        (self.instance / "trace_clock").write_text("[local] global boot\n")
        os.mkfifo(self.instance / "trace_pipe")
        # Held open for reading as well: the pipe does not end between two programs.
        flags = (os.O_RDONLY | os.O_NONBLOCK, os.O_WRONLY | os.O_NONBLOCK)
        self._ends = [os.open(self.instance / "trace_pipe", flag) for flag in flags]

    @property
    def reading(self) -> int:
        """The end of the pipe that is read."""
        return self._ends[0]

    def trace(self, text: str, at: float, task: str = "irq/47-nvidia") -> None:
        """Trace an event with this text, so many seconds after boot."""
        self.write(f"  {task:>16}-812     [005] d.h1. {at:.6f}: nvidia_dev_xid: {text}\n")

    def write(self, text: str) -> None:
        """Let the pipe give this text."""
        os.write(self._ends[1], text.encode())

    def close(self) -> None:
        """Close the pipe."""
        for end in self._ends:
            os.close(end)
