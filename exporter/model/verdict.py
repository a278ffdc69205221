"""Conclusions of an evaluation: faults with causes, and rules that could not be evaluated."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from exporter.model.silence import Silence
from exporter.model.transition import Transition
from exporter.record import dataclass, replace

STATUSES = ("ok", "predicted_failure", "needs_cleaning", "degraded", "failed")
"""Statuses of a component in OpenTelemetry, from good to bad."""

SEVERITIES = ("critical", "warning", "info")
"""Severities of faults, from the highest to the lowest."""

STATUS_OF_SEVERITY = MappingProxyType({"critical": "failed", "warning": "degraded", "info": "ok"})
"""The status of a component with a fault of this severity, if the rule has none."""


Key: TypeAlias = tuple[str, str]
"""A component: its kind in rules, and its stable id."""


class FaultState(Enum):
    """Whether a fault is active, has ended, or can no longer be evaluated."""

    ACTIVE = "active"
    CLEARED = "cleared"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """The component of a fault: `kind` as in rules, `hw_type` as in OpenTelemetry."""

    kind: str
    hw_type: str
    hw_id: str
    hw_name: str

    @property
    def key(self) -> Key:
        """The key of the component in the graph."""
        return self.kind, self.hw_id


@dataclass(frozen=True, slots=True)
class Naming:
    """How incidents name the components of one type.

    `plural` is empty if the plural is the type with an s. Components that are `is_numbered` are
    named by ranges of numbers. With `is_alone`, equal faults are separate incidents, because each
    component has another owner.
    """

    plural: str = ""
    is_numbered: bool = False
    is_alone: bool = False


PLAIN_NAMING = Naming()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of evidence: `value`, the `threshold` it crossed, and when (since the epoch).

    `at` is None for a value that is still so at the time of the conclusions. `raw` is the line of
    the kernel log, if the evidence is one.
    """

    name: str
    value: float | bool | str | None
    threshold: str
    at: float | None
    raw: str = ""


def dated(evidence: tuple[Evidence, ...], at: float) -> tuple[Evidence, ...]:
    """Return the evidence; what is still so is of this time (since the epoch)."""
    if all(piece.at is not None for piece in evidence):
        return evidence
    return tuple(replace(piece, at=at) if piece.at is None else piece for piece in evidence)


@dataclass(frozen=True, slots=True)
class Cause:
    """One step towards the root: a fault, and the relation `via` to the fault it explains.

    `since` and `ended` are in seconds since the epoch; `ended` is None while the cause is active.
    """

    rule: str
    subject: Subject
    via: str
    summary: str = ""
    since: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one component.

    `since` and `ended` are in seconds since the epoch; `confidence` is 0 to 1. `causes` lead from
    the nearest cause to the root and are empty for a root. `action` (a slug for programs) and
    `advice` (a sentence) are those of the root. `affected` are the processes and workloads that use
    the component. `concerns` is the type of component that the rule says the fault is about, empty
    where that is the type of `subject`. A fault with a `silence` neither pages nor counts. `times`
    is the number of beginnings in the last 14 days. A fault `stands_alone` if its root cause has
    ended and no alert told of this incident.
    """

    rule: str
    subject: Subject
    severity: str
    state: FaultState
    since: float
    ended: float | None
    confidence: float
    summary: str
    action: str
    runbook: str
    status: str
    evidence: tuple[Evidence, ...] = ()
    causes: tuple[Cause, ...] = ()
    affected: tuple[Subject, ...] = ()
    advice: str = ""
    silence: Silence | None = None
    times: int = 1
    concerns: str = ""
    stands_alone: bool = False

    @property
    def is_active(self) -> bool:
        """Whether the condition of the fault holds now."""
        return self.state is FaultState.ACTIVE

    @property
    def root(self) -> "Fault | Cause":
        """The last cause of this fault; the fault itself if no active fault explains it."""
        return self.causes[-1] if self.causes else self

    @property
    def is_root(self) -> bool:
        """Whether no active fault explains this fault."""
        return not self.causes


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation of one component to another.

    `relation` is consumes, waits_on or runs_in (of processes), or part_of, below, peer (of
    hardware). `evidence` says how the relation is known.
    """

    relation: str
    source: Key
    target: Key
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Conclusions:
    """The result of one evaluation, `at` seconds since the epoch.

    `transitions` are counted since the start. `namings` are by type in labels. `rules` are all
    rules by kind of component. `unknown` has the rules that could not be evaluated for a component,
    `silent` those that are off for a component because the fields they need are not reported.
    """

    faults: tuple[Fault, ...] = ()
    transitions: tuple[tuple[str, str, int], ...] = ()
    events: tuple[tuple[str, int], ...] = ()
    nodes: tuple[tuple[str, int], ...] = ()
    edges: tuple[tuple[str, int], ...] = ()
    graph: tuple[Edge, ...] = ()
    subjects: tuple[Subject, ...] = ()
    namings: Mapping[str, Naming] = field(default_factory=lambda: MappingProxyType({}))
    rules: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    unknown: Mapping[Subject, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    silent: Mapping[Subject, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    statuses: tuple[tuple[Subject, str], ...] = ()
    rules_loaded: int = 0
    rules_skipped: tuple[tuple[str, int], ...] = ()
    rule_seconds: float = 0.0
    detected: object | None = None  # by the detectors, if one is enabled
    history: tuple[Transition, ...] = ()
    at: float = 0.0

    @property
    def active(self) -> tuple[Fault, ...]:
        """The faults that are active now."""
        return tuple(fault for fault in self.faults if fault.is_active)

    @property
    def is_healthy(self) -> bool:
        """Whether no critical fault is active, silenced ones left out."""
        return not any(it.severity == "critical" and it.silence is None for it in self.active)
