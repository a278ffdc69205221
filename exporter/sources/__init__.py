"""Where readings come from: the one list of all sources."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from exporter.config import Config
from exporter.model.reading import Reading
from exporter.sources.context import SourceContext
from exporter.sources.device_filter import shown
from exporter.sources.external_probes import ExternalProbesSource
from exporter.sources.files import FILE_DEADLINE_SECS, FileSource
from exporter.sources.gpu.other_vendors import with_other_vendors
from exporter.sources.gpu.source import build_gpu
from exporter.sources.gpu.xid_events import GpuEvents
from exporter.sources.gpu.xid_store import XidStore
from exporter.sources.host.clock import ClockReader
from exporter.sources.host.cpu import CpuReader
from exporter.sources.host.cpu_health import CpuHealthReader
from exporter.sources.host.disk import DiskReader
from exporter.sources.host.dmi import DmiReader
from exporter.sources.host.edac import EdacReader
from exporter.sources.host.filesystem import FilesystemSource
from exporter.sources.host.host import HostReader
from exporter.sources.host.hwmon import HwmonReader
from exporter.sources.host.infiniband import InfinibandReader
from exporter.sources.host.md import MdReader
from exporter.sources.host.memory import MemoryReader
from exporter.sources.host.netstat import NetworkStackReader
from exporter.sources.host.network import NetworkReader
from exporter.sources.host.numa import NumaReader
from exporter.sources.host.nvme import NvmeHealthReader, NvmeReader
from exporter.sources.host.pcie import PcieReader
from exporter.sources.host.pressure import PressureReader
from exporter.sources.host.processes import ProcessCountsReader, ProcessStatesReader
from exporter.sources.host.rapl import RaplReader
from exporter.sources.host.vmstat import PagingReader
from exporter.sources.interface import AnySource, Source
from exporter.sources.kernel_log.source import build_kernel_log
from exporter.sources.self_usage import OurProcessesReader
from exporter.sources.workloads.source import build_workloads

SLOW_DEADLINE_SECS = 5.0
"""For admin commands to disks, and for a walk over all processes."""


class FileReader(Protocol):
    """Reads files of the kernel and blocks while it does."""

    def read(self) -> Reading[object]:
        """Read once; raise SourceAbsent or SourceFailed."""
        ...


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source: its name, the group that switches it, and how it is built."""

    name: str
    group: str
    build: Callable[[SourceContext], AnySource]
    by_default: bool = True


def _files(
    name: str,
    group: str,
    reader: Callable[[SourceContext], FileReader],
    *,
    deadline_secs: float = FILE_DEADLINE_SECS,
    by_default: bool = True,
) -> SourceRow:
    """Make the row of a source that reads files of the kernel."""

    def build(ctx: SourceContext) -> Source:
        return FileSource(name, reader(ctx).read, ctx.call, deadline_secs)

    return SourceRow(name, group, build, by_default)


def _gpu(ctx: SourceContext) -> Source:
    directory = Path(ctx.config.state.dir) if ctx.config.state.dir else None
    store = XidStore(directory, ctx.proc, ctx.call)
    nvidia = build_gpu(
        ctx.config.gpu,
        children=ctx.gpu_children,
        environment=ctx.child_environment,
        call=ctx.call,
        events=GpuEvents(ctx.wall, ctx.boottime, store),
        boottime=ctx.boottime,
        wake=lambda: ctx.wake("gpu"),
        interval_secs=ctx.config.metrics.collect_interval_secs,
        demo=ctx.config.demo,
        sys_root=ctx.sys,
        sees_host_pids=ctx.sees_host_pids,
    )
    return with_other_vendors(nvidia, ctx)


def _ebpf(ctx: SourceContext) -> Source:
    # Here, because it costs memory that only those need who have it enabled.
    from exporter.sources.workloads.traced_calls import TracedCallsSource  # noqa: PLC0415

    return TracedCallsSource(ctx)


def _ebpf_kernel(ctx: SourceContext) -> Source:
    from exporter.sources.workloads.traced_events import build_traced_events  # noqa: PLC0415 - as above

    return build_traced_events(ctx, shown(ctx.devices.disk_exclude, ctx.devices.disk_include))


def _ebpf_functions(ctx: SourceContext) -> Source:
    from exporter.sources.workloads.traced_functions import TracedFunctionsSource  # noqa: PLC0415 - as above

    return TracedFunctionsSource(ctx)


SOURCES: tuple[SourceRow, ...] = (
    _files(
        "host",
        "node",
        lambda ctx: HostReader(ctx.proc, ctx.root, ctx.hostname, ctx.known_cpu_model),
    ),
    _files("dmi", "node", lambda ctx: DmiReader(ctx.sys)),
    _files("cpu", "cpu", lambda ctx: CpuReader(ctx.proc, ctx.sys)),
    _files("cpu_health", "cpu", lambda ctx: CpuHealthReader(ctx.proc, ctx.sys)),
    _files("memory", "memory", lambda ctx: MemoryReader(ctx.proc)),
    _files("numa", "memory", lambda ctx: NumaReader(ctx.sys)),
    _files("edac", "memory", lambda ctx: EdacReader(ctx.sys)),
    _files("paging", "memory", lambda ctx: PagingReader(ctx.proc)),
    _files("pressure", "pressure", lambda ctx: PressureReader(ctx.proc)),
    _files("process_counts", "processes", lambda ctx: ProcessCountsReader(ctx.proc)),
    _files(
        "process_states",
        "processes",
        lambda ctx: ProcessStatesReader(ctx.proc),
        deadline_secs=SLOW_DEADLINE_SECS,
        by_default=False,
    ),
    _files("clock", "clock", lambda ctx: ClockReader(ctx.known_good)),
    _files("disk", "disk", lambda ctx: DiskReader(ctx.proc, ctx.sys, ctx.devices)),
    SourceRow(
        "filesystem",
        "filesystem",
        lambda ctx: FilesystemSource(ctx.proc, ctx.sys, ctx.root, ctx.call, ctx.devices),
    ),
    _files("nvme", "nvme", lambda ctx: NvmeReader(ctx.sys)),
    _files(
        "nvme_health",
        "nvme",
        lambda ctx: NvmeHealthReader(ctx.sys, ctx.root),
        deadline_secs=SLOW_DEADLINE_SECS,
        by_default=False,
    ),
    _files("md", "raid", lambda ctx: MdReader(ctx.proc)),
    _files(
        "network",
        "network",
        lambda ctx: NetworkReader(ctx.proc, ctx.sys, ctx.devices, known_good=ctx.known_good),
    ),
    _files("network_stack", "network", lambda ctx: NetworkStackReader(ctx.proc)),
    _files(
        "infiniband",
        "infiniband",
        lambda ctx: InfinibandReader(ctx.sys, ctx.devices.max_per_kind, ctx.known_good),
    ),
    _files("pcie", "pcie", lambda ctx: PcieReader(ctx.sys)),
    _files("hwmon", "sensors", lambda ctx: HwmonReader(ctx.sys)),
    _files("rapl", "sensors", lambda ctx: RaplReader(ctx.sys)),
    SourceRow("gpu", "gpu", _gpu),
    SourceRow("workloads", "workloads", build_workloads),
    SourceRow("external_probes", "probes", ExternalProbesSource),
    SourceRow("ebpf", "probes", _ebpf),
    SourceRow("ebpf_kernel", "probes", _ebpf_kernel),
    SourceRow("ebpf_functions", "probes", _ebpf_functions),
    SourceRow("kernel_log", "kernel_log", build_kernel_log),
    _files(
        "our_processes",
        "exporter",
        lambda ctx: OurProcessesReader((ctx.children, ctx.gpu_children)),
    ),
)


def chosen(config: Config, rows: tuple[SourceRow, ...] = SOURCES) -> tuple[SourceRow, ...]:
    """Choose the sources of this configuration; raise ValueError for an unknown name."""
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
    is_asked_for = {
        "kernel_log": config.kernel_log.enabled,
        "gpu": config.gpu.backend != "off",
        "external_probes": bool(config.probes),
        "ebpf": config.ebpf.enabled and bool(config.ebpf.layers),
        "ebpf_kernel": config.ebpf.enabled and bool(config.ebpf.kernel_events),
        "ebpf_functions": config.ebpf.enabled
        and bool(config.ebpf.torch_operators or config.ebpf.python_functions),
    }
    if not is_asked_for.get(row.name, True):
        return False
    return row.by_default or row.name in config.sources.enabled
