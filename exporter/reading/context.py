"""The arguments of sources."""

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
    """Everything that sources are built from; sources look up nothing else.

    `child_environment` is that of child processes, `driver_children` are the child processes that
    call drivers. `wake` requests an early read of the named source. `is_metric_taken` tells metric
    names that no probe may use. `known_good` has the components that have worked before. Without
    `sees_host_pids` the driver lists no processes of other PID namespaces.
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
        """The filters and the maximum of devices."""
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
