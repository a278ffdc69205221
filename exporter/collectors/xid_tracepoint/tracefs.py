"""The trace instance of the exporter, in which only the tracepoint of Xids is enabled.

https://docs.kernel.org/trace/ftrace.html#instances
"""

import os
from pathlib import Path

from exporter.reading.source import SourceAbsent, SourceFailed

INSTANCE = "instances/hw-exporter-xid"
TRACEPOINT = "events/nvidia/nvidia_dev_xid"
BUFFER_KB = 64
"""For each CPU, some 300 Xids; the kernel's default of 1.4 MB is for whole traces."""


class TraceInstance:
    """An instance under a tracefs root; every method blocks.

    The kernel records on after the exporter was killed: the next one reads that too.
    """

    def __init__(self, tracefs: Path) -> None:
        self._tracefs = tracefs
        self._folder = tracefs / INSTANCE

    def open(self) -> int:
        """Return the open pipe of the instance, which is made, or taken over if it exists.

        Raises SourceAbsent without tracefs or tracepoint, and SourceFailed if tracefs refuses.
        """
        try:
            self._require()
            self._folder.mkdir(exist_ok=True)
            (self._folder / "buffer_size_kb").write_text(str(BUFFER_KB))
            clock = self._folder / "trace_clock"
            if "[boot]" not in clock.read_text():  # the kernel empties the buffer
                clock.write_text("boot")
            self.enable()
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            return os.open(self._folder / "trace_pipe", flags)
        except OSError as error:
            raise _failed(error) from error

    def enable(self) -> None:
        """Enable the tracepoint, also that of a driver that was loaded again; raise as `open`."""
        try:
            self._require()
            switch = self._folder / TRACEPOINT / "enable"
            if not switch.read_text().startswith("1"):
                switch.write_text("1")
        except OSError as error:
            raise _failed(error) from error

    def remove(self) -> None:
        """Remove the instance, whose pipe is closed; raise OSError."""
        self._folder.rmdir()

    def _require(self) -> None:
        places = {
            "events": f"tracefs is not mounted at {self._tracefs}",
            TRACEPOINT: "no NVIDIA driver with the tracepoint nvidia_dev_xid is loaded",
        }
        for name, reason in places.items():
            try:
                (self._tracefs / name).stat()
            except FileNotFoundError as error:
                raise SourceAbsent(reason) from error


def _failed(error: OSError) -> SourceFailed:
    return SourceFailed(f"{error.filename} cannot be used: {error.strerror}")
