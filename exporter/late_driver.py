"""Notices that a driver came after us whose library this container can never get."""

from exporter.model.gpu import GpuBackend, Gpus
from exporter.model.snapshot import Snapshot


class LateDriver:
    """A container runtime brings a driver's library in only while it makes the container.

    So who was started before the driver has to be started anew. Where the driver was there from
    the beginning that would not help, and nothing is concluded: a restart never leads to another.
    """

    def __init__(self, patience_secs: float) -> None:
        """`patience_secs` is how long the library may still come by itself; 0 means for ever."""
        self._patience_secs = patience_secs
        self._was_without_driver = False
        self._missed_since: float | None = None

    def needs_restart(self, snapshot: Snapshot) -> bool:
        """Whether the library has been missing for too long since the driver came."""
        seen = snapshot.reading(Gpus)
        if self._patience_secs <= 0 or seen is None:
            return False
        if not self._is_missing_after_its_driver(seen.backend):
            self._missed_since = None
            return False
        if self._missed_since is None:
            self._missed_since = snapshot.taken_boottime
        return snapshot.taken_boottime - self._missed_since >= self._patience_secs

    def _is_missing_after_its_driver(self, backend: GpuBackend) -> bool:
        if backend.reason == "no_driver":
            self._was_without_driver = True
        is_missing = backend.backend == "none" and backend.reason == "no_library"
        return is_missing and self._was_without_driver
