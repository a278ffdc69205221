"""What a GPU backend answers, the same for every reader, and how an answer is built."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Protocol

from exporter.collectors.gpu.validation import drop_implausible
from exporter.collectors.gpu.values import DisabledCall, Gpu
from exporter.model.reading import Missing
from exporter.record import dataclass, replace

DUPLICATE = "duplicate_uuid"
NAMELESS = "no_identity"


@dataclass(frozen=True, slots=True)
class GpuProblem:
    """A GPU that was listed and does not answer, as far as it can be told apart."""

    reason: str
    uuid: str | None = None
    index: int | None = None
    pci_bus_id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class GpuAnswer:
    """All GPUs of one pass: those that answered, and those that are listed and did not.

    After a partial answer nothing is known of GPUs that are not listed.
    """

    gpus: tuple[Gpu, ...]
    problems: tuple[GpuProblem, ...] = ()
    driver_version: str | None = None
    cuda_version: str | None = None
    missing: tuple[Missing, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    is_partial: bool = False
    disabled_calls: tuple[DisabledCall, ...] = ()


def place_name(address: str) -> str:
    """Name a GPU that has no id of its own by its PCI address."""
    return f"PCI-{address}"


class AnswerBuilder:
    """Collects the GPUs of one pass; every reader treats what cannot be in the same way.

    With `by_address` each GPU was read by its PCI address: its values are its own even where its
    UUID is taken, and the GPU is named by its place. Elsewhere such a GPU is a problem, because a
    driver may have opened the other GPU by that UUID.
    """

    def __init__(self, *, by_address: bool = False) -> None:
        self._by_address = by_address
        self.gpus: dict[str, Gpu] = {}
        self.problems: list[GpuProblem] = []
        self.missing: list[Missing] = []
        self.rejected: Counter[str] = Counter()

    def add(
        self, gpu: Gpu, reasons: Mapping[str, object] | None = None, misfits: Iterable[str] = ()
    ) -> None:
        """Add a GPU that answered; `reasons` tell by field why a value is absent.

        `misfits` are the fields whose values had the wrong type.
        """
        if gpu.mig_enabled:  # the use of the whole is nobody's, whatever is reported
            gpu = replace(gpu, utilization_percent=None, memory_controller_utilization_percent=None)
        if gpu.uuid in self.gpus and self._by_address:
            gpu = replace(gpu, uuid=place_name(gpu.pci_bus_id or ""))
        if gpu.uuid in self.gpus:
            self.rejected["uuid"] += 1
            place = (gpu.index, gpu.pci_bus_id, gpu.name)
            self.problems.append(GpuProblem(DUPLICATE, None, *place))
            return
        self.gpus[gpu.uuid], implausible = drop_implausible(gpu)
        self.rejected.update({*misfits, *implausible})
        self.missing += [
            Missing(f"gpu{gpu.index}.{field}", str(why)) for field, why in (reasons or {}).items()
        ]

    def add_nameless(self, problem: GpuProblem) -> None:
        """Add a GPU without a UUID: its values belong to nobody."""
        self.rejected["identity"] += 1
        self.problems.append(replace(problem, reason=NAMELESS, uuid=None))

    def answer(
        self,
        *,
        driver_version: str | None = None,
        cuda_version: str | None = None,
        is_partial: bool = False,
    ) -> GpuAnswer:
        """Return the answer of the pass."""
        return GpuAnswer(
            tuple(self.gpus.values()),
            tuple(self.problems),
            driver_version,
            cuda_version,
            tuple(self.missing),
            dict(self.rejected),
            is_partial,
        )


class BackendError(Exception):
    """The backend gave nothing; `reason` is one word for `hw_gpu_backend_info`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Deadline:
    """The seconds a pass may take: those configured, more where it turns out to need more."""

    def __init__(self, configured_secs: float, longest_secs: float) -> None:
        self._configured = configured_secs
        self._longest = max(configured_secs, longest_secs)
        self.secs = configured_secs

    def took(self, secs: float) -> None:
        """Allow twice as much the next time, as far as the interval of collections allows."""
        self.secs = max(self._configured, min(self._longest, 2 * secs))


class Backend(Protocol):
    """One program or library that is asked for all GPUs."""

    async def ask(self) -> GpuAnswer:
        """One pass over all GPUs; raises BackendError."""
        ...

    async def close(self) -> None:
        """End the children of this backend."""
        ...


class SpareBackend:
    """A backend that is built, and its module imported, when the GPUs are first asked with it."""

    def __init__(self, build: Callable[[], Backend]) -> None:
        self._build = build
        self._built: Backend | None = None

    async def ask(self) -> GpuAnswer:
        """One pass over all GPUs; raises BackendError."""
        self._built = self._built or self._build()
        return await self._built.ask()

    async def close(self) -> None:
        """End the children of this backend."""
        if self._built is not None:
            await self._built.close()


@dataclass(frozen=True, slots=True)
class Backends:
    """The backends, best first; `is_stuck` tells that a killed child of one still lives.

    A backend that is None is switched off by the configuration; `restarts` counts the probe's.
    `problems` are those of GPUs that NVML asks alone, found since its last answer.
    """

    nvml: Backend | None
    smi: Backend | None
    is_stuck: Callable[[], bool]
    restarts: Callable[[], int | None] = lambda: None
    problems: Callable[[], tuple[GpuProblem, ...]] = tuple
