"""What is known of each GPU: the last good reading, for as long as it may be shown."""

from dataclasses import dataclass, replace

from exporter.model.gpu import GpuState
from exporter.sources.gpu_answer import GpuAnswer, GpuProblem

NOT_LISTED = "not_listed"


@dataclass(frozen=True, slots=True)
class CacheLives:
    """Seconds a reading is served: as a whole, and its values that move."""

    all_secs: float
    dynamic_secs: float


class GpuCache:
    """The states of all GPUs seen since the driver appeared, by UUID."""

    def __init__(self, lives: CacheLives) -> None:
        self._lives = lives
        self._states: dict[str, GpuState] = {}

    def take(self, answer: GpuAnswer, boottime: float) -> None:
        """Put in what a pass read at this boot time in seconds."""
        fresh = {gpu.uuid: self._fresh(GpuState(gpu, boottime)) for gpu in answer.gpus}
        reasons = self._reasons(answer.problems, fresh)
        for uuid, state in self._states.items():
            if uuid not in fresh:
                reason = reasons.get(uuid, NOT_LISTED)
                fresh[uuid] = replace(state, up=False, reason=reason, stale=True)
        self._states = fresh

    def mark_stale(self) -> None:
        """No pass succeeded: what is known is served from the cache from now on."""
        self._states = {uuid: replace(state, stale=True) for uuid, state in self._states.items()}

    def forget(self) -> None:
        """The driver is gone, and the GPUs with it."""
        self._states = {}

    def states(self, boottime: float) -> tuple[GpuState, ...]:
        """All states as they may be shown at this boot time in seconds, by index."""
        self._states = {uuid: state.at(boottime) for uuid, state in self._states.items()}
        return tuple(sorted(self._states.values(), key=lambda s: (s.gpu.index, s.gpu.uuid)))

    def _fresh(self, state: GpuState) -> GpuState:
        return replace(
            state,
            expires=state.read_boottime + self._lives.all_secs,
            dynamic_expires=state.read_boottime
            + min(self._lives.dynamic_secs, self._lives.all_secs),
        )

    def _reasons(
        self, problems: tuple[GpuProblem, ...], fresh: dict[str, GpuState]
    ) -> dict[str, str]:
        """Why a known GPU did not answer, by UUID; a lost one may be named by its index only."""
        by_index = {s.gpu.index: uuid for uuid, s in self._states.items() if uuid not in fresh}
        reasons = {}
        for problem in problems:
            uuid = problem.uuid
            if uuid is None and problem.index is not None:
                uuid = by_index.get(problem.index)
            if uuid is not None:
                reasons[uuid] = problem.reason
        return reasons
