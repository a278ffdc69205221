"""The dashboard of one node."""

from tools.dashboards.document import Dashboard, Row
from tools.dashboards.fault_panels import (
    MARKS,
    count_of,
    faults_over_time,
    gpus_table,
    root_causes,
    symptoms,
)
from tools.dashboards.panels import Column
from tools.dashboards.parts import (
    BAD,
    CLUSTERS,
    FULL,
    INSTANCE,
    NO_FILESYSTEMS,
    NODE,
    ON,
    bars,
    fresh,
    highest,
    lines,
    now,
    rate,
    table,
)
from tools.dashboards.traced import TRACED

NO_GPU = "no GPU on this node"
BUSY = f'{ON},mode!~"idle|iowait"'
PHYSICAL = f'{ON},device!~"lo|veth.*|cali.*|cni.*|docker.*|br-.*"'


BROKEN = Row(
    "Faults and root causes on $node",
    (
        root_causes(where=(), width=12, height=6),
        now(
            "Health",
            f"max(hw_node_healthy{{{ON}}})",
            words=((1, "healthy", "green"), (0, "NOT HEALTHY", "red")),
            help="Not healthy while a critical fault is active.",
            empty="no data",
        ),
        count_of("critical", "red", "Critical faults"),
        count_of("warning", "orange", "Warnings"),
        now(
            "GPUs lost",
            f"(count(hw_gpu_up{{{ON}}} == 0) or vector(0)) and on () hw_gpu_count{{{ON}}}",
            limits=BAD,
            empty="no GPU",
        ),
        now("CPU threads", f"max(hw_cpu_threads{{{ON}}})"),
        now("Uptime", f"max(hw_node_uptime_seconds{{{ON}}})", "s"),
    ),
)
FOLLOWING = Row(
    "Symptoms, and faults over time",
    (symptoms(where=(), height=5), faults_over_time(legend="", height=7)),
    is_folded=True,
)
GPU_LINES = Row(
    "GPUs over time",
    (
        lines(
            "GPU utilization",
            "percent",
            (fresh(f"hw_gpu_utilization_percent{{{ON}}}"), "GPU {{gpu_index}}"),
            empty=NO_GPU,
            most=100,
        ),
        lines(
            "GPU temperature",
            "celsius",
            (fresh(f"hw_gpu_temperature_celsius{{{ON}}}"), "GPU {{gpu_index}}"),
            empty=NO_GPU,
            least=None,
        ),
    ),
    is_folded=True,
)
LOAD = Row(
    "GPUs, CPU and memory",
    (
        gpus_table(ON, where=(), width=13, height=8),
        lines(
            "CPU time by mode",
            "percentunit",
            (
                (
                    f"sum by (mode) ({rate('hw_cpu_seconds_total', BUSY)})"
                    f" / on () group_left () sum(hw_cpu_threads{{{ON}}})"
                ),
                "{{mode}}",
            ),
            help="Without idle and iowait.",
            look="stack",
            most=1,
            width=11,
        ),
        lines(
            "Load average vs CPUs",
            "short",
            (f"hw_node_load1{{{ON}}}", "over 1 minute"),
            (f"hw_node_load15{{{ON}}}", "over 15 minutes"),
            (f"hw_cpu_threads{{{ON}}}", "threads"),
            width=8,
        ),
        lines(
            "Memory",
            "bytes",
            (f"hw_memory_used_bytes{{{ON}}}", "used"),
            (f"hw_memory_available_bytes{{{ON}}}", "available"),
            look="stack",
            colours=(("used", "orange"), ("available", "green")),
            width=8,
        ),
        lines(
            "Pressure (PSI): share of time tasks waited",
            "percentunit",
            (rate("hw_pressure_waiting_seconds_total"), "{{resource}} some"),
            (rate("hw_pressure_stalled_seconds_total"), "{{resource}} full"),
            help="some: at least one task waited for the resource; full: all did.",
            empty="the kernel has no PSI",
            most=1,
            width=8,
        ),
    ),
)
DISKS = Row(
    "Disks and filesystems",
    (
        lines(
            "Disk throughput, ten busiest disks",
            "Bps",
            (
                highest(10, rate("hw_disk_read_bytes_total"), "cluster, node, device"),
                "{{device}} read",
            ),
            (
                highest(10, rate("hw_disk_written_bytes_total"), "cluster, node, device"),
                "{{device}} written",
            ),
            empty="no disks",
        ),
        lines(
            "Disk utilization: share of time with I/O in flight",
            "percentunit",
            (rate("hw_disk_io_time_seconds_total"), "{{device}}"),
            empty="no disks",
            most=1,
        ),
        lines(
            "Disk latency per read or write",
            "s",
            (
                (
                    f"{rate('hw_disk_read_time_seconds_total')}"
                    f" / ({rate('hw_disk_reads_completed_total')} > 0)"
                ),
                "{{device}} read",
            ),
            (
                (
                    f"{rate('hw_disk_write_time_seconds_total')}"
                    f" / ({rate('hw_disk_writes_completed_total')} > 0)"
                ),
                "{{device}} write",
            ),
            help="Empty while the disk is idle.",
            empty="no I/O",
        ),
        bars(
            "Fullest filesystems",
            "percentunit",
            f"topk(10, 1 - hw_filesystem_available_bytes{{{ON}}}"
            f" / hw_filesystem_size_bytes{{{ON}}})",
            "{{mountpoint}}",
            limits=FULL,
            most=1,
            empty=NO_FILESYSTEMS,
            width=12,
        ),
    ),
)
NETWORK = Row(
    "Network",
    (
        lines(
            "Network traffic",
            "Bps",
            (rate("hw_network_receive_bytes_total", PHYSICAL), "{{device}} in"),
            (rate("hw_network_transmit_bytes_total", PHYSICAL), "{{device}} out"),
            help="Without loopback and container interfaces.",
        ),
        lines(
            "Errors, drops and retransmissions",
            "pps",
            (f"{rate('hw_network_receive_errors_total')} > 0", "{{device}} errors in"),
            (f"{rate('hw_network_transmit_errors_total')} > 0", "{{device}} errors out"),
            (f"{rate('hw_network_receive_drops_total')} > 0", "{{device}} drops in"),
            (f"{rate('hw_network_transmit_drops_total')} > 0", "{{device}} drops out"),
            (rate("hw_tcp_retransmitted_segments_total"), "TCP retransmissions"),
            help="Interfaces without errors and drops are not shown.",
            empty="no errors and no drops",
        ),
        lines(
            "InfiniBand traffic",
            "Bps",
            (
                rate("hw_infiniband_port_receive_bytes_total"),
                "{{device}} {{port}} in",
            ),
            (
                rate("hw_infiniband_port_transmit_bytes_total"),
                "{{device}} {{port}} out",
            ),
            empty="no InfiniBand on this node",
        ),
        lines(
            "InfiniBand and RDMA errors per second",
            "short",
            (f"{rate('hw_infiniband_port_errors_total')} > 0", "{{device}} {{port}} {{error}}"),
            (f"{rate('hw_rdma_events_total')} > 0", "{{device}} {{port}} {{event}}"),
            empty="none",
        ),
    ),
    is_folded=True,
)
BUS = Row(
    "PCIe, DIMMs, temperatures",
    (
        lines(
            "PCIe AER errors in 10 minutes",
            "short",
            (f"increase(hw_pcie_all_errors_total{{{ON}}}[10m])", "{{severity}}"),
            empty="no AER counters",
        ),
        lines(
            "EDAC memory errors in 10 minutes",
            "short",
            (f"increase(hw_memory_errors_total{{{ON}}}[10m])", "{{dimm}} {{error_type}}"),
            empty="no EDAC counters",
        ),
        lines(
            "Ten hottest sensors",
            "celsius",
            (
                highest(10, f"hw_temperature_celsius{{{ON}}}", "cluster, node, hw_id, sensor"),
                "{{hw_name}} {{sensor}}",
            ),
            empty="no sensors",
            least=None,
        ),
        table(
            "PCIe links below maximum",
            (
                Column("device", "Device"),
                Column("A", "Lanes", width=90),
                Column("B", "Maximum lanes", width=140),
            ),
            f"max by (device) (hw_pcie_link_width{{{ON}}} < hw_pcie_link_width_max{{{ON}}})",
            f"max by (device) (hw_pcie_link_width_max{{{ON}}}"
            f" and on (cluster, node, device) (hw_pcie_link_width{{{ON}}}"
            f" < hw_pcie_link_width_max{{{ON}}}))",
            empty="all links at full width",
            width=12,
        ),
    ),
    is_folded=True,
)

NODE_PAGE = Dashboard(
    "node",
    "Node",
    "One node: faults, GPUs, CPU, memory, disks, network, PCIe.",
    (CLUSTERS, NODE, INSTANCE),
    (BROKEN, LOAD, FOLLOWING, GPU_LINES, DISKS, NETWORK, BUS, TRACED),
    MARKS,
)
