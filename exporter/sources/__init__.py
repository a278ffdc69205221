"""Where readings come from: the one list of all sources."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.config import Config
from exporter.sources.context import Surroundings
from exporter.sources.external_probes import ExternalProbesSource, ProbeSurroundings
from exporter.sources.files import FileSource
from exporter.sources.gpu.source import build_gpu
from exporter.sources.host import node_building
from exporter.sources.interface import AnySource, Source
from exporter.sources.kernel_log.building import build_kernel_log
from exporter.sources.self_usage import OurProcessesReader
from exporter.sources.workloads.workload_building import build_workloads


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
    SourceRow("host", "node", node_building.host),
    SourceRow("cpu", "cpu", node_building.cpu),
    SourceRow("cpu_health", "cpu", node_building.cpu_health),
    SourceRow("memory", "memory", node_building.memory),
    SourceRow("numa", "memory", node_building.numa),
    SourceRow("edac", "memory", node_building.edac),
    SourceRow("paging", "memory", node_building.paging),
    SourceRow("pressure", "pressure", node_building.pressure),
    SourceRow("process_counts", "processes", node_building.process_counts),
    SourceRow("process_states", "processes", node_building.process_states, by_default=False),
    SourceRow("clock", "clock", node_building.clock),
    SourceRow("disk", "disk", node_building.disk),
    SourceRow("filesystem", "filesystem", node_building.filesystem),
    SourceRow("nvme", "nvme", node_building.nvme),
    SourceRow("nvme_health", "nvme", node_building.nvme_health, by_default=False),
    SourceRow("md", "raid", node_building.md),
    SourceRow("network", "network", node_building.network),
    SourceRow("network_stack", "network", node_building.network_stack),
    SourceRow("infiniband", "infiniband", node_building.infiniband),
    SourceRow("pcie", "pcie", node_building.pcie),
    SourceRow("hwmon", "sensors", node_building.hwmon),
    SourceRow("rapl", "sensors", node_building.rapl),
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
            raise ValueError(
                f"there is no source {name[:80]!r}; there are {', '.join(sorted(known))}"
            )
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
