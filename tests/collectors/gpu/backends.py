"""The backends as tests build them."""

from collections.abc import Sequence
from pathlib import Path

from exporter.collectors.gpu.backend import Deadline
from exporter.collectors.gpu.nvml import NvmlBackend
from exporter.collectors.gpu.quarantine import Quarantine
from exporter.collectors.gpu.smi.program import NvidiaSmiBackend
from exporter.collectors.gpu.supervision.request_probe import RequestProbe
from exporter.probes.child import Children, Command


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
