"""Where readings come from: the one list of all sources."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.config import Config
from exporter.sources import node_building as node
from exporter.sources.external_probes import ExternalProbesSource, ProbeSurroundings
from exporter.sources.files import FileSource
from exporter.sources.gpu_building import build_gpu
from exporter.sources.interface import AnySource, Source
from exporter.sources.kernel_log.building import build_kernel_log
from exporter.sources.our_processes import OurProcessesReader
from exporter.sources.surroundings import Surroundings
from exporter.sources.workload_building import build_workloads


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source: its name, the group that switches it, and how it is built."""

    name: str
    group: str
    build: Callable[[Surroundings], AnySource]
    by_default: bool = True


def _gpu(around: Surroundings) -> Source:
    source = build_gpu(
        around.config.gpu,
        children=around.gpu_children,
        environment=around.child_environment,
        call=around.call,
        wall=around.wall,
        boottime=around.boottime,
        wake=lambda: around.wake("gpu"),
        demo=around.config.demo,
        sys_root=around.sys,
    )
    around.gpu_release.on_begin = source.release
    around.gpu_release.on_end = source.resume
    return source


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
    SourceRow("host", "node", node.host),
    SourceRow("cpu", "cpu", node.cpu),
    SourceRow("cpu_health", "cpu", node.cpu_health),
    SourceRow("memory", "memory", node.memory),
    SourceRow("numa", "memory", node.numa),
    SourceRow("edac", "memory", node.edac),
    SourceRow("paging", "memory", node.paging),
    SourceRow("pressure", "pressure", node.pressure),
    SourceRow("process_counts", "processes", node.process_counts),
    SourceRow("process_states", "processes", node.process_states, by_default=False),
    SourceRow("clock", "clock", node.clock),
    SourceRow("disk", "disk", node.disk),
    SourceRow("filesystem", "filesystem", node.filesystem),
    SourceRow("nvme", "nvme", node.nvme),
    SourceRow("nvme_health", "nvme", node.nvme_health, by_default=False),
    SourceRow("md", "raid", node.md),
    SourceRow("network", "network", node.network),
    SourceRow("network_stack", "network", node.network_stack),
    SourceRow("infiniband", "infiniband", node.infiniband),
    SourceRow("pcie", "pcie", node.pcie),
    SourceRow("hwmon", "sensors", node.hwmon),
    SourceRow("rapl", "sensors", node.rapl),
    SourceRow("gpu", "gpu", _gpu),
    SourceRow("workloads", "workloads", build_workloads),
    SourceRow("external_probes", "probes", _external_probes),
    SourceRow("kernel_log", "kernel_log", build_kernel_log),
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
    if row.name == "kernel_log" and not config.kernel_log.enabled:
        return False
    if row.name == "gpu" and config.gpu.backend == "off":
        return False
    if row.name == "external_probes" and not config.probes:
        return False
    return row.by_default or row.name in config.sources.enabled
