"""The NVML backend as tests build it."""

from exporter.collectors.gpu.backend import Deadline
from exporter.collectors.gpu.nvml import NvmlBackend
from exporter.collectors.gpu.quarantine import Quarantine
from exporter.probes.child import Children, Command
from exporter.probes.supervisor import RequestProbe


def nvml_backend(
    children: Children,
    command: Command,
    timeout_secs: float,
    *,
    longest_secs: float = 0.0,
    probe: RequestProbe | None = None,
) -> NvmlBackend:
    """A backend over this probe, or one of this command."""
    lone = RequestProbe("nvml", command, children, lambda _: None)
    return NvmlBackend(
        probe or RequestProbe("nvml", command, children, lambda _: None),
        Deadline(timeout_secs, longest_secs),
        Quarantine(lone, timeout_secs),
    )
