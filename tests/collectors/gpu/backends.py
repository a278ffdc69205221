"""The backends as tests build them, and one that does what a test says."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from exporter.collectors.gpu.backend import BackendError, Deadline, GpuAnswer, GpuProblem
from exporter.collectors.gpu.nvml import NvmlBackend
from exporter.collectors.gpu.quarantine import Quarantine
from exporter.collectors.gpu.smi.program import NvidiaSmiBackend
from exporter.collectors.gpu.supervision.request_probe import RequestProbe
from exporter.collectors.gpu.values import Gpu
from exporter.probes.child import Children, Command

Step = Callable[[], Awaitable[GpuAnswer]]


def nvml_backend(children: Children, command: Command, timeout_secs: float) -> NvmlBackend:
    """A backend over probes of this command."""
    probe, lone = (RequestProbe("nvml", command, children, lambda _: None) for _ in range(2))
    return NvmlBackend(probe, Deadline(timeout_secs, 0.0), Quarantine(lone, timeout_secs))


def smi_backend(
    children: Children,
    path: Path,
    timeout_secs: float,
    *,
    longest_secs: float = 0.0,
    bound: Sequence[str] = (),
) -> NvidiaSmiBackend:
    """A backend that runs this program, on a node whose bus shows these GPUs."""

    async def bound_gpus() -> tuple[str, ...]:
        return tuple(bound)

    deadline = Deadline(timeout_secs, longest_secs)
    return NvidiaSmiBackend(children, (path,), {"PATH": "/usr/bin"}, deadline, bound_gpus)


def answers(
    *gpus: Gpu,
    problems: tuple[GpuProblem, ...] = (),
    after_secs: float = 0,
    driver_version: str = "550.1",
    cuda_version: str | None = "12.4",
) -> Step:
    """A pass that succeeds."""

    async def step() -> GpuAnswer:
        await asyncio.sleep(after_secs)
        return GpuAnswer(gpus, problems, driver_version, cuda_version)

    return step


def fails(reason: str, after_secs: float = 0) -> Step:
    """A pass that fails."""

    async def step() -> GpuAnswer:
        await asyncio.sleep(after_secs)
        raise BackendError(reason, f"it is {reason}")

    return step


class ScriptedBackend:
    """A backend that does what its script says, pass by pass; the last step is repeated."""

    def __init__(self, *script: Step) -> None:
        self.passes = 0
        self.is_closed = False
        self._script = script

    async def ask(self) -> GpuAnswer:
        self.passes += 1
        return await self._script[min(self.passes, len(self._script)) - 1]()

    async def close(self) -> None:
        self.is_closed = True
