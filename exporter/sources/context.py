"""Everything that sources are built from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.config import Config
from exporter.probes.child import Children
from exporter.sources.gpu_release import GpuRelease


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything sources are built from; nothing below looks anything up.

    `child_environment` is what child processes get; `wake` asks the collector to read the named
    source again at once; `is_metric_taken` tells metric names that no probe may use.
    """

    config: Config
    hostname: str
    child_environment: Mapping[str, str]
    children: Children
    gpu_children: Children
    call: CallBlocking
    wall: Callable[[], float]
    boottime: Callable[[], float]
    wake: Callable[[str], None]
    known_cpu_model: Callable[[], str | None]
    is_metric_taken: Callable[[str], bool]
    gpu_release: GpuRelease = field(default_factory=GpuRelease)

    @property
    def proc(self) -> Path:
        """The root of the proc filesystem."""
        return Path(self.config.sources.proc_root)

    @property
    def sys(self) -> Path:
        """The root of the sys filesystem."""
        return Path(self.config.sources.sys_root)

    @property
    def root(self) -> Path:
        """The root of the node's filesystem."""
        return Path(self.config.sources.host_root)
