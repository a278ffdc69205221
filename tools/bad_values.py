"""Which values of each metric family are bad: one word for every family.

A bad sample belongs to an active fault, or its row says where it is meant. The tests look for
samples that are bad while nothing is said of their component, on every page and recording.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.exposition.family import Family, MetricType, unit_of

IsBad = Callable[[Mapping[str, str], float], bool]


@dataclass(frozen=True, slots=True)
class Bad:
    """Bad values of a family: in words, as a predicate of labels and value, and of which component.

    `component` is the label that holds the id of the component; empty for the node itself.
    `unless` says where a bad value is meant. With `once_good` only what was good before in the
    life of the exporter is bad: a port without a cable has never been up.
    """

    values: str
    is_bad: IsBad
    component: str = ""
    unless: str = ""
    once_good: bool = False


def _is(number: float) -> IsBad:
    return lambda _, value: value == number


def _above_zero(_: Mapping[str, str], value: float) -> bool:
    return value > 0


def _state(label: str, *states: str) -> IsBad:
    return lambda labels, value: value > 0 and labels[label] in states


def _other(label: str, *states: str) -> IsBad:
    return lambda labels, value: value > 0 and labels[label] not in states


GPU = "gpu_uuid"
TABLE: Mapping[str, Bad] = {
    "hw_gpu_up": Bad("0", _is(0), GPU),
    "hw_gpu_problem_info": Bad("1", _is(1), GPU),
    "hw_gpu_nvml_up": Bad("0", _is(0), unless="nvidia-smi was chosen"),
    "hw_gpu_data_stale": Bad(
        "1", _is(1), GPU, unless="the GPU is suspended, or a reading is late for some minutes"
    ),
    "hw_gpu_repair_state": Bad(
        "1, except `unrepairable_memory` alone", _other("state", "unrepairable_memory"), GPU
    ),
    "hw_gpu_sram_threshold_exceeded": Bad("1", _is(1), GPU),
    "hw_gpu_row_remap_pending": Bad("1", _is(1), GPU),
    "hw_gpu_row_remap_failed": Bad("1", _is(1), GPU),
    "hw_gpu_row_remap_banks": Bad("`none` above 0", _state("availability", "none"), GPU),
    "hw_gpu_retired_pages_pending": Bad("1", _is(1), GPU),
    "hw_gpu_recovery_action": Bad("1, except `none`", _other("action", "none"), GPU),
    "hw_gpu_nvlink_up": Bad(
        "0",
        _is(0),
        GPU,
        unless="it has never been up (not connected), MIG is enabled, or all links sleep while the"
        " GPU is idle",
        once_good=True,
    ),
    "hw_gpu_nvlink_inactive": Bad(
        "1", _is(1), GPU, unless="as for `hw_gpu_nvlink_up`", once_good=True
    ),
    "hw_gpu_fabric_condition": Bad("1", _is(1), GPU),
    "hw_gpu_fabric_healthy": Bad("0", _is(0), GPU),
    "hw_gpu_fabric_state": Bad(
        "`in_progress`",
        _state("state", "in_progress"),
        GPU,
        unless="for ten minutes after a boot or a driver load",
    ),
    "hw_gpu_health": Bad(
        "`warning`, `alarm`, `critical`", _state("state", "warning", "alarm", "critical"), GPU
    ),
    "hw_node_clock_synchronized": Bad(
        "0", _is(0), unless="a clock that nothing sets has never been synchronized", once_good=True
    ),
    "hw_filesystem_readonly": Bad(
        "1", _is(1), "mountpoint", unless="it was mounted read-only", once_good=True
    ),
    "hw_filesystem_unreachable": Bad("1", _is(1), "mountpoint"),
    "hw_nvme_state": Bad("`dead`", _state("state", "dead"), "device"),
    "hw_nvme_critical_warning": Bad("above 0", _above_zero, "device"),
    "hw_md_degraded": Bad("above 0", _above_zero, "device"),
    "hw_md_disks": Bad(
        "`missing` above 0",
        _state("state", "missing"),
        "device",
    ),
    "hw_network_up": Bad(
        "0",
        _is(0),
        "device",
        unless="it has never been up (unused), was set down, or is no device (a bridge)",
        once_good=True,
    ),
    "hw_infiniband_port_up": Bad(
        "0", _is(0), "device", unless="an unused port has never been up", once_good=True
    ),
    "hw_infiniband_port_state": Bad(
        "1, except `active`",
        _other("state", "active"),
        "device",
        unless="an unused port has never been up",
        once_good=True,
    ),
    "hw_imex_domain_up": Bad("0", _is(0)),
    "hw_imex_node_connected": Bad("0", _is(0), "host"),
    "hw_imex_node_ready": Bad("0", _is(0), "host"),
    "hw_node_healthy": Bad("0", _is(0)),
    "hw_fault_active": Bad("1", _is(1), "hw_id"),
    "hw_fault_root_cause": Bad("1", _is(1), "hw_id"),
    "hw_faults": Bad("`critical` or `warning` above 0", _state("severity", "critical", "warning")),
    "hw_status": Bad("1, except `ok`", _other("hw_state", "ok"), "hw_id"),
    "hw_exporter_source_up": Bad("0", _is(0), "source"),
    "hw_exporter_source_outcome": Bad(
        "`failed` or `stuck`", _state("outcome", "failed", "stuck"), "source"
    ),
    "hw_exporter_abandoned_children": Bad("above 0", _above_zero),
}
"""Families that have bad values, in the order of the page."""

JUDGED = "a rule compares it with the limits of the component"
SETTING = "a setting, or what the hardware can do"
COUNT = "a number of things or of uses"
MEANT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("hw_processes", "hw_threads", "hw_file_descriptors_open", "hw_conntrack_entries"),
            *("hw_cpu_used_cores", "hw_node_load1", "hw_node_load5", "hw_node_load15"),
            *("hw_disk_io_in_flight", "hw_filesystem_files_free", "hw_filesystem_files"),
            *("hw_gpu_performance_state", "hw_pcie_link_width", "hw_pcie_links"),
            *("hw_gpu_pcie_link_generation", "hw_gpu_pcie_link_width", "hw_cpu_cores"),
            "hw_cpu_threads",
            *(
                "hw_gpu_nvlink_active_links",
                "hw_gpu_count",
                "hw_probe_value",
                "hw_exporter_process_open_fds",
            ),
        ),
        JUDGED,
    ),
    **dict.fromkeys(
        (
            *("hw_processes_limit", "hw_threads_limit", "hw_file_descriptors_max"),
            "hw_conntrack_limit",
            *("hw_pcie_link_width_max", "hw_gpu_pcie_link_generation_max", "hw_gpu_mig_enabled"),
            *("hw_gpu_pcie_link_width_max", "hw_gpu_ecc_enabled", "hw_gpu_persistence_mode"),
            *("hw_gpu_compute_mode", "hw_gpu_gsp_enabled", "hw_gpu_suspended"),
        ),
        SETTING,
    ),
    **dict.fromkeys(
        (
            *("hw_gpu_used_count", "hw_gpu_type_count", "hw_gpu_processes", "hw_causal_nodes"),
            *("hw_gpu_type_measured_gpus",),
            *("hw_gpu_workload_processes", "hw_gpu_share_replicas", "hw_gpu_workload_replicas"),
            *(
                "hw_causal_edges",
                "hw_exporter_series",
            ),
            *("hw_exporter_rules_loaded", "hw_exporter_processes", "hw_exporter_process_threads"),
            "hw_exporter_devices_truncated",
        ),
        COUNT,
    ),
    "hw_gpu_type_lost_gpus": "`hw_gpu_up` says which; each GPU has rules",
    "hw_gpu_mode_pending": "an operator has chosen the mode, and chooses when to reset",
    "hw_fault_silenced": "somebody has set the fault aside; `hw_fault_active` has it",
    "hw_gpu_throttle_active": "clocks are throttled often and shortly; a rule judges how long",
    "hw_exporter_probe_up": "the alert HwExporterProbeDown; a program, no hardware",
    "hw_exporter_rules_skipped": "the alert HwExporterRulesSkipped; a mistake in a rule file",
    "hw_exporter_rules_unjudged": "`/why` lists what is not known; most nodes lack some readings",
    "hw_exporter_credentials_last_reload_successful": "the last good ones stay in use",
    "hw_exporter_config_last_reload_successful": "the last good configuration stays in use",
}
"""Families without bad values of their own, and why."""


def word_of(family: Family) -> str:
    """Return the word on the bad values of a family.

    Raises KeyError for a family without one: say `never_bad` where it is declared, or add bad
    values to TABLE.
    """
    bad = TABLE.get(family.name)
    if bad is not None:
        return f"{bad.values}; unless {bad.unless}" if bad.unless else bad.values
    if family.type is not MetricType.GAUGE:
        return "none: it only counts" if family.type is not MetricType.INFO else "none: names"
    if unit_of(family.name):
        return f"none: {JUDGED}"
    return f"none: {family.never_bad or MEANT[family.name]}"
