"""The nvidia-smi backend as tests build it."""

from collections.abc import Sequence
from pathlib import Path

from exporter.collectors.gpu.backend import Deadline
from exporter.collectors.gpu.smi.program import NvidiaSmiBackend
from exporter.probes.child import Children
from tests.fakes.smi_program import NvidiaSmi


def smi_backend(
    children: Children,
    program: NvidiaSmi | Path,
    timeout_secs: float = 20.0,
    *,
    longest_secs: float = 0.0,
    bound: Sequence[str] = (),
) -> NvidiaSmiBackend:
    """A backend that runs this program, on a node whose bus shows these GPUs."""

    async def bound_gpus() -> tuple[str, ...]:
        return tuple(bound)

    path = program.path if isinstance(program, NvidiaSmi) else program
    return NvidiaSmiBackend(
        children,
        (path,),
        {"PATH": "/usr/bin"},
        Deadline(timeout_secs, longest_secs),
        bound_gpus,
    )
