"""The checks of `/doctor` and of the page: which sources can be read, why not, and the fix."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from exporter.collectors.gpu.values import GpuBackend, Gpus
from exporter.collectors.kernel_log.values import KernelLog
from exporter.collectors.network.values import Network
from exporter.collectors.pcie.values import Pcie
from exporter.collectors.workloads.values import Workloads
from exporter.model.snapshot import Outcome, Snapshot, SourceReport
from exporter.record import dataclass, replace
from exporter.reports.installation import Installation, ebpf_idle
from exporter.reports.remedies import (
    ATTRIBUTION_REASONS,
    EBPF_REASONS,
    GPU_REASONS,
    NODE_REASONS,
    VENDOR_REASONS,
    Remedy,
)
from exporter.state_folder import SPOILED

OK, NOTE, PROBLEM = "ok", "note", "problem"
CHECKED_APART = frozenset({"gpu", "kernel_log", "ebpf", "ebpf_kernel", "ebpf_functions"})
COUNTED = {
    "ebpf": "Counted calls",
    "ebpf_kernel": "Counted events",
    "ebpf_functions": "Counted functions",
}
MAX_MISTAKES = 20
UNKNOWN = Remedy("the reason is unknown", "check the log with --log-level debug")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: `state` is ok, note or problem, `fix` what to do."""

    name: str
    state: str
    found: str
    fix: str = ""


def doctor_document(snapshot: Snapshot, here: Installation) -> dict[str, Any]:
    """Return the document of /doctor."""
    rows = [*checks(snapshot, here), *_gpus(snapshot.reading(Gpus), here)]
    return {"node": snapshot.node, "checks": [asdict(check) for check in rows]}


def checks(snapshot: Snapshot, here: Installation) -> list[Check]:
    """Check all sources, the most important first; lost GPUs are faults and not checked here."""
    gpus = snapshot.reading(Gpus)
    return [
        *_driver(gpus, snapshot, here),
        *_other_vendors(gpus, here),
        *_processes(snapshot, here),
        *_kubelet(snapshot, here),
        _kernel_log(snapshot, here),
        *_counted(snapshot.reports, here),
        *_nothing_counted(here),
        *_mounts(snapshot, here),
        *_sources(snapshot.reports),
        *_rules(here),
        *_state(here),
    ]


def _driver(gpus: Gpus | None, snapshot: Snapshot, here: Installation) -> Iterator[Check]:
    if here.config.gpu.backend == "off":
        yield Check("GPU driver", NOTE, 'not read: gpu.backend = "off"', 'gpu.backend = "auto"')
    elif here.config.gpu.backend == "demo":
        yield Check("GPU driver", OK, 'simulated: gpu.backend = "demo"')
    elif gpus is not None and gpus.backend not in gpus.backends:
        return  # an NVIDIA GPU is not missing where GPUs of other vendors are read
    elif gpus is not None and gpus.backend.reason == "no_driver":
        pcie = snapshot.reading(Pcie)
        is_needed = any(device.kind == "gpu" for device in (pcie.devices if pcie else ()))
        remedy = NODE_REASONS["no_driver"]
        fix = remedy.fix(in_container=here.in_container)
        yield Check("GPU driver", PROBLEM if is_needed else NOTE, remedy.meaning, fix)
    elif gpus is not None:
        version = gpus.backend.driver_version
        yield Check("GPU driver", OK, f"loaded, version {version}" if version else "loaded")
        yield _library(gpus.backend, here)


def _other_vendors(gpus: Gpus | None, here: Installation) -> Iterator[Check]:
    """Yield how the GPUs of other vendors are read, or why not."""
    for backend in gpus.others if gpus else ():
        name, version = f"GPU driver {backend.backend}", backend.driver_version
        if backend.reason == "ok":
            yield Check(name, OK, f"loaded, version {version}" if version else "loaded")
        elif backend.reason == "pending":
            yield _pending(name)
        else:
            yield _problem(name, backend.reason, VENDOR_REASONS, here)


def _library(backend: GpuBackend, here: Installation) -> Check:
    """Return the backend of the GPUs, and why NVML is not used."""
    if backend.reason == "ok":
        return Check("GPU library", OK, f"read by {backend.backend}")
    if backend.reason == "disabled":
        found = f'read by {backend.backend}, as chosen: gpu.backend = "{here.config.gpu.backend}"'
        fix = 'gpu.backend = "auto" uses NVML, which provides more values'
        return Check("GPU library", NOTE, found, fix)
    if backend.reason == "pending":
        return _pending("GPU library")
    check = _problem("GPU library", backend.reason, NODE_REASONS, here)
    if backend.backend == "nvidia-smi":
        return replace(check, found=f"{check.found}; read by nvidia-smi instead")
    return check


def _pending(name: str) -> Check:
    return Check(name, NOTE, "the first reading is not complete yet", "wait a moment")


def _problem(name: str, reason: str, remedies: Mapping[str, Remedy], here: Installation) -> Check:
    """Return a problem with the meaning of its reason and the fix."""
    remedy = remedies.get(reason, UNKNOWN)
    found = f"{reason}: {remedy.meaning}"
    return Check(name, PROBLEM, found, remedy.fix(in_container=here.in_container))


def _gpus(gpus: Gpus | None, here: Installation) -> Iterator[Check]:
    for state in gpus.states if gpus else ():
        if not state.up:
            index = state.gpu.index
            check = _problem(f"GPU {index}", state.reason or "not up", GPU_REASONS, here)
            yield replace(check, fix=check.fix.replace("-i N", f"-i {index}"))


def _processes(snapshot: Snapshot, here: Installation) -> Iterator[Check]:
    workloads = snapshot.reading(Workloads)
    gpus = snapshot.reading(Gpus)
    if workloads is None or gpus is None or not gpus.states:
        return
    if workloads.reason in ATTRIBUTION_REASONS:
        yield _problem("Processes on GPUs", workloads.reason, ATTRIBUTION_REASONS, here)
    else:
        yield Check("Processes on GPUs", OK, "attributed to containers, jobs and users")


def _kubelet(snapshot: Snapshot, here: Installation) -> Iterator[Check]:
    """Yield whether the kubelet reports which container has which GPU."""
    gpus = snapshot.reading(Gpus)
    report = snapshot.report("workloads")
    if gpus is None or not gpus.states or report is None or report.outcome is not Outcome.OK:
        return
    reasons = [gap.reason for gap in report.missing if gap.field == "allocations"]
    if not reasons:
        yield Check("Kubelet files", OK, "show which container has which GPU allocated")
        return
    fix = "let this user read /var/lib/kubelet/device-plugins"
    if here.in_container:
        fix = (
            "mount the host's /var/lib/kubelet/device-plugins read-only at"
            " /host/var/lib/kubelet/device-plugins"
        )
    yield Check("Kubelet files", PROBLEM if here.in_kubernetes else NOTE, reasons[0], fix)


def _kernel_log(snapshot: Snapshot, here: Installation) -> Check:
    settings = here.config.kernel_log
    if not (settings.enabled and here.config.metrics.enabled.kernel_log):
        return Check("Kernel log", NOTE, "kernel_log.enabled is false", "kernel_log.enabled = true")
    log = snapshot.reading(KernelLog)
    if log is not None:
        return Check("Kernel log", OK, f"read through {log.source}")
    report = snapshot.report("kernel_log")
    found = (report.reason if report else None) or "not read"
    if found.startswith("no_permission"):
        fix = "run as root, or AmbientCapabilities=CAP_SYSLOG, or sysctl kernel.dmesg_restrict=0"
        if here.in_container:
            fix = "securityContext.capabilities.add: [SYSLOG] (docker run --cap-add SYSLOG)"
    else:
        fix = f"let {settings.path} be opened; in a container --device /dev/kmsg"
    return Check("Kernel log", PROBLEM, found, fix)


def _counted(reports: Iterable[SourceReport], here: Installation) -> Iterator[Check]:
    """Yield whether bpftrace counts the configured calls and events, or why not."""
    for report in reports:
        name = COUNTED.get(report.source)
        if name is None:
            continue
        reasons = [gap.reason for gap in report.missing]
        reason = report.reason or next(iter(reasons), "")
        if not reason:
            yield Check(name, OK, "counted in the kernel by bpftrace")
            continue
        remedies = (EBPF_REASONS[word] for word in EBPF_REASONS if word in reason)
        remedy = next(remedies, Remedy(reason, "docs/ebpf.md lists the requirements"))
        yield Check(name, PROBLEM, reason, remedy.fix(in_container=here.in_container))


def _nothing_counted(here: Installation) -> Iterator[Check]:
    """Yield why eBPF is enabled and no source of it runs."""
    if why := ebpf_idle(here.config):
        found = f"ebpf.enabled is true and nothing is counted: {why}"
        yield Check("eBPF", PROBLEM, found, "change that (docs/ebpf.md), or ebpf.enabled = false")


def _mounts(snapshot: Snapshot, here: Installation) -> Iterator[Check]:
    network = snapshot.reading(Network)
    if network is not None and network.namespace == "pod":
        fix = "hostNetwork: true, or mount the host's /proc at /host/proc with hostPID: true"
        yield Check("Network", NOTE, "only this container's own network is visible", fix)
    if not here.in_container:
        yield Check("Mounts", OK, "runs on the host itself")
    elif here.unmounted:
        flags = " ".join(
            f"-v {place.removeprefix('/host') or '/'}:{place}:ro" for place in here.unmounted
        )
        found = f"not mounted from the host: {', '.join(here.unmounted)}"
        yield Check("Mounts", NOTE, found, f"docker run {flags}, or hostPath volumes")
    else:
        yield Check("Mounts", OK, "the host's directories are mounted below /host")


def _sources(reports: Iterable[SourceReport]) -> Iterator[Check]:
    """Yield the other sources that failed or are stuck; absent hardware is no problem."""
    shown = [report for report in reports if report.source not in CHECKED_APART]
    bad = [each for each in shown if each.outcome in (Outcome.FAILED, Outcome.STUCK)]
    for report in bad:
        found = f"{report.outcome.value}: {report.reason}"
        yield Check(f"Source {report.source}", PROBLEM, found, _source_fix(report))
    if not bad:
        read = sum(report.outcome is Outcome.OK for report in shown)
        found = f"{read} of {len(shown)} are read; nothing to read for the others"
        yield Check("Other sources", OK, found)


def _source_fix(report: SourceReport) -> str:
    if report.outcome is Outcome.STUCK:
        return "a filesystem or driver hangs: check dmesg -T and processes in D state"
    if "ermission" in (report.reason or ""):
        return f'run as root, or sources.disabled = ["{report.source}"]; rights: docs/RIGHTS.md'
    return f"docs/node.md says what {report.source} needs; sources.disabled turns it off"


def _rules(here: Installation) -> Iterator[Check]:
    if not here.config.faults.enabled:
        yield Check(
            "Rules", NOTE, "not evaluated: faults.enabled is false", "faults.enabled = true"
        )
    mistakes = here.rule_mistakes()
    for mistake in mistakes[:MAX_MISTAKES]:
        yield Check("Rules", PROBLEM, mistake)
    if (more := len(mistakes) - MAX_MISTAKES) > 0:
        yield Check("Rules", PROBLEM, f"{more} more mistakes", "hw-exporter rules check")


def _state(here: Installation) -> Iterator[Check]:
    for problem in here.state_problems():
        if problem.endswith(SPOILED):
            yield Check("State", NOTE, problem, "look at it, then delete it")
        else:
            yield Check("State", PROBLEM, problem, "docs/CONFIG.md says what state.dir has to be")
