"""What is known of each GPU: the last good reading, for as long as it may be shown."""

from collections import Counter
from collections.abc import Iterable, Mapping

from exporter.collectors.gpu.backend import GpuAnswer, GpuProblem
from exporter.collectors.gpu.validation import LastTemperatures, without_unseen_processes
from exporter.collectors.gpu.values import DisabledCall, Gpu, Gpus, GpuState
from exporter.config import GpuConfig
from exporter.model.reading import Missing
from exporter.record import replace

NOT_LISTED = "not_listed"
SUSPENDED = "suspended"


class GpuCache:
    """What is known of all GPUs of one vendor seen since its driver appeared.

    `missing` is what the last answer lacks, `disabled_calls` what was not asked for; `rejected`
    counts implausible values by field. GPUs at the PCI addresses in `passed_through`, which a
    virtual machine has now, are kept but not shown: they are not lost.
    """

    def __init__(self, config: GpuConfig, *, vendor: str, sees_host_pids: bool = True) -> None:
        self._secs = config.cache_ttl_secs
        self._dynamic_secs = min(config.dynamic_ttl_secs, self._secs)
        self._vendor = vendor
        self._sees_host_pids = sees_host_pids
        self._states: dict[str, GpuState] = {}
        self._temperatures = LastTemperatures()
        self.missing: tuple[Missing, ...] = ()
        self.disabled_calls: tuple[DisabledCall, ...] = ()
        self.rejected: Counter[str] = Counter()
        self.passed_through: frozenset[str] = frozenset()

    def quiet_addresses(self, answer: GpuAnswer) -> tuple[str, ...]:
        """Return the PCI addresses of known GPUs that are not in this answer."""
        listed = {gpu.uuid for gpu in answer.gpus}
        quiet = (state.gpu for uuid, state in self._states.items() if uuid not in listed)
        return tuple(gpu.pci_bus_id for gpu in quiet if gpu.pci_bus_id)

    def take(self, answer: GpuAnswer, boottime: float) -> None:
        """Put in what a pass read at this boot time in seconds."""
        gpus, rejected = self._temperatures.drop_implausible(answer.gpus)
        self.missing = answer.missing
        self.disabled_calls = answer.disabled_calls
        self.rejected.update(answer.rejected)
        self.rejected.update(rejected)
        if not self._sees_host_pids:
            gpus = tuple(map(without_unseen_processes, gpus))
        dynamic_expires, expires = boottime + self._dynamic_secs, boottime + self._secs
        fresh = {
            gpu.uuid: GpuState(
                self._known(gpu), boottime, dynamic_expires=dynamic_expires, expires=expires
            )
            for gpu in gpus
        }
        quiet = {
            uuid: state
            for uuid, state in self._states.items()
            if state.gpu.uuid and state.gpu.uuid not in fresh  # a stranger has its place as key
        }
        reasons: dict[str, str] = {}
        strangers: dict[str, GpuState] = {}
        for problem in answer.problems:
            uuid = _whom(problem, quiet)
            if uuid is not None:
                reasons[uuid] = problem.reason
            elif problem.index is not None:
                strangers[f"index {problem.index}"] = self._stranger(
                    problem, problem.index, boottime
                )
        for uuid, state in quiet.items():
            if uuid not in reasons and answer.is_partial:
                fresh[uuid] = replace(state, stale=True)
                continue
            reason = reasons.get(uuid, NOT_LISTED)
            if reason == SUSPENDED:
                fresh[uuid] = state.asleep()
            else:
                fresh[uuid] = _down(state, reason)
        self._states = {**fresh, **strangers}

    def note(self, problems: Iterable[GpuProblem]) -> bool:
        """Mark GPUs down that were found so between two passes; whether any was up until now."""
        is_news = False
        for problem in problems:
            uuid = _whom(problem, self._states)
            if uuid is not None and self._states[uuid].up:
                self._states[uuid] = _down(self._states[uuid], problem.reason)
                is_news = True
        return is_news

    def mark_stale(self) -> None:
        """Serve what is known from the cache from now on: no pass succeeded."""
        self._states = {uuid: replace(state, stale=True) for uuid, state in self._states.items()}

    def forget(self) -> None:
        """Forget all GPUs: the driver is gone."""
        self._states = {}
        self.missing = ()

    def states(self, boottime: float) -> tuple[GpuState, ...]:
        """Give all states as they may be shown at this boot time in seconds, by index."""
        self._states = {uuid: state.at(boottime) for uuid, state in self._states.items()}
        shown = (
            state
            for state in self._states.values()
            if state.up or state.gpu.pci_bus_id not in self.passed_through
        )
        return tuple(sorted(shown, key=lambda s: (s.gpu.index, s.gpu.uuid)))

    def _known(self, gpu: Gpu) -> Gpu:
        """Add what an earlier pass reported of its identity: nvidia-smi knows less than NVML."""
        before = self._states.get(gpu.uuid)
        gpu = gpu if gpu.vendor else replace(gpu, vendor=self._vendor)
        return gpu if before is None else gpu.with_identity_of(before.gpu)

    def _stranger(self, problem: GpuProblem, index: int, boottime: float) -> GpuState:
        """Make the state of a GPU that has never answered: little more than its place is known."""
        uuid, place = problem.uuid or "", problem.pci_bus_id
        gpu = Gpu(index, uuid, problem.name or "unknown", pci_bus_id=place, vendor=self._vendor)
        if problem.reason == SUSPENDED:
            return GpuState(gpu, boottime, expired=True, suspended=True)
        return GpuState(gpu, boottime, up=False, reason=problem.reason, expired=True)


def _down(state: GpuState, reason: str) -> GpuState:
    """Mark a GPU down: what was read of it before is served from the cache."""
    return replace(state, up=False, reason=reason, stale=True, suspended=False)


def _whom(problem: GpuProblem, quiet: Mapping[str, GpuState]) -> str | None:
    """Find the known GPU that does not answer; it may be named by its address or its index."""
    if problem.uuid is not None:
        return problem.uuid if problem.uuid in quiet else None
    for uuid, state in quiet.items():
        if problem.pci_bus_id is not None:
            is_it = problem.pci_bus_id == state.gpu.pci_bus_id
        else:
            is_it = problem.index == state.gpu.index
        if is_it:
            return uuid
    return None


def dated(gpus: Gpus, unknown: float, now: float) -> Gpus:
    """Return the reading with `now` where a GPU was read at an unknown boot time."""
    states = tuple(
        replace(state, read_boottime=now) if state.read_boottime == unknown else state
        for state in gpus.states
    )
    return replace(gpus, states=states)
