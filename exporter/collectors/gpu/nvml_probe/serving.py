"""Answers each request with one pass over all GPUs, one JSON line each; prints events at once."""

import math
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from exporter.annotation import Any, BinaryIO
from exporter.collectors.gpu.nvml_probe.events import WAITING_CALL, EventWatch
from exporter.collectors.gpu.nvml_probe.gpus import GpuInventory
from exporter.collectors.gpu.nvml_probe.library import READ_ERRORS, Library, reason_of
from exporter.collectors.gpu.nvml_probe.runtime_pm import PowerStates
from exporter.collectors.gpu.supervision.breadcrumb import crumb_writer
from exporter.model.label import clean_text
from exporter.probes.protocol import BadLine, decode_line, encode_line


class Answers:
    """Lines to whoever asked, from the thread of the passes and the thread of the events."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, message: dict[str, Any]) -> None:
        """Write one line, whole."""
        line = encode_line(message)
        with self._lock:
            self._stream.write(line)
            self._stream.flush()


class Server:
    """One pass for each request; starts over with a fresh library after an error of its own."""

    def __init__(
        self, answers: Answers, library: Library, switches: frozenset[str], power: PowerStates
    ) -> None:
        self._answers = answers
        self._library = library
        self._switches = switches
        self._power = power
        self._gpus = GpuInventory(library, switches, power)
        self._watch = EventWatch(answers.write)

    def serve(self, requests: BinaryIO) -> None:
        """Answer each request line with one line, until the input ends."""
        for line in requests:
            try:
                request = decode_line(line)
            except BadLine:
                continue  # not from our supervisor; there is no id to answer to
            self._library.switched_off = frozenset(request.get("switched_off", ()))
            self._answers.write({"id": request.get("id"), **self._read(request)})
            if "events" in self._switches and WAITING_CALL not in self._library.switched_off:
                self._watch.follow(self._gpus.known)
            self._library.leave_crumb(WAITING_CALL if self._watch.is_waiting else "")

    def _read(self, request: dict[str, Any]) -> dict[str, Any]:
        until = time.monotonic() + float(request.get("enough_secs", math.inf))
        try:
            answer = self._gpus.read(lambda: time.monotonic() < until, _chosen_by(request))
        except READ_ERRORS as error:
            self._gpus = GpuInventory(self._library, self._switches, self._power)
            answer = {"error": reason_of(error), "message": clean_text(str(error))}
        return {**answer, "resident_bytes": resident_bytes()}


def _chosen_by(request: Mapping[str, Any]) -> Callable[[int], bool]:
    """Which GPUs are read: `only` one of them, or all that are not to be left out (`skip`)."""
    only, skipped = request.get("only"), request.get("skip", ())
    return lambda index: index == only if only is not None else index not in skipped


def resident_bytes() -> int:
    """Read the memory this process holds."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> None:
    """Speak over a private copy of standard output: the library may print to it, or close it."""
    # --with: the switches; --sys-root; --crumbs: the descriptor of the memory for breadcrumbs
    options = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    crumbs = options.get("crumbs")
    library = Library() if crumbs is None else Library(crumb_writer(int(crumbs)))
    switches = frozenset(options.get("with", "processes,profiling,events").split(","))
    power = PowerStates(options.get("sys-root", "/sys"))
    server = Server(Answers(stream), library, switches, power)
    with suppress(BrokenPipeError, KeyboardInterrupt):  # whoever asked is gone
        server.serve(sys.stdin.buffer)
    os._exit(0)  # the thread of the events may sleep in the driver
