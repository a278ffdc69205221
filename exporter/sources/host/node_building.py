"""How the sources of the node around the GPUs are built."""

from exporter.sources.context import Surroundings
from exporter.sources.files import FileSource
from exporter.sources.host.clock import ClockReader
from exporter.sources.host.cpu import CpuReader
from exporter.sources.host.cpu_health import CpuHealthReader
from exporter.sources.host.device_filter import shown
from exporter.sources.host.disk import DiskReader
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
from exporter.sources.host.nvme import NvmeReader
from exporter.sources.host.nvme_health import NvmeHealthReader
from exporter.sources.host.pcie import PcieReader
from exporter.sources.host.pressure import PressureReader
from exporter.sources.host.processes import ProcessCountsReader, ProcessStatesReader
from exporter.sources.host.rapl import RaplReader
from exporter.sources.host.vmstat import PagingReader
from exporter.sources.interface import Source

NVME_DEADLINE_SECS = 5.0
WALK_DEADLINE_SECS = 5.0


def host(around: Surroundings) -> Source:
    """Names, operating system, uptime."""
    reader = HostReader(around.proc, around.root, around.hostname, around.known_cpu_model)
    return FileSource("host", reader.look, around.call)


def cpu(around: Surroundings) -> Source:
    """Processors and load."""
    return FileSource("cpu", CpuReader(around.proc, around.sys).look, around.call)


def memory(around: Surroundings) -> Source:
    """Main memory."""
    return FileSource("memory", MemoryReader(around.proc).look, around.call)


def paging(around: Surroundings) -> Source:
    """Swapping and killed processes."""
    return FileSource("paging", PagingReader(around.proc).look, around.call)


def pressure(around: Surroundings) -> Source:
    """Waiting for resources."""
    return FileSource("pressure", PressureReader(around.proc).look, around.call)


def disk(around: Surroundings) -> Source:
    """Disks."""
    devices = around.config.devices
    is_shown = shown(devices.disk_exclude, devices.disk_include)
    reader = DiskReader(around.proc, around.sys, is_shown, devices.max_per_kind)
    return FileSource("disk", reader.look, around.call)


def filesystem(around: Surroundings) -> Source:
    """Mounted filesystems."""
    devices = around.config.devices
    return FilesystemSource(
        around.proc,
        around.root,
        around.call,
        is_type_shown=shown(devices.filesystem_type_exclude, devices.filesystem_type_include),
        is_mountpoint_shown=shown(devices.mountpoint_exclude, devices.mountpoint_include),
        limit=devices.max_per_kind,
    )


def network(around: Surroundings) -> Source:
    """Network interfaces."""
    devices = around.config.devices
    is_shown = shown(devices.network_exclude, devices.network_include)
    reader = NetworkReader(around.proc, around.sys, is_shown, devices.max_per_kind)
    return FileSource("network", reader.look, around.call)


def cpu_health(around: Surroundings) -> Source:
    """Frequencies, heat and machine checks."""
    return FileSource("cpu_health", CpuHealthReader(around.proc, around.sys).look, around.call)


def numa(around: Surroundings) -> Source:
    """Memory of NUMA nodes."""
    return FileSource("numa", NumaReader(around.sys).look, around.call)


def edac(around: Surroundings) -> Source:
    """Errors of memory modules."""
    return FileSource("edac", EdacReader(around.sys).look, around.call)


def md(around: Surroundings) -> Source:
    """Software RAID."""
    return FileSource("md", MdReader(around.proc).look, around.call)


def infiniband(around: Surroundings) -> Source:
    """Ports of InfiniBand and RoCE cards."""
    reader = InfinibandReader(around.sys, around.config.devices.max_per_kind)
    return FileSource("infiniband", reader.look, around.call)


def pcie(around: Surroundings) -> Source:
    """Links and errors on the PCI Express bus."""
    return FileSource("pcie", PcieReader(around.sys).look, around.call)


def hwmon(around: Surroundings) -> Source:
    """Sensors of the board."""
    return FileSource("hwmon", HwmonReader(around.sys).look, around.call)


def rapl(around: Surroundings) -> Source:
    """Energy the processors used."""
    return FileSource("rapl", RaplReader(around.sys).look, around.call)


def process_counts(around: Surroundings) -> Source:
    """Processes, threads, open files."""
    return FileSource("process_counts", ProcessCountsReader(around.proc).look, around.call)


def process_states(around: Surroundings) -> Source:
    """Processes by state, from a walk over all of them."""
    reader = ProcessStatesReader(around.proc)
    return FileSource("process_states", reader.look, around.call, WALK_DEADLINE_SECS)


def clock(around: Surroundings) -> Source:
    """Whether the clock is in step."""
    return FileSource("clock", ClockReader().look, around.call)


def nvme(around: Surroundings) -> Source:
    """The state of NVMe controllers."""
    return FileSource("nvme", NvmeReader(around.sys).look, around.call)


def nvme_health(around: Surroundings) -> Source:
    """What NVMe disks say of their health."""
    reader = NvmeHealthReader(around.sys, around.root)
    return FileSource("nvme_health", reader.look, around.call, NVME_DEADLINE_SECS)


def network_stack(around: Surroundings) -> Source:
    """TCP, receive queues, connection tracking."""
    reader = NetworkStackReader(around.proc)
    return FileSource("network_stack", reader.look, around.call)
