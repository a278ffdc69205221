"""The dashboard of the GPUs of one or a few nodes."""

from typing import Any

from tools.dashboards.document import Dashboard, Row
from tools.dashboards.fault_panels import MARKS, gpus_table, root_causes
from tools.dashboards.panels import Column, Panel, Query
from tools.dashboards.parts import (
    BAD,
    CLUSTER_COLUMN,
    CLUSTERS,
    EACH_GPU,
    GPU_COLUMN,
    GPU_NODES,
    GPUS,
    HOT,
    INSTANCE,
    NODE_COLUMN,
    ODD,
    ON,
    RATE,
    STAT_HEIGHT,
    G,
    fresh,
    grown,
    lines,
    now,
    rate,
    table,
)

NAME = "{{node}} GPU {{gpu_index}}"
NO_GPU = "no GPU, or none is chosen"
UNSAID = "no GPU reports it"
NO_PCIE = "off by default: set gpu.pcie_throughput"

THROTTLED = f'hw_gpu_throttle_seconds_total{{{G},reason!="gpu_idle"}}'
ACTIVITY = f"hw_gpu_activity_ratio{{{G}}}"
SIBLINGS = fresh(f"abs(hw_gpu_sibling_deviation{{{G}}})")
TEMPERATURE, POWER, PROCESSES = (
    fresh(f"{family}{{{G}}}")
    for family in ("hw_gpu_temperature_celsius", "hw_gpu_power_draw_watts", "hw_gpu_processes")
)


def _each(title: str, unit: str, expr: str, **more: Any) -> Panel:
    """Lines over time, one for each GPU that is read at the time."""
    return lines(title, unit, (fresh(expr), NAME), **{"empty": UNSAID, **more})


def _grown(family: str, by: str, selector: str = G) -> str:
    return f"sum by (cluster, node, gpu_index, {by}) {grown(family, selector)}"


BROKEN = Row(
    "Faults and root causes",
    (
        root_causes(f'{ON},hw_type=~"gpu|nv.*|pcie|node"', width=15, height=9),
        now("GPUs", f"count(hw_gpu_up{{{G}}})", empty="none", width=3),
        now("Lost", f"count(hw_gpu_up{{{G}}} == 0) or vector(0)", limits=BAD, width=3),
        now(
            "Reset required",
            f'count(count by (gpu_uuid) (hw_gpu_recovery_action{{{G},action!="none"}} == 1'
            f" or hw_gpu_row_remap_pending{{{G}}} == 1)) or vector(0)",
            limits=ODD,
            help="The driver requests a reset or reboot, or row remapping is pending.",
            width=3,
        ),
        now(
            "Stale (cache)",
            f"sum(hw_gpu_data_stale{{{G}}})",
            limits=ODD,
            help="GPUs that cannot be read at the moment; panels hide their old values.",
            empty=NO_GPU,
            width=3,
        ),
        now(
            "Hottest",
            f"max({TEMPERATURE})",
            "celsius",
            limits=HOT,
            empty=NO_GPU,
            width=3,
        ),
        now("Power", f"sum({POWER})", "watt", empty=NO_GPU, width=3),
        now("Processes", f"sum({PROCESSES})", empty=NO_GPU, width=3),
        Panel(
            "GPU backends",
            (Query(f"hw_gpu_backend_info{{{ON}}}", "{{backend}}: {{reason}}"),),
            "stat",
            width=6,
            height=STAT_HEIGHT,
            help="Backend, and the reason if it is not NVML; see docs/troubleshooting.md.",
            empty=NO_GPU,
            look="name",
        ),
        gpus_table(),
    ),
)
USE = Row(
    "Utilization",
    (
        _each("Utilization", "percent", f"hw_gpu_utilization_percent{{{G}}}", most=100),
        _each(
            "Framebuffer memory used",
            "percentunit",
            f"hw_gpu_memory_used_bytes{{{G}}} / hw_gpu_memory_total_bytes{{{G}}}",
            most=1,
        ),
        lines(
            "GPM activity by unit, mean of the selected GPUs",
            "percentunit",
            (f"avg by (unit) ({fresh(ACTIVITY)})", "{{unit}}"),
            help="Select one GPU above to see only its values. Utilization shows that a"
            " kernel ran; this shows which units of the GPU were active.",
            empty=UNSAID,
            most=1,
        ),
        _each(
            "SM clock",
            "hertz",
            f'hw_gpu_clock_hertz{{{G},clock="sm"}}',
        ),
    ),
)
HEAT = Row(
    "Temperature and power",
    (
        _each("Temperature", "celsius", f"hw_gpu_temperature_celsius{{{G}}}", least=None),
        _each(
            "Memory temperature",
            "celsius",
            f"hw_gpu_memory_temperature_celsius{{{G}}}",
            least=None,
        ),
        _each(
            "Thermal margin (T.Limit)",
            "celsius",
            f"hw_gpu_thermal_margin_celsius{{{G}}}",
            least=None,
        ),
        _each("Power", "watt", f"hw_gpu_power_draw_watts{{{G}}}"),
        lines(
            "Throttled: share of time by reason",
            "percentunit",
            (
                (
                    "sum by (cluster, node, gpu_index, reason)"
                    f" ({fresh(f'rate({THROTTLED}{RATE})')}) > 0"
                ),
                f"{NAME} {{{{reason}}}}",
            ),
            help="sw_power_cap is usual at full load; thermal reasons and hw_slowdown are not.",
            empty="not throttled",
            width=24,
        ),
    ),
)
ERRORS = Row(
    "Errors",
    (
        lines(
            "ECC errors",
            "short",
            (
                _grown("hw_gpu_ecc_volatile_errors_total", "error_type", G),
                f"{NAME} {{{{error_type}}}}",
            ),
            help="Number per step. Corrected errors have no effect; uncorrected errors end"
            " the process that used the memory.",
            empty="no ECC errors",
            look="bars",
        ),
        table(
            "XID errors, latest first",
            (
                CLUSTER_COLUMN,
                NODE_COLUMN,
                GPU_COLUMN,
                Column("xid", "Xid", width=80),
                Column("A", "Count"),
                Column("B", "Last seen", "s", decimals=1),
            ),
            f"sum by ({EACH_GPU}, xid) (hw_gpu_xid_errors_total{{{G}}})",
            f"min by ({EACH_GPU}, xid) (time() - hw_gpu_xid_last_timestamp_seconds{{{G}}})",
            help="Since boot or since the start of the exporter; docs/xids.md explains each Xid.",
            empty="no XID errors",
            sort="Last seen",
            width=12,
        ),
        lines(
            "NVLink errors",
            "short",
            (
                _grown("hw_gpu_nvlink_errors_total", "error"),
                f"{NAME} {{{{error}}}}",
            ),
            empty="no NVLink errors",
            look="bars",
        ),
        lines(
            "PCIe replays",
            "short",
            (_grown("hw_gpu_pcie_replays_total", "gpu_name"), NAME),
            empty="no PCIe replays",
            look="bars",
        ),
    ),
)
LINKS = Row(
    "Links",
    (
        _each(
            "NVLink received",
            "Bps",
            rate("hw_gpu_nvlink_receive_bytes_total", G),
        ),
        _each(
            "NVLink sent",
            "Bps",
            rate("hw_gpu_nvlink_transmit_bytes_total", G),
        ),
        _each(
            "PCIe received",
            "Bps",
            f"hw_gpu_pcie_receive_bytes_per_second{{{G}}}",
            empty=NO_PCIE,
        ),
        _each(
            "PCIe sent",
            "Bps",
            f"hw_gpu_pcie_transmit_bytes_per_second{{{G}}}",
            empty=NO_PCIE,
        ),
    ),
    is_folded=True,
)
UNUSUAL = Row(
    "Unusual, not yet broken",
    (
        lines(
            "Away from siblings",
            "none",
            (
                f"max by (cluster, node, gpu_index, signal) ({SIBLINGS}) > 1.5",
                f"{NAME} {{{{signal}}}}",
            ),
            help="Deviation from the GPUs with the same workload; above 4 it is a fault, or"
            " above 2.5 if they wait for each other. Needs detectors.siblings.",
            empty="detectors.siblings is off, or no deviation",
        ),
        _each(
            "Anomaly score",
            "none",
            f"hw_gpu_anomaly_score{{{G}}}",
            help="How unlikely its readings are compared with earlier readings of its model;"
            " above 4 for an hour it is a fault if it is a change. Needs"
            " detectors.anomaly.",
            empty="detectors.anomaly is off or still learning",
        ),
    ),
    is_folded=True,
)
BOARDS = Row(
    "Boards",
    (
        table(
            "Boards, firmware and links",
            (
                CLUSTER_COLUMN,
                NODE_COLUMN,
                GPU_COLUMN,
                Column("gpu_name", "Model"),
                Column("gpu_uuid", "UUID"),
                Column("serial", "Serial", width=130),
                Column("pci_bus_id", "Bus", width=120),
                Column("vbios_version", "VBIOS", width=130),
                Column("numa_node", "NUMA", width=70),
                Column("B", "PCIe generation", width=130),
                Column("C", "Lanes", width=70),
                Column("D", "Row remap pending", width=160, limits=ODD),
            ),
            f"max by ({EACH_GPU}, gpu_name, serial, pci_bus_id, vbios_version, numa_node)"
            f" (hw_gpu_info{{{G}}})",
            *(
                f"max by ({EACH_GPU}) ({fresh(f'hw_gpu_{name}{{{G}}}')})"
                for name in ("pcie_link_generation", "pcie_link_width", "row_remap_pending")
            ),
            help="An idle GPU lowers its link generation; it must not lose lanes.",
            empty=NO_GPU,
            sort="GPU",
            height=10,
        ),
    ),
    is_folded=True,
)

GPU_PAGE = Dashboard(
    "gpu",
    "GPU",
    "GPUs of one or a few nodes: faults, utilization, temperature, power, errors, links.",
    (CLUSTERS, GPU_NODES, GPUS, INSTANCE),
    (BROKEN, USE, HEAT, ERRORS, LINKS, UNUSUAL, BOARDS),
    MARKS,
)
