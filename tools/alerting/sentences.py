"""Texts of alerts: the summaries and advice of the rules, without readings."""

import re

from exporter.faults.rules.rule import Rule
from exporter.faults.rules.templates import Template

SENTENCES = {
    "clocksource_unstable": (
        "the kernel marked its clocksource as unstable: reading the time is slower now"
    ),
    "disk_link_errors": "commands fail on a SATA link, and it is reset",
    "gpu_xid_critical": "{name} reported an Xid that requires a reset",
    "gpu_xid_warning": "{name} reported an Xid",
    "gpu_unknown_xid": "{name} reported an Xid that is unknown to this version",
    "machine_check_corrected_rate": "CPU {name} has many corrected machine checks",
    "nvswitch_fatal": "NVSwitch {name} reported a fatal error (SXid)",
    "nvswitch_warning": "NVSwitch {name} reported an error (SXid)",
    "ib_port_rate_low": "Port {name} runs slower than before",
    "clock_not_synced": "The clock of {name} is not synchronized",
    "gpu_memory_orphan": "memory of {name} is held by processes that no longer exist",
    "process_waits_for_storage": "{name} is in uninterruptible sleep",
    "nccl_rank_missing": "a rank of {name} is missing in a collective",
    "nccl_hang": "{name} hangs in a collective",
    "nccl_straggler": "one rank of {name} enters each collective late",
    "gpu_idle_allocated": "{name} is allocated to a workload but idle",
    "gpu_count_low": "fewer GPUs answer than the node has",
    "cpu_saturated": "the CPUs are saturated and tasks wait",
    "gpu_power_limit_low": "the power limit of {name} is below its default",
    "oom_kill_without_log": "a process was killed because memory ran out",
    "raid_volume_degraded": "a RAID volume is degraded: one of its disks failed or was removed",
    "npu_abnormal": "an Ascend NPU no longer answers its driver",
    "pcie_link_down": "a PCIe link below port {name} went down",
    "memory_page_offlined": "the kernel took a memory page offline",
    "exporter_children_stuck": "child processes of the exporter hang in the kernel",
    "hung_task": "{name} has been in D state for minutes (hung task)",
    "process_crashed": "{name} crashed with an invalid memory access",
    "process_oom_kill": "{name} was killed because its cgroup ran out of memory",
    "gpu_unhealthy": "the driver reports that {name} is not healthy",
    "workload_over_sm_quota": "{name} exceeds its SM quota",
    "workload_over_memory_quota": "{name} exceeds its GPU memory quota",
    "expected_gpu_missing": "a GPU that the node is expected to have is missing",
    "expected_nvlink_missing": "an NVLink that is expected to be active is not",
    "expected_port_missing": "an RDMA port that the node is expected to have is missing",
    "expected_disk_missing": "a disk that the node is expected to have is missing",
    "expected_memory_missing": "memory that the node is expected to have is missing",
    "expected_hardware_differs": "hardware of the node is another one than expected",
    "gpu_repeat_offender": "{name} has had the same critical fault several times within 14 days",
    "io_stall": "all tasks wait for storage",
}
"""Texts for rules whose summary is about readings, which must not be in an alert."""

_READING = re.compile(r"\{(?!name\})[^}]*\}")
_TAIL = re.compile(
    r"\s*(?:[:;(]|, (?:last|fewer|of)|,? with|,? in bank|,? at)\s[^:;]*$|\s*\([^)]*\)"
)


def sentence(rule: Rule) -> str:
    """Return the summary of the rule without readings, which would change at each evaluation."""
    text = SENTENCES.get(rule.id) or _without_readings(_source(rule.summary))
    return text.replace("{name}", "{{ $labels.hw_name }}")


def advice(rule: Rule) -> str:
    """Return what to do, without readings."""
    text = _without_readings(_source(rule.advice).replace(" -i {index}", ""))
    return text.replace("{name}", "{{ $labels.hw_name }}")


def _source(template: Template) -> str:
    """Return the template with each field in braces."""
    parts = (
        part if isinstance(part, str) else "{" + part.name.text + "}" for part in template.parts
    )
    return "".join(parts)


def _without_readings(text: str) -> str:
    """Remove the part that has a reading: a bracket, or the end after a colon."""
    while _READING.search(text):
        shorter = _cut(text)
        if shorter == text:
            break
        text = shorter
    return re.sub(r"\s+", " ", _READING.sub("", text)).strip(" ,:;")


def _cut(text: str) -> str:
    for bracket in re.finditer(r"\s*\([^()]*\)", text):
        if _READING.search(bracket[0]):
            return text[: bracket.start()] + text[bracket.end() :]
    first = _READING.search(text)
    head = text[: first.start()] if first else text
    place = max(head.rfind(mark) for mark in (":", ";", ",", " in bank", " with", " at ", " by "))
    return text[:place] if place > 0 else text


def small(text: str) -> str:
    """Return the text in lower case, unless the first word is a name or an abbreviation."""
    first = text.split(" ", 1)[0]
    plain = first == "A" or (first.isalpha() and first[1:].islower() and first not in NAMES)
    return text[0].lower() + text[1:] if plain else text


NAMES = frozenset({"Xid"})
