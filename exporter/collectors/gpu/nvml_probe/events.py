"""Xid errors the moment they occur, by an NVML event set and a thread for each GPU."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pynvml

from exporter.collectors.gpu.nvml_probe.known_gpu import KnownGpu
from exporter.collectors.gpu.nvml_probe.library import READ_ERRORS, UNSUPPORTED, reason_of

XID = 0x8
WAIT_MILLISECONDS = 10_000
PAUSE_SECS = 1.0
"""A set that gives an error, as that of a lost GPU does, is asked again after so long."""

NO_INSTANCE = 0xFFFFFFFF
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

    @property
    def is_waiting(self) -> bool:
        """Whether Xids of any GPU are waited for."""
        return any(self._waits.values())

    def follow(self, gpus: Sequence[KnownGpu]) -> None:
        """Wait for these GPUs too from now on; anew for a GPU that was absent in between."""
        present = {known.identity["uuid"]: known for known in gpus}
        for uuid, known in present.items():
            if uuid not in self._waits or uuid in self._absent:
                self._begin(uuid, known)
        if present:  # a pass that failed as a whole tells nothing of a single GPU
            self._absent = self._waits.keys() - present.keys()

    def _begin(self, uuid: str, known: KnownGpu) -> None:
        before = self._waits.get(uuid)
        if before is not None:
            before.stopped.set()
        try:
            events = pynvml.nvmlEventSetCreate()
        except READ_ERRORS:
            self._waits[uuid] = None
            return  # old drivers and virtual machines have no events; the kernel log has them
        try:
            known.card.ask("nvmlDeviceRegisterEvents", XID, events)
        except READ_ERRORS as error:
            pynvml.nvmlEventSetFree(events)
            self._waits[uuid] = None
            if reason_of(error) != UNSUPPORTED:
                del self._waits[uuid]  # lost just now, perhaps: the next pass tries again
            return
        known.card.library.leave_crumb(WAITING_CALL)  # before the thread may crash
        who = {name: known.identity[name] for name in ("index", "uuid")}
        self._waits[uuid] = _Wait(events, who, self._say)


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
                found = pynvml.nvmlEventSetWait_v2(self._events, WAIT_MILLISECONDS)
            except pynvml.NVMLError as error:
                if error.value != pynvml.NVML_ERROR_TIMEOUT:
                    self.stopped.wait(PAUSE_SECS)
                continue
            if found.eventType == XID and not self.stopped.is_set():
                self._say({**_message(found), **self._who})
        pynvml.nvmlEventSetFree(self._events)


def _message(found: Any) -> dict[str, Any]:
    return {
        "event": "xid",
        "xid": found.eventData,
        "gpu_instance": _instance(found.gpuInstanceId),
        "compute_instance": _instance(found.computeInstanceId),
    }


def _instance(number: int) -> int | None:
    return None if number == NO_INSTANCE else number
