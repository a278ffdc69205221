"""Where readings come from: the one list of all sources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from exporter.config import Config
from exporter.probes.child import Children
from exporter.sources.cpu import CpuReader
from exporter.sources.external_probes import ExternalProbesSource, ProbeSurroundings
from exporter.sources.files import FileSource
from exporter.sources.gpu_building import build_gpu
from exporter.sources.host import HostReader
from exporter.sources.interface import CallBlocking, Source
from exporter.sources.memory import MemoryReader
from exporter.sources.our_processes import OurProcessesReader


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
    boottime: Callable[[], float]
    wake: Callable[[str], None]
    known_cpu_model: Callable[[], str | None]
    is_metric_taken: Callable[[str], bool]

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


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source: its name, the group that switches it, and how it is built."""

    name: str
    group: str
    build: Callable[[Surroundings], Source]
    by_default: bool = True


def _host(around: Surroundings) -> Source:
    reader = HostReader(around.proc, around.root, around.hostname, around.known_cpu_model)
    return FileSource("host", reader.look, around.call)


def _cpu(around: Surroundings) -> Source:
    return FileSource("cpu", CpuReader(around.proc, around.sys).look, around.call)


def _memory(around: Surroundings) -> Source:
    return FileSource("memory", MemoryReader(around.proc).look, around.call)


def _gpu(around: Surroundings) -> Source:
    return build_gpu(
        around.config.gpu,
        children=around.gpu_children,
        environment=around.child_environment,
        call=around.call,
        boottime=around.boottime,
        wake=lambda: around.wake("gpu"),
    )


def _our_processes(around: Surroundings) -> Source:
    reader = OurProcessesReader((around.children, around.gpu_children))
    return FileSource("our_processes", reader.look, around.call)


def _external_probes(around: Surroundings) -> Source:
    surroundings = ProbeSurroundings(
        children=around.children,
        environment=around.child_environment,
        is_taken=around.is_metric_taken,
        boottime=around.boottime,
        wake=lambda: around.wake("external_probes"),
    )
    return ExternalProbesSource(around.config.probes, surroundings)


SOURCES: tuple[SourceRow, ...] = (
    SourceRow("host", "node", _host),
    SourceRow("cpu", "cpu", _cpu),
    SourceRow("memory", "memory", _memory),
    SourceRow("gpu", "gpu", _gpu),
    SourceRow("external_probes", "probes", _external_probes),
    SourceRow("our_processes", "exporter", _our_processes),
)


def chosen(config: Config, rows: tuple[SourceRow, ...] = SOURCES) -> tuple[SourceRow, ...]:
    """The sources that run under this configuration; raises ValueError for an unknown name."""
    known = {row.name for row in rows}
    for name in (*config.sources.enabled, *config.sources.disabled):
        if name not in known:
            raise ValueError(f"there is no source {name!r}; there are {', '.join(sorted(known))}")
    return tuple(row for row in rows if _runs(row, config))


def _runs(row: SourceRow, config: Config) -> bool:
    if row.name in config.sources.disabled or not getattr(config.metrics.enabled, row.group):
        return False
    if row.name == "gpu" and config.gpu.backend == "off":
        return False
    if row.name == "external_probes" and not config.probes:
        return False
    return row.by_default or row.name in config.sources.enabled
