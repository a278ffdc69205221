"""What was concluded: faults with their causes, and what could not be judged."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from exporter.model.silence import Silence
from exporter.model.transition import Transition
from exporter.record import dataclass

STATUSES = ("ok", "predicted_failure", "needs_cleaning", "degraded", "failed")
"""What a component can be, in the words of OpenTelemetry, from good to bad."""

SEVERITIES = ("critical", "warning", "info")
"""From the highest to the lowest."""

STATUS_OF_SEVERITY = MappingProxyType({"critical": "failed", "warning": "degraded", "info": "ok"})
"""What a fault makes of its component, unless its rule says otherwise."""


Key: TypeAlias = tuple[str, str]
"""The kind of a component, in the words of rules, and its stable id."""


class FaultState(Enum):
    """Whether a fault holds, held until lately, or could no longer be judged."""

    ACTIVE = "active"
    CLEARED = "cleared"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What a fault is about: `kind` in the words of rules, `hw_type` in those of OpenTelemetry."""

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
    """How incidents speak of all components of one type in labels.

    `plural` is empty where the type with an s says it. Components that are `is_numbered` are told
    by ranges of their numbers; `is_alone` makes equal faults incidents of their own, because each
    component has another owner.
    """

    plural: str = ""
    is_numbered: bool = False
    is_alone: bool = False


PLAIN_NAMING = Naming()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing seen: `value` beside the `threshold` it crossed, and when (since the epoch).

    `raw` is the kernel's own line where the evidence is one.
    """

    name: str
    value: float | bool | str | None
    threshold: str
    at: float
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """One step towards the root: a fault, and by which relation it explains the one before."""

    rule: str
    subject: Subject
    via: str
    summary: str = ""
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one component.

    `since` and `ended` count seconds since the epoch; `confidence` is 0 to 1; `causes` lead from
    the nearest cause to the root and are empty for a root; `action` is a slug for programs,
    `advice` the same as a sentence, both those of the root; `affected` are processes and workloads
    that use what is broken; a fault with a `silence` neither pages nor counts;
    `times` is how often it began in the last 14 days.
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

    @property
    def is_active(self) -> bool:
        """Whether it holds now."""
        return self.state is FaultState.ACTIVE

    @property
    def root(self) -> "Fault | Cause":
        """The last cause of this fault; the fault itself where nothing active explains it."""
        return self.causes[-1] if self.causes else self

    @property
    def is_root(self) -> bool:
        """Whether nothing that is active explains it."""
        return not self.causes


@dataclass(frozen=True, slots=True)
class Edge:
    """How one component hangs together with another.

    `relation` is consumes, waits_on or runs_in (something that goes on), or part_of, below, peer
    (how the hardware is built). `evidence` says how that is known.
    """

    relation: str
    source: Key
    target: Key
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Conclusions:
    """Everything one judgement said; `transitions` count since the start.

    `namings` are by type in labels; `rules` are all that look at a kind of component, `unknown`
    those that could not be judged for one component, `silent` those that are off there: what they
    are about was not said.
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
    detected: object | None = None  # by the detectors, where one is on
    history: tuple[Transition, ...] = ()

    @property
    def active(self) -> tuple[Fault, ...]:
        """The faults that hold now."""
        return tuple(fault for fault in self.faults if fault.is_active)

    @property
    def is_healthy(self) -> bool:
        """Whether no critical fault is active, root or not, but for silenced faults."""
        return not any(it.severity == "critical" and it.silence is None for it in self.active)
