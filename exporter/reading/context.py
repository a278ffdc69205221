"""Everything that sources are built from."""

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.config import Config, Devices
from exporter.probes.child import Children
from exporter.reading.known_good import KnownGood
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class SourceContext:
    """Everything sources are built from; nothing below looks anything up.

    `child_environment` is what child processes get, `driver_children` are those that call drivers;
    `wake` asks the collector to read the named source again at once; `is_metric_taken` tells metric
    names that no probe may use; `known_good` what has worked before; without `sees_host_pids` the
    driver lists no processes of others.
    """

    config: Config
    hostname: str
    child_environment: Mapping[str, str]
    children: Children
    driver_children: Children
    call: CallBlocking
    wall: Callable[[], float]
    boottime: Callable[[], float]
    wake: Callable[[str], None]
    known_cpu_model: Callable[[], str | None]
    is_metric_taken: Callable[[str], bool]
    known_good: KnownGood = field(default_factory=KnownGood)
    sees_host_pids: bool = True

    @property
    def devices(self) -> Devices:
        """Which devices are shown, and how many at most."""
        return self.config.devices

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
