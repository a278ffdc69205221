"""What a GPU backend answers: the same for NVML and nvidia-smi."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from exporter.model.gpu import Gpu
from exporter.model.reading import Missing


@dataclass(frozen=True, slots=True)
class GpuProblem:
    """A GPU that was listed and does not answer, as far as it can be told apart."""

    reason: str
    uuid: str | None = None
    index: int | None = None
    pci_bus_id: str | None = None


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


class BackendError(Exception):
    """The backend gave nothing; `reason` is one word for `hw_gpu_backend_info`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Backend(Protocol):
    """One program or library that is asked for all GPUs."""

    async def ask(self) -> GpuAnswer:
        """One pass over all GPUs; raises BackendError."""
        ...

    async def close(self) -> None:
        """End the children of this backend."""
        ...
