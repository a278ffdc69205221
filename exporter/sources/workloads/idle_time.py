"""How long a workload has held a GPU without using it."""

from exporter.model.workload import Workload


class IdleTime:
    """Remembers the last sign of activity of each workload on each GPU."""

    def __init__(self) -> None:
        self._active_at: dict[tuple[str, Workload], float] = {}

    def take(
        self, gpu_uuid: str, workload: Workload, *, is_active: bool | None, boottime: float
    ) -> float | None:
        """Seconds without activity; None while it is unknown, which begins the count anew."""
        key = (gpu_uuid, workload)
        if is_active is None:
            self._active_at.pop(key, None)
            return None
        if is_active or key not in self._active_at:
            self._active_at[key] = boottime
        return max(0.0, boottime - self._active_at[key])

    def forget_all_but(self, held: frozenset[tuple[str, Workload]]) -> None:
        """Drop what is no longer held, so that its next holding begins at zero."""
        for gone in self._active_at.keys() - held:
            del self._active_at[gone]
