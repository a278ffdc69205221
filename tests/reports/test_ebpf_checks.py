"""What `/doctor` says of eBPF that is enabled and does not run: the reason, and what to do."""

from typing import Any

import pytest

from exporter.config.file import Layer, load
from exporter.model.snapshot import Outcome, Snapshot, SourceReport
from exporter.reports.checks import Check, checks
from exporter.reports.installation import Installation, installation
from tests.web.serving import snapshot

SOURCES = {
    "ebpf": "Counted calls",
    "ebpf_kernel": "Counted events",
    "ebpf_functions": "Counted functions",
}
REASONS = {
    "bpftrace is not installed": ("apt-get install bpftrace", "an image with bpftrace"),
    "bpftrace needs root": ("deploy/systemd/ebpf.conf", "runAsUser: 0"),
    "bpftrace needs CAP_SYS_PTRACE": ("CapabilityBoundingSet", "capabilities.add"),
    "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)": ("distribution kernel", "kernel"),
    "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)": ("distribution kernel", "kernel"),
    "the processes of the node are not seen": ("sources.proc_root", "hostPID: true"),
    "tracefs is not mounted at /sys/kernel/tracing": ("mount -t tracefs", "mount the host's"),
    "ERROR: failed to create  map: Operation not permitted": ("dmesg", "seccompProfile"),
}
"""What the sources say, and words of the fix on a host and in a container."""


def _seen(source: str, outcome: Outcome, reason: str | None) -> Snapshot:
    return snapshot(reports=(SourceReport(source, outcome, 0.0, reason=reason),))


def _check(seen: Snapshot, name: str, here: Installation) -> Check:
    (found,) = [check for check in checks(seen, here) if check.name == name]
    return found


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_has_its_fix(source: str, reason: str) -> None:
    """The sentence of the source is repeated, and the fix is of the place where it runs."""
    seen = _seen(source, Outcome.FAILED if "ERROR" in reason else Outcome.ABSENT, reason)
    for in_container, words in enumerate(REASONS[reason]):
        here = Installation(in_container=bool(in_container))
        check = _check(seen, SOURCES[source], here)
        assert (check.state, check.found) == ("problem", reason)
        assert words in check.fix


def test_a_source_that_counts_is_well() -> None:
    """Without a reason bpftrace counts."""
    for source, name in SOURCES.items():
        check = _check(_seen(source, Outcome.OK, None), name, Installation())
        assert check.state == "ok"


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, ""),
        ({"ebpf": {"enabled": False, "layers": []}}, ""),
        ({"ebpf": {"enabled": True}}, ""),
        ({"ebpf": {"enabled": True, "layers": []}}, "ebpf.layers, ebpf.kernel_events"),
        ({"ebpf": {"enabled": True, "layers": [], "kernel_events": ["disk_latency"]}}, ""),
        (
            {"ebpf": {"enabled": True}, "metrics": {"enabled": {"probes": False}}},
            "metrics.enabled.probes is false",
        ),
        (
            {"ebpf": {"enabled": True}, "sources": {"disabled": ["ebpf"]}},
            "sources.disabled has ebpf",
        ),
        (
            {
                "ebpf": {"enabled": True, "torch_operators": ["mm"]},
                "sources": {"disabled": ["ebpf"]},
            },
            "",
        ),
    ],
)
def test_ebpf_that_counts_nothing_is_said(settings: dict[str, Any], found: str) -> None:
    """No source of it runs, so no source says why: the configuration does."""
    here = installation(load([Layer("test", settings)]), {})
    said = [check for check in checks(snapshot(), here) if check.name == "eBPF"]
    assert [check.state for check in said] == (["problem"] if found else [])
    assert all(found in check.found and "ebpf.enabled = false" in check.fix for check in said)
