"""Builds conclusions from active alerts: faults with causes and texts, counts, ended faults."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from exporter.faults.affected import Affected, Moments
from exporter.faults.alert_state import Alert, AlertKey, Change
from exporter.faults.causes import CauseFinder
from exporter.faults.entities.graph import SIBLINGS
from exporter.faults.entities.naming import SubjectIndex
from exporter.faults.events.query import LOOKS
from exporter.faults.fault_history import log_transition
from exporter.faults.instructions import ALERTED_SECS, Instruction, Instructions
from exporter.faults.last_made import LastMade
from exporter.faults.observation import View
from exporter.faults.root_cause import Place, place_of
from exporter.faults.rules.rule import Rule
from exporter.faults.values import KindTraits, RulesByKey
from exporter.model.event import Event
from exporter.model.verdict import (
    SEVERITIES,
    STATUSES,
    Conclusions,
    Fault,
    FaultState,
    Key,
    Subject,
    dated,
)
from exporter.record import replace

SHOWN_AFTER_SECS = 900.0
"""How long an ended fault is still shown, so that its alert can resolve."""

MAX_FAULTS = 500
MAX_RECENT = 1000
LIVING_EDGES = ("consumes", "waits_on")

NOT_MADE: tuple[tuple[object, ...], None] = ((), None)


class ReportBuilder:
    """Makes conclusions; remembers the previous ones to find transitions."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        traits: KindTraits,
        skipped: Mapping[str, int],
        counted_elsewhere: frozenset[str],
    ) -> None:
        self._traits, self._hw_types = traits, traits.hw_types
        self._counted_elsewhere = counted_elsewhere | {LOOKS}
        self._transitions: Counter[tuple[str, str]] = Counter()
        self._events: Counter[str] = Counter()
        self._reported: dict[Place, Fault] = {}
        self._recent: dict[Place, tuple[Fault, float]] = {}
        self._ended: dict[Place, Change] = {}
        self._subjects = SubjectIndex(traits.hw_types)
        self._affected = Affected(self._subjects)
        self._named: tuple[Subject, ...] = ()  # of all components
        self._names = 0  # grows when a name or what is in the graph changes
        self._of: tuple[object, ...] = ()  # graph, ended uses and time of boot of which these are
        self._unknown: LastMade[Mapping[Subject, tuple[str, ...]]] = LastMade()
        self._silent: LastMade[Mapping[Subject, tuple[str, ...]]] = LastMade()
        self._all_statuses: LastMade[tuple[tuple[Subject, str], ...]] = LastMade()
        self._causes = CauseFinder(traits, self._subjects)
        self._blocked = 0  # the faults reported last, and what they affect
        self._all: LastMade[tuple[Fault, ...]] = LastMade()
        self._at = 0.0  # the time of the last conclusions
        self._kinds_seen = {"process", "workload"}
        self.rule_seconds = 0.0  # untested: it is set before each conclusion
        self.take(rules, skipped)

    def take(self, rules: Mapping[str, Rule], skipped: Mapping[str, int]) -> None:
        """Replace the rules; faults of removed rules are dropped."""
        self._rules = rules
        self._instructions = Instructions()
        self._kept: tuple[Place, ...] = ()  # the roots that keep a severity
        self._decided: LastMade[tuple[dict[Place, Instruction], list[Place]]] = LastMade()
        self._shown: LastMade[dict[Place, Fault]] = LastMade()
        self._made: dict[Place, tuple[tuple[object, ...], Fault]] = {}  # faults, with their inputs
        self._judged: object = None  # names and graph of the last faults
        self._skipped = Counter(skipped)
        self._rules_of: dict[str, tuple[str, ...]] = {}
        for rule in rules.values():
            self._rules_of[rule.entity] = (*self._rules_of.get(rule.entity, ()), rule.id)
        self._reported = {it: fault for it, fault in self._reported.items() if it[0] in rules}
        self._recent = {it: fault for it, fault in self._recent.items() if it[0] in rules}
        self._ended = {it: change for it, change in self._ended.items() if it[0] in rules}

    def count_event(self, event: Event) -> None:
        """Count one event by type, unless its reading counts its events."""
        if event.source not in self._counted_elsewhere:
            self._events[event.type.value] += 1

    def count_skipped(self, reason: str) -> None:
        """Count one more skipped rule."""
        self._skipped[reason] += 1

    def end(self, rule: str, key: Key, change: Change) -> None:
        """Note that a fault has ended since the last conclusions."""
        self._ended[rule, key] = change

    def conclude(
        self,
        view: View,
        alerts: Mapping[AlertKey, Alert],
        unknown: RulesByKey,
        silent: RulesByKey,
        *,
        have_moved: bool,
    ) -> Conclusions:
        """Return the conclusions of one evaluation, in which alerts have moved or only gone on."""
        self._name_all(view)
        faults, of = self._reported, (self._names, view.graph, view.past_graph)
        if have_moved or self._judged != of or self._kept != self._instructions.kept(view.now):
            chosen: dict[Place, Alert] = {key: it for key, it in alerts.items() if it.is_active}
            waiting: dict[Place, Alert] = {key: it for key, it in alerts.items() if it.is_waiting}
            faults = self._faults(chosen, waiting, view)
            self._blocked = sum(1 + len(fault.affected) for fault in faults.values())
            self._judged = of
        self._tell_changes(faults, view)
        self._at = view.scene.wall
        shown = [*faults.values(), *(fault for fault, _ in self._recent.values())][:MAX_FAULTS]
        return Conclusions(
            faults=self._all.made(shown, lambda: tuple(shown)),
            transitions=tuple((*key, count) for key, count in sorted(self._transitions.items())),
            events=tuple(sorted(self._events.items())),
            nodes=tuple(self._count_nodes(view)),
            edges=(
                *((word, view.graph.count(word)) for word in LIVING_EDGES),
                ("blocked_by", self._blocked),
            ),
            graph=view.scene.edges,
            subjects=self._named,
            namings=self._traits.namings,
            rules=MappingProxyType(self._rules_of),
            unknown=self._unknown.made((self._names, unknown), lambda: self._by_subject(unknown)),
            silent=self._silent.made((self._names, silent), lambda: self._by_subject(silent)),
            statuses=self._statuses(faults, view),
            rules_loaded=len(self._rules),
            rules_skipped=tuple(sorted(self._skipped.items())),
            rule_seconds=self.rule_seconds,
            at=self._at,
        )

    def _by_subject(self, rules: RulesByKey) -> Mapping[Subject, tuple[str, ...]]:
        return MappingProxyType(
            {self._subjects.of(key): tuple(names) for key, names in rules.items()}
        )

    def _count_nodes(self, view: View) -> Iterable[tuple[str, int]]:
        """Count entities by kind; a kind that was seen once is counted for ever, down to zero."""
        self._kinds_seen |= view.by_kind.keys()
        return (
            (self._traits.graph_words.get(kind, kind), len(view.by_kind.get(kind, ())))
            for kind in sorted(self._kinds_seen)
        )

    def _name_all(self, view: View) -> None:
        """Name all entities, and the gone entities that faults or ended uses mention."""
        ended = (key for use in view.ended_uses for key in (use.source, use.target))
        mentioned = (key for _, key in (*self._reported, *self._recent))
        of = (view.graph, view.ended_uses, view.scene.booted_at)
        if self._subjects.take(view.components, (*mentioned, *ended)) or of != self._of:
            self._of = of
            self._affected.forget()
            self._made.clear()
            self._names += 1
            self._named = tuple(map(self._subjects.of, view.entities))

    def _faults(
        self, active: Mapping[Place, Alert], waiting: Mapping[Place, Alert], view: View
    ) -> dict[Place, Fault]:
        """Make the active faults with their causes, by severity."""
        chosen = self._causes.find(active, waiting, self._rules, view)
        alerts = chosen.values()
        decisive = [
            (it.active_since, it.severity, it.is_escalated, it.advice, it.causes) for it in alerts
        ]
        stated = [
            (it.active_since, it.summary, it.confidence, it.evidence, it.causes) for it in alerts
        ]
        self._kept = self._instructions.kept(view.now)
        decided = self._decided.made(
            (view.graph, [*chosen], decisive, self._kept), lambda: self._decide(chosen, view)
        )
        whole = {it: _parts_of(it, chosen) for it in chosen if it not in active}
        return self._shown.made(
            (decided, stated, whole, self._names),
            lambda: self._make(chosen, decided, stated, whole, view),
        )

    def _make(
        self,
        chosen: Mapping[Place, Alert],
        decided: tuple[Mapping[Place, Instruction], Iterable[Place]],
        all_stated: Iterable[tuple[object, ...]],
        whole: Mapping[Place, Moments],
        view: View,
    ) -> dict[Place, Fault]:
        """Make the faults to show, sorted; keep each earlier fault that has not changed."""
        given, order = decided
        before, self._made = self._made, {}
        rows = zip(chosen.items(), given.values(), all_stated, strict=True)
        for (at, it), instruction, stated in rows:
            parts = whole.get(at, ())
            of, fault = before.get(at, NOT_MADE)
            if fault is None or of != (instruction, parts, stated):
                fault = self._fault(at, it, instruction, parts, view)
            self._made[at] = ((instruction, parts, stated), fault)
        return {place: self._made[place][1] for place in order}

    def _decide(
        self, alerts: Mapping[Place, Alert], view: View
    ) -> tuple[dict[Place, Instruction], list[Place]]:
        """Decide what to do about each fault, and which are shown, by severity."""
        given = self._instructions.of(alerts, self._rules, view.now)
        shown = [place for place in alerts if not self._is_covered(place, alerts, view)]
        shown.sort(
            key=lambda it: (
                SEVERITIES.index(given[it].severity),
                view.scene.wall_of(alerts[it].active_since),
                it,
            )
        )
        return given, shown

    def _is_covered(self, place: Place, alerts: Mapping[Place, Alert], view: View) -> bool:
        """Tell whether an active cause, on the component or its whole kind, covers the fault.

        A cause covers a fault whose rule names it, and not as weak; one that is only told first
        does not.
        """
        rule, kind = self._rules[place[0]], place[1][0]
        if not rule.unless_explained:
            return False
        alike = sum(rule.id == other for other, _ in alerts)
        is_of_all = alike >= len(view.by_kind.get(kind, ()))
        others = [cause for cause in alerts[place].causes if cause.via != SIBLINGS]
        if not others or others[0].rule not in rule.covering_causes:
            return False
        causes = (cause.subject.kind for cause in others if place_of(cause) in alerts)
        return any(kind != "node" or is_of_all for kind in causes)

    def _fault(
        self, place: Place, alert: Alert, known: Instruction, parts: Moments, view: View
    ) -> Fault:
        """Make the fault of an alert; a fault that stands for `parts` affects what they affect."""
        rule, key = self._rules[place[0]], place[1]
        return Fault(
            rule=rule.id,
            subject=self._subjects.of(key),
            severity=known.severity,
            state=FaultState.ACTIVE,
            since=view.scene.wall_of(alert.active_since),
            ended=None,
            confidence=round(alert.confidence, 3),
            summary=alert.summary,
            action=known.action,
            advice=known.advice,
            runbook=rule.runbook,
            concerns=self._hw_types.get(rule.concerns, ""),
            status=known.status,
            evidence=alert.evidence,
            causes=alert.causes,
            stands_alone=self._stands_alone(alert, view),
            affected=(
                self._affected.with_parts(parts, view)
                if parts
                else self._affected.by(key, alert.active_since, view)
            ),
        )

    def _stands_alone(self, alert: Alert, view: View) -> bool:
        """Tell whether all causes ended, the root without an alert or before the fault showed."""
        root = alert.causes[-1] if alert.causes else None
        if root is None or root.since is None or None in (root.ended, alert.causes[0].ended):
            return False
        ended = root.ended or 0.0
        shown = view.scene.wall_of(view.now if alert.shown_since is None else alert.shown_since)
        active_secs = ended - root.since - self._rules[root.rule].for_secs
        return active_secs < ALERTED_SECS or shown > ended

    def _tell_changes(self, faults: dict[Place, Fault], view: View) -> None:
        if faults is not self._reported:
            self._compare(faults, view)
            self._reported = faults
        self._recent = {
            place: (fault, ended)
            for place, (fault, ended) in list(self._recent.items())[-MAX_RECENT:]
            if view.now - ended < SHOWN_AFTER_SECS
        }

    def _compare(self, faults: Mapping[Place, Fault], view: View) -> None:
        """Tell which faults are new since the last conclusions, and which have ended."""
        for place in faults.keys() & self._recent.keys():
            del self._recent[place]
        for place, fault in faults.items():
            if place not in self._reported:
                self._transition(fault, "active")
        for place, fault in self._reported.items():
            if place not in faults:
                change = self._ended.pop(place, Change.CLEARED)
                state = FaultState.UNJUDGED if change is Change.UNJUDGED else FaultState.CLEARED
                evidence = dated(fault.evidence, self._at)
                over = replace(fault, state=state, ended=view.scene.wall, evidence=evidence)
                self._recent[place] = (over, view.now)
                self._transition(over, state.value)

    def _transition(self, fault: Fault, state: str) -> None:
        self._transitions[fault.rule, state] += 1
        log_transition(fault, state)

    def _statuses(
        self, faults: Mapping[Place, Fault], view: View
    ) -> tuple[tuple[Subject, str], ...]:
        """Return the status of each component that has a fault or that reports to be up."""
        with_status = self._traits.with_status
        ill = [(key, fault.status) for (_, key), fault in faults.items()]
        up = [
            it for kind in with_status for it in view.by_kind.get(kind, ()) if it.fields.get("up")
        ]
        well = [entity.key for entity in up] + [
            key for _, key in self._recent if key in view.entities and key[0] not in with_status
        ]

        def made() -> tuple[tuple[Subject, str], ...]:
            worst = dict.fromkeys(well, 0)
            for key, status in ill:
                worst[key] = max(worst.get(key, 0), STATUSES.index(status))
            rows = sorted(worst.items())
            return tuple((self._subjects.of(key), STATUSES[rank]) for key, rank in rows)

        return self._all_statuses.made((self._names, ill, well), made)


def _parts_of(place: Place, alerts: Mapping[Place, Alert]) -> Moments:
    """Return the components whose faults this one stands for, each with when its fault began."""
    return tuple(
        (at[1], it.active_since)
        for at, it in alerts.items()
        if at[0] == place[0] and it.causes and place_of(it.causes[0]) == place
    )
