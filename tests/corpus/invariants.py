"""What holds at every moment of every recording, whatever it tells."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from exporter.collectors.disk.values import Disks
from exporter.collectors.everything import FAMILIES
from exporter.collectors.exporter.incidents import incidents_of
from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.collectors.network.values import Network
from exporter.collectors.pcie.values import Pcie
from exporter.exposition.family import Histogram
from exporter.faults.entities.graph import SIBLINGS
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Fault
from tools.bad_values import TABLE

REPEATED = frozenset({"hw_node_healthy", "hw_fault_active", "hw_fault_root_cause"}) | {
    *("hw_faults", "hw_status", "hw_gpu_nvlink_inactive")
}
"""What repeats the verdict itself, or another family: `hw_gpu_nvlink_up` has every link."""
ROWS = tuple(
    (family, TABLE[family.name])
    for family in FAMILIES
    if family.name in TABLE and family.name not in REPEATED
)
PATIENCE_SECS = 900.0
"""How long a value may be bad before a fault says so: the longest `for` of the rules is shorter."""

Place: TypeAlias = "tuple[str, tuple[str, ...], str]"
"""A sample: its family, its labels, the id of its component."""


class Watch:
    """Follows one recording: `holes` are bad samples of which nothing was said, as text.

    `untrue` are sentences that their evidence does not bear, or that do not name who is hit.
    A fault may take `patience_secs` until it says of a value that it is bad.
    """

    def __init__(self, patience_secs: float = PATIENCE_SECS) -> None:
        self._patience_secs = patience_secs
        self.holes: dict[str, None] = {}
        self.untrue: dict[str, None] = {}
        self.got_well: dict[str, None] = {}
        self._good: set[Place] = set()
        self._good_now: set[Place] = set()
        self._since: dict[Place, float] = {}
        self._read: tuple[object, object] = (None, None)
        self._bad: set[Place] = set()

    def look(self, snapshot: Snapshot, conclusions: Conclusions) -> None:
        """Take in one moment."""
        self.untrue.update(dict.fromkeys(untrue(snapshot, conclusions)))
        self.untrue.update(dict.fromkeys(unnamed(conclusions)))
        now = snapshot.taken_boottime
        before, self._read = self._read, (snapshot.readings, snapshot.reports)
        if any(new is not old for new, old in zip(self._read, before, strict=True)):
            self._good_now.clear()
            self._bad = set(self.bad(snapshot))
        bad = self._bad
        ended = self._since.keys() & self._good_now
        begun = bad - self._since.keys()
        self._since = {place: self._since.get(place, now) for place in bad}
        silent = [place for place in bad if now - self._since[place] > self._patience_secs]
        if silent:
            told, rules = _told(conclusions), {fault.rule for fault in conclusions.active}
            told |= _controllers_of(told, snapshot)
            holes = (place for place in silent if not _is_told(place, told, rules))
            self.holes.update(dict.fromkeys(f"{place[0]}{place[1]}" for place in holes))
        if ended and not begun:
            well = {place[2] or NODE for place in ended}
            for fault in conclusions.active:
                is_new = fault.since == snapshot.taken_at and fault.rule not in COUNTS_RETURNS
                if is_new and fault.subject.hw_id in well:
                    self.got_well[f"{fault.rule}@{fault.subject.hw_id}"] = None

    def bad(self, snapshot: Snapshot) -> Iterator[Place]:
        """Yield the samples that are bad now, and not meant."""
        for family, row in ROWS:
            for values, number in family.samples(snapshot):
                labels = dict(zip(family.labels, values, strict=True))
                place = (family.name, values, labels.get(row.component, ""))
                if isinstance(number, Histogram) or not row.is_bad(labels, number):
                    self._good_now.add(place)
                elif not row.once_good or place in self._good:
                    is_meant = MEANT.get(family.name)
                    if is_meant is None or not is_meant(snapshot, place[2]):
                        yield place
        self._good |= self._good_now


NODE = "node"
OF_ALL_GPUS = frozenset({"driver_version_mismatch", "nvml_unavailable", "telemetry_stale"})
"""Faults of the node that say that its GPUs cannot be read."""
COUNTS_RETURNS = frozenset({"net_link_flap", "ib_link_flap"})
"""Rules that count how often a link changed: its return is one more change."""


def _is_told(place: Place, told: set[str], rules: set[str]) -> bool:
    """Whether a fault says it: of the component, of a part of it, or of what it depends on."""
    component = place[2] or NODE
    if not place[2] and place[1] and f"GPU {place[1][0]}" in told:  # one that never said its UUID
        return True
    is_source_told = "source_stuck" in rules and "gpu" in told  # the source that reads all GPUs
    if place[0].startswith("hw_gpu_") and (is_source_told or rules & OF_ALL_GPUS):
        return True
    return any(each == component or _is_part(each, component) for each in told)


def _is_part(part: str, whole: str) -> bool:
    """Whether this is a port (`mlx5_0/1`) or a namespace (`nvme1n1`) of the other."""
    return part.startswith((f"{whole}/", f"{whole}n")) and whole != NODE


def _told(conclusions: Conclusions) -> set[str]:
    """Return the ids of all components with an active fault, and of what depends on them."""
    told = {word for it in conclusions.active for word in (it.subject.hw_id, it.subject.hw_name)}
    told |= {cause.subject.hw_id for fault in conclusions.active for cause in fault.causes}
    told |= {NODE for fault in conclusions.active if fault.subject.kind == NODE}
    for _ in range(8):
        edges = (edge for edge in conclusions.graph if edge.relation in ("part_of", "below"))
        more = {edge.source[1] for edge in edges if edge.target[1] in told} - told
        if not more:
            break
        told |= more
    return told


def _controllers_of(told: set[str], snapshot: Snapshot) -> set[str]:
    """Return the NVMe controllers of these disks."""
    disks = snapshot.reading(Disks)
    return {
        controller
        for disk in (disks.disks if disks else ())
        if disk.device in told
        for controller in disk.nvme_controllers
    }


def _state_of(snapshot: Snapshot, uuid: str) -> GpuState | None:
    gpus = snapshot.reading(Gpus)
    states = gpus.states if gpus else ()
    return next((state for state in states if state.gpu.uuid == uuid), None)


def _is_sliced_or_asleep(snapshot: Snapshot, uuid: str) -> bool:
    state = _state_of(snapshot, uuid)
    if state is None:
        return False
    is_asleep = not state.gpu.processes and not any(up for _, up in state.gpu.nvlink_up or ())
    return bool(state.gpu.mig_enabled) or is_asleep


def _is_suspended(snapshot: Snapshot, uuid: str) -> bool:
    state = _state_of(snapshot, uuid)
    return state is not None and state.suspended


def _needs_no_nvml(snapshot: Snapshot, _: str) -> bool:
    """Tell whether nvidia-smi was chosen, or all GPUs are given to virtual machines."""
    gpus, pcie = snapshot.reading(Gpus), snapshot.reading(Pcie)
    if gpus is not None and any(b.backend == "nvidia-smi" for b in gpus.backends):
        return True
    on_bus = [device for device in pcie.devices if device.kind == "gpu"] if pcie else []
    return bool(on_bus) and all(device.is_passed_through for device in on_bus)


def _is_unwanted(snapshot: Snapshot, device: str) -> bool:
    network = snapshot.reading(Network)
    found = network.interfaces if network else ()
    return any(
        one.device == device and (not one.pci_bus_id or one.admin_up is False) for one in found
    )


MEANT: Mapping[str, Callable[[Snapshot, str], bool]] = {
    "hw_gpu_nvlink_up": _is_sliced_or_asleep,
    "hw_gpu_data_stale": _is_suspended,
    "hw_gpu_nvml_up": _needs_no_nvml,
    "hw_network_up": _is_unwanted,
}
"""Where a bad value is meant, beside what its row in tools/bad_values.py says of the past."""


def untrue(snapshot: Snapshot, conclusions: Conclusions) -> Iterator[str]:
    """Yield the sentences of faults that say more than their evidence, or the opposite."""
    near = (fault.causes[0] for fault in conclusions.active if fault.causes)
    groups = {(it.rule, it.subject) for it in near if it.via == SIBLINGS}
    for fault in conclusions.active:
        is_grouped = (fault.rule, fault.subject) in groups  # with the evidence of its first part
        for words, bears in CLAIMS.items():
            if words in fault.summary and not is_grouped and not bears(snapshot, fault):
                yield f"{fault.rule}: {fault.summary}"
        if "No action is needed" in fault.advice and fault.severity != "info":
            yield f"{fault.rule}: {fault.advice}"


def unnamed(conclusions: Conclusions) -> Iterator[str]:
    """Yield the faults of GPUs, and their incidents, that do not name who uses the GPU."""
    used = {edge.target for edge in conclusions.graph if edge.relation == "consumes"}
    for incident in incidents_of(conclusions):
        about = [fault for fault in incident.faults if fault.subject.hw_type == "gpu"]
        for fault in about:
            if fault.subject.key in used and not fault.affected:
                yield f"{fault.rule}: nobody is affected, but {fault.subject.hw_name} is used"
        users = {it.hw_name for fault in about for it in fault.affected}
        is_named = any((user.rpartition("/")[0] or user) in incident.affects for user in users)
        if users and not is_named:
            yield f"{incident.rule}: {incident.affects!r} names none of {sorted(users)}"


def _seen(pattern: str) -> Callable[[Snapshot, Fault], bool]:
    """Make a check that a piece of the evidence, its name or its line, has this pattern."""
    wanted = re.compile(pattern)

    def check(_: Snapshot, fault: Fault) -> bool:
        return any(wanted.search(f"{it.name} {it.raw}") for it in fault.evidence)

    return check


def _has_bank_without_row(snapshot: Snapshot, fault: Fault) -> bool:
    state = _state_of(snapshot, fault.subject.hw_id)
    return state is not None and dict(state.gpu.row_remap_banks or ()).get("none", 0) > 0


def _never(_: Snapshot, fault: Fault) -> bool:
    """Tell whether the word is meant: `unknown` is where a value should stand."""
    return fault.rule in ("gpu_unknown_xid", "gpu_unreadable", "source_failed")


CLAIMS: Mapping[str, Callable[[Snapshot, Fault], bool]] = {
    "no spare row": _has_bank_without_row,
    "killed": _seen(r"Killed process|oom-kill:|going to be killed|oom_kills"),
    "was chosen to free": _seen(r"Kill process"),
    "(DPC)": _seen(r"containment event"),
    "could not be recovered": _seen(r"recovery failed|session recovery timed out"),
    "which is not its memory": _seen(r" in (?!umc)\w+ block|ERREVENT|poison"),
    "no space left": _seen(r"errno=-28|with error 28"),
    "a fatal error": _seen(r"[Ff]atal|fatal|Uncorrect"),
    "unknown": _never,
}
"""Words of a summary, and what the evidence must have for them to be true."""
