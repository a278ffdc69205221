"""For each alert, series under which it does not fire, then fires, then clears.

Every case has three phases: an hour before, three hours in which the trouble lasts, and four
hours after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

BEFORE, DURING, AFTER = 60, 180, 240
"""The length of each phase in minutes."""

G = 'node="n1",gpu_index="0",gpu_name="NVIDIA H100",gpu_uuid="GPU-1"'
F = 'node="n1",fault="gpu_lost",hw_type="gpu",hw_id="GPU-1"'
FS = "/data"


@dataclass(frozen=True, slots=True)
class Series:
    """One input series in promtool's notation."""

    series: str
    values: str


@dataclass(frozen=True, slots=True)
class Case:
    """An alert, its series, and the minute at which it must fire."""

    alert: str
    series: tuple[Series, ...]
    fires_at: int = BEFORE + DURING - 1


def gauge(series: str, before: float | None, during: float | None, after: float | None) -> Series:
    """A series that has one value in each phase; None where it is absent."""
    phases = zip((before, during, after), (BEFORE, DURING, AFTER), strict=True)
    return Series(series, " ".join(_level(value, minutes) for value, minutes in phases))


def always(series: str, value: float) -> Series:
    """A series that does not change."""
    return gauge(series, value, value, value)


def counter(series: str, rises_by: float, otherwise: float = 0) -> Series:
    """A counter that rises by so much a minute during the trouble, and otherwise less."""
    first, second = otherwise * BEFORE, otherwise * BEFORE + rises_by * DURING
    return Series(
        series,
        f"0+{otherwise:g}x{BEFORE - 1} {first:g}+{rises_by:g}x{DURING - 1} "
        f"{second:g}+{otherwise:g}x{AFTER - 1}",
    )


def _level(value: float | None, minutes: int) -> str:
    return f"_x{minutes}" if value is None else f"{value:g}x{minutes - 1}"


def _on(alert: str, series: str, good: float | None, bad: float) -> Case:
    """An alert about one gauge that is good or bad."""
    return Case(alert, (gauge(series, good, bad, good),))


def _rises(alert: str, series: str, by: float) -> Case:
    """An alert about one counter that rises."""
    return Case(alert, (counter(series, by),))


def _fault(severity: str) -> tuple[Series, ...]:
    causes = 'cause="gpu_lost",cause_hw_type="gpu",cause_hw_id="GPU-1"'
    return (
        gauge(f'hw_fault_active{{{F},severity="{severity}",hw_name="GPU 0"}}', None, 1, 0),
        gauge(f"hw_fault_root_cause{{{F},{causes}}}", None, 1, None),
    )


def _symptom() -> tuple[Series, ...]:
    symptom = F.replace("gpu_lost", "gpu_idle")
    causes = 'cause="gpu_lost",cause_hw_type="gpu",cause_hw_id="GPU-1"'
    return (
        *_fault("critical"),
        gauge(f'hw_fault_active{{{symptom},severity="info",hw_name="GPU 0"}}', None, 1, 0),
        gauge(f"hw_fault_root_cause{{{symptom},{causes}}}", None, 1, None),
    )


def _backend(alert: str, reason: str) -> Case:
    def series(said: str) -> str:
        return f'hw_gpu_backend_info{{node="n1",backend="none",reason="{said}"}}'

    return Case(alert, (gauge(series(reason), None, 1, None), gauge(series("ok"), 1, None, 1)))


def _access() -> Iterator[Case]:
    yield _on("HwGpuLost", f"hw_gpu_up{{{G}}}", 1, 0)
    yield _on("HwGpuCountDropped", 'hw_gpu_count{node="n1"}', 8, 7)
    yield _on("HwGpuNvmlDown", 'hw_gpu_nvml_up{node="n1"}', 1, 0)
    yield _backend("HwGpuBackendStuck", "stuck")
    yield _backend("HwGpuBackendStuck", "timeout")
    yield _backend("HwGpuVersionMismatch", "version_mismatch")
    yield _backend("HwGpuLibraryMissing", "no_library")
    yield _backend("HwGpuNoPermission", "no_permission")
    yield _on("HwGpuDataStale", f"hw_gpu_data_stale{{{G}}}", 0, 1)


def _gpu_memory() -> Iterator[Case]:
    errors = f'hw_gpu_ecc_errors_total{{{G},counter="volatile",error_type='
    yield _rises("HwGpuEccUncorrected", errors + '"uncorrected"}', 0.1)
    yield _rises("HwGpuEccCorrectedOften", errors + '"corrected"}', 1)
    yield _on("HwGpuRowRemapPending", f"hw_gpu_row_remap_pending{{{G}}}", 0, 1)
    yield _on("HwGpuRowRemapFailed", f"hw_gpu_row_remap_failed{{{G}}}", 0, 1)
    yield _on("HwGpuRetiredPagesPending", f"hw_gpu_retired_pages_pending{{{G}}}", 0, 1)
    yield _on("HwGpuSramThreshold", f"hw_gpu_sram_threshold_exceeded{{{G}}}", 0, 1)
    yield _on("HwGpuOrphanMemory", f"hw_gpu_orphan_memory_used_bytes{{{G}}}", 0, 1e9)


def _gpu_errors() -> Iterator[Case]:
    since = f'hw_gpu_xid_last_timestamp_seconds{{{G},xid="79"}}'
    yield Case("HwGpuXidHardware", (gauge(since, None, 3600, 3600),), fires_at=65)
    yield _rises("HwGpuXidApplication", f'hw_gpu_xid_errors_total{{{G},xid="31"}}', 2)
    action = f'hw_gpu_recovery_action{{{G},action="reset"}}'
    yield _on("HwGpuRecoveryAction", action, 0, 1)
    yield Case(
        "HwGpuPcieLinkNarrow",
        (
            gauge(f"hw_gpu_pcie_link_width{{{G}}}", 16, 8, 16),
            always(f"hw_gpu_pcie_link_width_max{{{G}}}", 16),
        ),
    )
    yield _rises("HwGpuPcieReplays", f"hw_gpu_pcie_replays_total{{{G}}}", 50)
    yield _on("HwGpuNvlinkDown", f'hw_gpu_nvlink_up{{{G},link="3"}}', 1, 0)
    yield _rises("HwGpuNvlinkErrors", f'hw_gpu_nvlink_errors_total{{{G},error="replay"}}', 100)
    yield _on("HwGpuFabricUnhealthy", f"hw_gpu_fabric_healthy{{{G}}}", 1, 0)


def _gpu_heat() -> Iterator[Case]:
    yield _on("HwGpuTooHot", f"hw_gpu_thermal_margin_celsius{{{G}}}", 30, 1)
    yield _on("HwGpuHot", f"hw_gpu_temperature_celsius{{{G}}}", 60, 90)
    yield Case(
        "HwGpuMemoryHot",
        (
            gauge(f"hw_gpu_memory_temperature_celsius{{{G}}}", 60, 94, 60),
            always(f'hw_gpu_temperature_threshold_celsius{{{G},threshold="memory_max"}}', 95),
        ),
    )
    limit = f"hw_gpu_throttle_active{{{G},reason="
    yield _on("HwGpuThermalThrottle", limit + '"hw_thermal_slowdown"}', 0, 1)
    yield _on("HwGpuPowerBrake", limit + '"hw_power_brake_slowdown"}', 0, 1)
    yield Case(
        "HwGpuPowerLimitLowered",
        (
            gauge(f"hw_gpu_power_limit_watts{{{G}}}", 700, 400, 700),
            always(f'hw_gpu_power_limit_range_watts{{{G},limit="default"}}', 700),
        ),
    )


def _use() -> Iterator[Case]:
    held = f'hw_gpu_idle_allocated_seconds{{{G},namespace="ml",pod="train",container="main"}}'
    yield _on("HwGpuIdleAllocated", held, 0, 9000)
    yield _on("HwGpuAttributionLost", 'hw_exporter_attribution_ratio{node="n1"}', 1, 0)


def _node() -> Iterator[Case]:
    errors = 'hw_memory_errors_total{node="n1",controller="mc0",dimm="A1",error_type='
    rest = 'hw_memory_errors_total{node="n1",controller="mc0",dimm="",error_type="uncorrected"}'
    appears = gauge(errors + '"uncorrected"}', None, 1, 1)
    yield Case("HwMemoryUncorrected", (always(rest, 0), appears), fires_at=90)
    yield _rises("HwMemoryCorrectedOften", errors + '"corrected"}', 5)
    total = always('hw_memory_total_bytes{node="n1"}', 100)
    yield Case("HwMemoryShort", (total, gauge('hw_memory_available_bytes{node="n1"}', 50, 2, 50)))
    yield _rises("HwOutOfMemoryKills", 'hw_memory_oom_kills_total{node="n1"}', 1)
    waits = 'hw_pressure_seconds_total{node="n1",resource="memory",kind="full"}'
    yield _rises("HwMemoryPressure", waits, 30)
    yield _rises("HwCpuThrottled", 'hw_cpu_thermal_throttles_total{node="n1",scope="package"}', 30)
    yield _rises("HwCpuMachineChecks", 'hw_cpu_machine_checks_total{node="n1"}', 1)
    yield _on("HwClockUnsynchronized", 'hw_node_clock_synchronized{node="n1"}', 1, 0)
    for alert, used, most in (
        ("HwConntrackFull", "hw_conntrack_entries", "hw_conntrack_limit"),
        ("HwFileDescriptorsLow", "hw_file_descriptors_open", "hw_file_descriptors_max"),
    ):
        used_up = gauge(f'{used}{{node="n1"}}', 10, 95, 10)
        yield Case(alert, (used_up, always(f'{most}{{node="n1"}}', 100)))
    sensor = 'node="n1",hw_id="hwmon0",hw_name="fan1",sensor="fan1"'
    yield _on("HwFanStopped", f"hw_fan_speed_rpm{{{sensor}}}", 3000, 0)
    limit = f'hw_temperature_limit_celsius{{{sensor},hw_limit_type="high.critical"}}'
    hot = gauge(f"hw_temperature_celsius{{{sensor}}}", 50, 101, 50)
    yield Case("HwTemperatureCritical", (hot, always(limit, 100)))
    fatal = 'hw_pcie_all_errors_total{node="n1",severity="fatal"}'
    yield _rises("HwPcieErrorsFatal", fatal, 1)
    device = 'node="n1",device="0000:80:01.0",severity="correctable",error="BadTLP"'
    yield _rises("HwPcieErrorsCorrected", f"hw_pcie_errors_total{{{device}}}", 60)


def _storage() -> Iterator[Case]:
    on = f'node="n1",device="/dev/sda1",mountpoint="{FS}",fstype="ext4"'
    writable = always(f"hw_filesystem_readonly{{{on}}}", 0)
    for alert, room, size in (
        ("HwFilesystemFull", "hw_filesystem_available_bytes", "hw_filesystem_size_bytes"),
        ("HwFilesystemFilesFull", "hw_filesystem_files_free", "hw_filesystem_files"),
    ):
        left = gauge(f"{room}{{{on}}}", 50, 1, 50)
        yield Case(alert, (writable, left, always(f"{size}{{{on}}}", 100)))
    turned = gauge(f"hw_filesystem_readonly{{{on}}}", 0, 1, 0)
    yield Case("HwFilesystemTurnedReadonly", (turned,), fires_at=90)
    yield _on("HwFilesystemUnreachable", f"hw_filesystem_unreachable{{{on}}}", 0, 1)
    busy = counter('hw_disk_io_time_seconds_total{node="n1",device="sda"}', 60)
    queue = counter('hw_disk_queue_time_seconds_total{node="n1",device="sda"}', 3000)
    yield Case("HwDiskSaturated", (busy, queue))
    nvme = 'node="n1",device="nvme0"'
    dead = gauge(f'hw_nvme_state{{{nvme},state="dead"}}', None, 1, None)
    yield Case("HwNvmeNotLive", (dead, gauge(f'hw_nvme_state{{{nvme},state="live"}}', 1, None, 1)))
    yield _on("HwNvmeWarns", f"hw_nvme_critical_warning{{{nvme}}}", 0, 4)
    yield _on("HwNvmeWorn", f"hw_nvme_percentage_used_ratio{{{nvme}}}", 0.5, 0.95)
    yield _on("HwRaidDegraded", 'hw_md_degraded{node="n1",device="md0"}', 0, 1)


def _network() -> Iterator[Case]:
    errors = 'hw_network_receive_errors_total{node="n1",device="eth0"}'
    sent = always('hw_network_transmit_errors_total{node="n1",device="eth0"}', 0)
    yield Case("HwNetworkErrors", (counter(errors, 120), sent))
    flaps = 'hw_network_carrier_changes_total{node="n1",device="eth0"}'
    yield _rises("HwNetworkFlapping", flaps, 1)
    port = 'node="n1",device="mlx5_0",port="1"'
    yield _on("HwInfinibandDown", f"hw_infiniband_port_up{{{port}}}", 1, 0)
    symbols = f'hw_infiniband_port_errors_total{{{port},error="symbol_error"}}'
    yield _rises("HwInfinibandErrors", symbols, 10)
    again = counter('hw_tcp_retransmitted_segments_total{node="n1"}', 100)
    all_sent = counter('hw_tcp_segments_total{node="n1",direction="transmit"}', 1000, 1000)
    yield Case("HwTcpRetransmits", (again, all_sent))


def _exporter() -> Iterator[Case]:
    yield _on("HwExporterDown", 'up{job="hw-exporter",instance="n1:8080"}', 1, 0)
    outcome = 'hw_exporter_source_outcome{node="n1",source="disk",outcome="failed"}'
    yield Case("HwExporterSourceFails", (gauge(outcome, None, 1, None),))
    yield _on("HwExporterSnapshotOld", 'hw_exporter_snapshot_age_seconds{node="n1"}', 10, 300)
    dropped = 'hw_exporter_dropped_series_total{node="n1",family="hw_gpu_workload_info"}'
    yield _rises("HwExporterSeriesDropped", dropped, 1)
    yield _on("HwExporterAbandonedChild", 'hw_exporter_abandoned_children{node="n1"}', 0, 1)
    yield _on("HwExporterProbeDown", 'hw_exporter_probe_up{node="n1",probe="npu"}', 1, 0)
    skipped = 'hw_exporter_rules_skipped{node="n1",reason="bad"}'
    yield _on("HwExporterRulesSkipped", skipped, 0, 2)
    memory = 'hw_exporter_process_resident_memory_bytes{node="n1"}'
    yield _on("HwExporterMemory", memory, 50e6, 240e6)
    refused = 'hw_exporter_http_connections_refused_total{node="n1"}'
    yield _rises("HwExporterRefusesConnections", refused, 5)
    yield _rises("HwKernelLogOverrun", 'hw_kernel_log_overruns_total{node="n1"}', 1)
    forged = 'hw_kernel_log_rejected_records_total{node="n1",reason="user_record"}'
    yield _rises("HwKernelLogForged", forged, 60)


def _faults() -> Iterator[Case]:
    yield Case("HwFaultCritical", _fault("critical"))
    yield Case("HwFaultWarning", _fault("warning"))
    yield Case("HwFaultSymptom", _symptom())
    active = f'hw_fault_active{{{F},severity="warning",hw_name="GPU 0"}}'
    flapping = " ".join(["0x59", *["0 1 0 0"] * 45, "0x239"])
    yield Case("HwFaultFlapping", (Series(active, flapping),))
    unjudged = 'hw_fault_transitions_total{node="n1",fault="gpu_lost",state="unjudged"}'
    yield _rises("HwFaultUnjudged", unjudged, 1)
    yield _on("HwNodeUnhealthy", 'hw_node_healthy{node="n1"}', 1, 0)


CASES = (
    *_faults(),
    *_access(),
    *_gpu_memory(),
    *_gpu_errors(),
    *_gpu_heat(),
    *_use(),
    *_node(),
    *_storage(),
    *_network(),
    *_exporter(),
)
