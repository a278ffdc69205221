"""Detects a GPU driver that was installed after this container was started."""

from exporter.collectors.gpu.values import GpuBackend, Gpus
from exporter.model.snapshot import Snapshot

RESTART = (
    "a GPU driver was installed after the start and its library is missing: exiting, so that"
    " a restart of the container mounts it"
)


class DriverRestartDetector:
    """Tells when this container has to be restarted to get the driver's library.

    The NVIDIA container runtime (its hook, or CDI) mounts libnvidia-ml.so.1 only while it
    creates a container. A pod started before the driver was installed never gets it; a restart
    of the container mounts it. Where the driver was there from the beginning a restart would not
    help, and none is asked for: so one restart never leads to another.
    """

    def __init__(self, patience_secs: float) -> None:
        """`patience_secs` is how long to wait for the library before a restart; 0 is for ever."""
        self._patience_secs = patience_secs
        self._was_without_driver = False
        self._missed_since: float | None = None

    def needs_restart(self, snapshot: Snapshot) -> bool:
        """Tell whether the library has been missing for too long since the driver came."""
        gpus = snapshot.reading(Gpus)
        if self._patience_secs <= 0 or gpus is None:
            return False
        if not self._is_library_missing(gpus.backend):
            self._missed_since = None
            return False
        if self._missed_since is None:
            self._missed_since = snapshot.taken_boottime
        return snapshot.taken_boottime - self._missed_since >= self._patience_secs

    def _is_library_missing(self, backend: GpuBackend) -> bool:
        if backend.reason == "no_driver":
            self._was_without_driver = True
        is_missing = backend.backend == "none" and backend.reason == "no_library"
        return is_missing and self._was_without_driver
