"""What a GPU backend answers: the same for NVML and nvidia-smi."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from exporter.collectors.gpu.values import DisabledCall, Gpu
from exporter.model.reading import Missing


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

    After a partial answer nothing is known of those that are not named.
    """

    gpus: tuple[Gpu, ...]
    problems: tuple[GpuProblem, ...] = ()
    driver_version: str | None = None
    cuda_version: str | None = None
    missing: tuple[Missing, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    is_partial: bool = False
    disabled_calls: tuple[DisabledCall, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Backends:
    """The backends, best first; `is_stuck` tells that a killed child of one still lives.

    A backend that is None is switched off by the configuration; `restarts` counts the probe's.
    `first` is the name of the first one: a simulated node answers as NVML does. `problems` are
    those of GPUs that the first one asks alone, found since its last answer.
    """

    nvml: Backend | None
    smi: Backend | None
    is_stuck: Callable[[], bool]
    restarts: Callable[[], int | None] = lambda: None
    first: str = "nvml"
    problems: Callable[[], tuple[GpuProblem, ...]] = tuple
