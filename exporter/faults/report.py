"""Builds conclusions from active alerts: faults with causes and texts, counts, ended faults."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType

from exporter.faults.alert_state import Alert, AlertKey, Change
from exporter.faults.entities.graph import SIBLINGS, Graph
from exporter.faults.entities.naming import SubjectIndex
from exporter.faults.events.query import LOOKS
from exporter.faults.fault_history import log_transition
from exporter.faults.instructions import Instruction, instructions
from exporter.faults.kept_steps import KeptSteps
from exporter.faults.observation import View
from exporter.faults.root_cause import Place, find_steps, place_of
from exporter.faults.rules.rule import Rule
from exporter.faults.siblings import Siblings
from exporter.faults.standing import Step, path_to_root
from exporter.faults.values import KindTraits
from exporter.model.event import Event
from exporter.model.incident import grouped_summary
from exporter.model.verdict import (
    PLAIN_NAMING,
    SEVERITIES,
    STATUSES,
    Cause,
    Conclusions,
    Edge,
    Fault,
    FaultState,
    Key,
    Subject,
)
from exporter.record import replace

SHOWN_AFTER_SECS = 900.0
"""How long an ended fault is still shown, so that its alert can resolve."""

MAX_FAULTS = 500
MAX_AFFECTED = 20
MAX_USERS = 200
USERS = ("workload", "process")
"""The kinds that a fault affects; of each kind at most MAX_AFFECTED are named."""

MAX_RECENT = 1000
ENDED_WITHIN_SECS = 60.0
"""A process that ends so shortly before or after a fault begins is affected by the fault."""

LIVING_EDGES = ("consumes", "waits_on")


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
        self._affected_by: dict[tuple[Key, tuple[Edge, ...]], tuple[Subject, ...]] = {}
        self._named: tuple[Subject, ...] = ()  # of all components
        self._graph: Graph | None = None  # of which these are
        self._steps = KeptSteps()
        self._kinds_seen = {"process", "workload"}
        self.rule_seconds = 0.0  # untested: it is set before each conclusion
        self.take(rules, skipped)

    def take(self, rules: Mapping[str, Rule], skipped: Mapping[str, int]) -> None:
        """Replace the rules; faults of removed rules are dropped."""
        self._rules = rules
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
        unknown: Mapping[Key, list[str]],
        silent: Mapping[Key, list[str]],
    ) -> Conclusions:
        """Return the conclusions of one evaluation."""
        self._name_all(view)
        chosen: dict[Place, Alert] = {key: it for key, it in alerts.items() if it.is_active}
        waiting: dict[Place, Alert] = {key: it for key, it in alerts.items() if it.is_waiting}
        faults = self._faults(chosen, waiting, view)
        self._tell_changes(faults, view)
        shown = [*faults.values(), *(fault for fault, _ in self._recent.values())]
        blocked = sum(1 + len(fault.affected) for fault in faults.values())
        return Conclusions(
            faults=tuple(shown[:MAX_FAULTS]),
            transitions=tuple((*key, count) for key, count in sorted(self._transitions.items())),
            events=tuple(sorted(self._events.items())),
            nodes=tuple(self._count_nodes(view)),
            edges=(
                *((word, view.graph.count(word)) for word in LIVING_EDGES),
                ("blocked_by", blocked),
            ),
            graph=view.scene.edges,
            subjects=self._named,
            namings=self._traits.namings,
            rules=MappingProxyType(self._rules_of),
            unknown=self._by_subject(unknown),
            silent=self._by_subject(silent),
            statuses=tuple(self._statuses(faults, view)),
            rules_loaded=len(self._rules),
            rules_skipped=tuple(sorted(self._skipped.items())),
            rule_seconds=self.rule_seconds,
        )

    def _by_subject(self, rules: Mapping[Key, list[str]]) -> Mapping[Subject, tuple[str, ...]]:
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
        if self._subjects.take(view.by_kind, (*mentioned, *ended)) or view.graph is not self._graph:
            self._graph = view.graph
            self._affected_by.clear()
            self._named = tuple(map(self._subjects.of, view.entities))

    def _faults(
        self, active: Mapping[Place, Alert], waiting: Mapping[Place, Alert], view: View
    ) -> dict[Place, Fault]:
        """Make the active faults with their causes, by severity."""
        steps = find_steps(active, self._rules, view.past_graph, waiting, self._steps.find)
        later = [steps.pop() for _ in waiting][::-1]
        chosen = self._put_together(active, steps, view)
        both = {**chosen, **waiting}
        for alert, causes in [*zip(both.values(), self._all_causes(both, [*steps, *later], view))]:  # noqa: B905 - as many
            alert.causes = causes
            alert.shown_since = (alert.shown_since or view.now) if alert.is_active else None
        faults: dict[Place, Fault] = {}
        for place, known in instructions(chosen, self._rules).items():
            faults[place] = self._fault(place, chosen[place], known, view)
        for place in (it for it in chosen if it not in active):  # made for siblings: affects them
            parts = [f for f in faults.values() if f.causes and place_of(f.causes[0]) == place]
            affected = dict.fromkeys(it for part in parts for it in (part.subject, *part.affected))
            faults[place] = replace(faults[place], affected=tuple(affected))
        shown = [row for row in faults.items() if not self._is_covered(row[1], faults, view)]
        shown.sort(key=lambda row: (SEVERITIES.index(row[1].severity), row[1].since, row[0]))
        return dict(shown)

    def _is_covered(self, fault: Fault, faults: Mapping[Place, Fault], view: View) -> bool:
        """Tell whether an active cause, on the component or its whole kind, covers the fault.

        A cause covers a fault whose rule names it; one that is only told first does not.
        """
        rule = self._rules[fault.rule]
        if not rule.unless_explained:
            return False
        alike = sum(rule == fault.rule for rule, _ in faults)
        is_of_all = alike >= len(view.by_kind.get(fault.subject.kind, ()))
        others = [cause for cause in fault.causes if cause.via != SIBLINGS]
        if not others or others[0].rule not in rule.named_causes:
            return False
        causes = (cause.subject.kind for cause in others if place_of(cause) in faults)
        return any(kind != "node" or is_of_all for kind in causes)

    def _all_causes(
        self, chosen: Mapping[Place, Alert], steps: Sequence[Step | None], view: View
    ) -> list[tuple[Cause, ...]]:
        """Name the faults on the way from each fault to its root; ended faults come last."""
        places = list(chosen.items())
        active = {place for place, alert in places if alert.is_active}
        wanted = {(step.cause, step.via) for step in steps if step is not None}
        named = {(of, via): self._cause(*places[of], via, view) for of, via in wanted}
        causes = []
        for index, (_, alert) in enumerate(places):
            path = path_to_root(index, steps)
            last = places[path[-1].cause][1] if path else alert
            ended = takewhile(lambda cause: place_of(cause) not in active, last.causes)
            causes.append((*[named[step.cause, step.via] for step in path], *ended))
        return causes

    def _put_together(
        self, chosen: Mapping[Place, Alert], steps: list[Step | None], view: View
    ) -> dict[Place, Alert]:
        """Add a fault of the parent for equal root faults of siblings, as their cause."""
        roots = {
            place: alert
            for (place, alert), step in zip(chosen.items(), steps, strict=True)
            if step is None and (not alert.causes or alert.causes[0].via == SIBLINGS)
        }
        index_of = {place: index for index, place in enumerate(chosen)}
        together = dict(chosen)
        for group in Siblings(view.by_kind, view.graph, self._traits).groups(roots, chosen):
            index = index_of.get(group.place, len(steps))
            for place in group.members:
                steps[index_of[place]] = Step(index, SIBLINGS)
            if group.place in chosen:
                continue
            steps.append(None)
            alike = [
                (self._subjects.of(key), roots[rule, key].summary) for rule, key in group.members
            ]
            naming = self._traits.namings.get(alike[0][0].hw_type, PLAIN_NAMING)
            summary = grouped_summary(alike, naming, group.total)
            together[group.place] = group.alert(roots, view.now, summary)
        return together

    def _cause(self, place: Place, alert: Alert, via: str, view: View) -> Cause:
        rule, key = place
        since = _wall(alert.active_since, view)
        return Cause(rule, self._subjects.of(key), via, alert.summary, since)

    def _fault(self, place: Place, alert: Alert, known: Instruction, view: View) -> Fault:
        rule, key = self._rules[place[0]], place[1]
        return Fault(
            rule=rule.id,
            subject=self._subjects.of(key),
            severity=known.severity,
            state=FaultState.ACTIVE,
            since=_wall(alert.active_since, view),
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
            affected=self._affected(key, alert.active_since, view),
        )

    def _affected(self, key: Key, since: float, view: View) -> tuple[Subject, ...]:
        """Return the workloads and processes that use the faulty component, workloads first.

        Users that ended within a minute of `since`, when the fault began, are included.
        """
        uses = view.ended_uses.items()
        ended = tuple([use for use, at in uses if abs(at - since) <= ENDED_WITHIN_SECS])
        if (key, ended) not in self._affected_by:
            self._affected_by[key, ended] = self._users(key, ended, view.graph)
        return self._affected_by[key, ended]

    def _users(self, key: Key, ended: Sequence[Edge], graph: Graph) -> tuple[Subject, ...]:
        """Return the present users of a component, and those of the uses that have ended."""
        users = graph.users(key)[:MAX_USERS]
        workloads = [other for user in users for other in graph.targets("runs_in", user)]
        same = graph.same(key) if ended else ()
        gone = {use.source for use in ended if use.target in same}
        workloads += [use.target for use in ended if use.source in gone]
        found = dict.fromkeys((*workloads, *users, *sorted(gone)))
        kept = {kind: [other for other in found if other[0] == kind] for kind in USERS}
        named = (other for kind in USERS for other in kept[kind][:MAX_AFFECTED])
        return tuple(self._subjects.of(other) for other in named)

    def _tell_changes(self, faults: Mapping[Place, Fault], view: View) -> None:
        for place, fault in faults.items():
            self._recent.pop(place, None)
            if place not in self._reported:
                self._transition(fault, "active")
        for place, fault in self._reported.items():
            if place not in faults:
                change = self._ended.pop(place, Change.CLEARED)
                state = FaultState.UNJUDGED if change is Change.UNJUDGED else FaultState.CLEARED
                over = replace(fault, state=state, ended=view.scene.wall, causes=fault.causes)
                self._recent[place] = (over, view.now)
                self._transition(over, state.value)
        self._reported = dict(faults)
        self._recent = {
            place: (fault, ended)
            for place, (fault, ended) in list(self._recent.items())[-MAX_RECENT:]
            if view.now - ended < SHOWN_AFTER_SECS
        }

    def _transition(self, fault: Fault, state: str) -> None:
        self._transitions[fault.rule, state] += 1
        log_transition(fault, state)

    def _statuses(self, faults: Mapping[Place, Fault], view: View) -> Iterable[tuple[Subject, str]]:
        """Yield the status of each component that has a fault or that reports to be up."""
        worst: dict[Key, str] = {}
        for (_, key), fault in faults.items():
            worst[key] = max(worst.get(key, "ok"), fault.status, key=STATUSES.index)
        for kind in self._traits.with_status:
            for entity in view.by_kind.get(kind, ()):
                if entity.fields.get("up"):
                    worst.setdefault(entity.key, "ok")
        for _, key in self._recent:
            if key in view.entities and key[0] not in self._traits.with_status:
                worst.setdefault(key, "ok")
        yield from ((self._subjects.of(key), status) for key, status in sorted(worst.items()))


def _wall(boottime: float, view: View) -> float:
    """Return a boot time as seconds since the epoch."""
    return round(view.scene.wall - (view.scene.now - boottime), 6)
