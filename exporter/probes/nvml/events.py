"""Xid errors the moment they occur, by an NVML event set in a thread of its own."""

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pynvml

from exporter.probes.nvml.known_gpu import KnownGpu
from exporter.probes.nvml.library import READ_ERRORS

XID = 0x8
WAIT_MILLISECONDS = 10_000
NO_INSTANCE = 0xFFFFFFFF
WAITING_CALL = "nvmlEventSetWait_v2"
"""What the thread is in nearly all the time; a crash of it between two passes is known by this."""


class EventWatch:
    """Waits for Xids of all GPUs that can report them, and hands each on as a message."""

    def __init__(self, say: Callable[[dict[str, Any]], None]) -> None:
        self._say = say
        self.is_waiting = False
        self._watched: Sequence[str] = ()
        self._stopped = threading.Event()

    def follow(self, gpus: Sequence[KnownGpu]) -> None:
        """Watch these GPUs from now on, where they are others than before."""
        uuids = tuple(known.identity["uuid"] for known in gpus)
        if uuids == self._watched:
            return
        self._watched = uuids
        self._stopped.set()
        self._stopped = threading.Event()
        self.is_waiting = False
        try:
            events, by_handle = _registered(gpus)
        except READ_ERRORS:
            return  # old drivers and virtual machines have no events; the kernel log has them
        if not by_handle:
            pynvml.nvmlEventSetFree(events)
            return
        self.is_waiting = True
        gpus[0].card.library.leave_crumb(WAITING_CALL)  # before the thread may crash
        wait = threading.Thread(
            target=self._wait, args=(events, by_handle, self._stopped), daemon=True
        )
        wait.start()

    def _wait(
        self, events: object, by_handle: dict[int, dict[str, Any]], stopped: threading.Event
    ) -> None:
        while not stopped.is_set():
            try:
                found = pynvml.nvmlEventSetWait_v2(events, WAIT_MILLISECONDS)
            except pynvml.NVMLError as error:
                if error.value == pynvml.NVML_ERROR_TIMEOUT:
                    continue
                return  # the library was shut down, or a GPU is lost: the next pass will tell
            if found.eventType == XID and not stopped.is_set():
                self._say({**_message(found), **by_handle.get(_address(found.device), {})})
        pynvml.nvmlEventSetFree(events)


def _registered(gpus: Sequence[KnownGpu]) -> tuple[object, dict[int, dict[str, Any]]]:
    """Make an event set with all GPUs that report Xids, and tell who each handle is."""
    events = pynvml.nvmlEventSetCreate()
    by_handle = {}
    for known in gpus:
        try:
            known.card.ask("nvmlDeviceRegisterEvents", XID, events)
        except READ_ERRORS:
            continue  # this one cannot report them
        who = {name: known.identity[name] for name in ("index", "uuid")}
        by_handle[_address(known.card.handle)] = who
    return events, by_handle


def _address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def _message(found: Any) -> dict[str, Any]:
    return {
        "event": "xid",
        "xid": found.eventData,
        "gpu_instance": _instance(found.gpuInstanceId),
        "compute_instance": _instance(found.computeInstanceId),
    }


def _instance(number: int) -> int | None:
    return None if number == NO_INSTANCE else number
