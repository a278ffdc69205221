"""Xid errors the moment they occur, by an NVML event set and a thread for each GPU."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from ctypes import c_ulonglong

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import instance_of
from exporter.collectors.gpu.nvml_probe.known_gpu import KnownGpu
from exporter.collectors.gpu.nvml_probe.library import READ_ERRORS, UNSUPPORTED, reason_of
from exporter.collectors.gpu.nvml_probe.nvml import NVMLError, call

XID = 0x8
WAIT_MILLISECONDS = 60_000
"""A set that was left is given back after so long; each return wakes a thread for each GPU."""
PAUSE_SECS = 1.0
"""A set that gives an error, as that of a lost GPU does, is asked again after so long."""

BEGIN_SECS = 0.5
"""So long a pass waits until a GPU is watched."""

WAITING_CALL = "nvmlEventSetWait_v2"
"""What the threads are in nearly all the time; a crash of one between two passes is known by it."""

Say = Callable[[dict[str, Any]], None]


class EventWatch:
    """Waits for Xids of all GPUs that can report them, and hands each on as a message.

    A lost GPU is still waited for: its Xid often comes after a pass has found it lost. Each GPU
    has an event set of its own, because a set with a lost GPU in it may fail for all.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._waits: dict[str, _Wait | None] = {}
        self._absent: set[str] = set()
        self._beginning: dict[str, threading.Thread] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether Xids of any GPU are waited for."""
        return any(self._waits.values())

    def follow(self, gpus: Sequence[KnownGpu]) -> None:
        """Wait for these GPUs too from now on; anew for a GPU that was absent in between."""
        present = {known.identity["uuid"]: known for known in gpus}
        failed = set()
        for uuid, known in present.items():
            is_new = uuid not in self._waits or uuid in self._absent
            if is_new and not self._begin_in_time(uuid, known):
                failed.add(uuid)
        if present:  # a pass that failed as a whole tells nothing of a single GPU
            self._absent = self._waits.keys() - present.keys() | failed

    def _begin_in_time(self, uuid: str, known: KnownGpu) -> bool:
        """Wait for a GPU; False if that failed, or a call for it hangs, which delays no pass."""
        before = self._beginning.get(uuid)
        if before is not None and before.is_alive():
            return False
        outcomes: list[bool] = []
        beginning = self._beginning[uuid] = threading.Thread(
            target=lambda: outcomes.append(self._begin(uuid, known)), daemon=True
        )
        beginning.start()
        beginning.join(BEGIN_SECS)
        return outcomes == [True]

    def _begin(self, uuid: str, known: KnownGpu) -> bool:
        """Wait for a GPU with a new set; the set before is left only then: no Xid falls between.

        False where the next pass has to try again, while the set before is waited for.
        """
        try:
            events = call("nvmlEventSetCreate")
        except READ_ERRORS:
            return False  # old drivers and virtual machines have no events; the kernel log has them
        try:
            known.card.ask("nvmlDeviceRegisterEvents", c_ulonglong(XID), events)
        except READ_ERRORS as error:
            call("nvmlEventSetFree", events)
            if reason_of(error) != UNSUPPORTED:
                return False  # lost just now, perhaps
            self._waits.setdefault(uuid, None)
            return True
        before = self._waits.get(uuid)
        if before is not None:
            before.stopped.set()
        known.card.library.leave_crumb(WAITING_CALL)  # before the thread may crash
        who = {name: known.identity[name] for name in ("index", "uuid")}
        self._waits[uuid] = _Wait(events, who, self._say)
        return True


class _Wait:
    """The thread that waits for the Xids of one GPU, until it is stopped."""

    def __init__(self, events: object, who: dict[str, Any], say: Say) -> None:
        self._events = events
        self._who = who
        self._say = say
        self.stopped = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self.stopped.is_set():
            try:
                found = call(WAITING_CALL, self._events, WAIT_MILLISECONDS)
            except NVMLError as error:
                if reason_of(error) != "timeout" and self.stopped.wait(PAUSE_SECS):
                    self._drain()
                continue
            if not self.stopped.is_set():
                self._take(found)
        call("nvmlEventSetFree", self._events)

    def _drain(self) -> None:
        """Hand on events that came while this set gave errors: the next set does not have them."""
        with suppress(NVMLError):
            while True:
                self._take(call(WAITING_CALL, self._events, 0))

    def _take(self, found: Any) -> None:
        if found.eventType == XID:
            self._say({**_message(found), **self._who})


def _message(found: Any) -> dict[str, Any]:
    return {
        "event": "xid",
        "xid": found.eventData,
        "gpu_instance": instance_of(found.gpuInstanceId),
        "compute_instance": instance_of(found.computeInstanceId),
    }
