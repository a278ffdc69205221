"""Tells alerts their causes: found anew only when something that decides on causes has changed."""

from collections.abc import Mapping
from itertools import takewhile

from exporter.faults.alert_state import Alert
from exporter.faults.entities.graph import SIBLINGS
from exporter.faults.entities.naming import SubjectIndex
from exporter.faults.last_made import LastMade
from exporter.faults.observation import View
from exporter.faults.root_cause import Place, find_steps, place_of
from exporter.faults.rules.rule import Rule
from exporter.faults.siblings import Group, Siblings
from exporter.faults.standing import Step, path_to_root
from exporter.faults.values import KindTraits
from exporter.model.summary import grouped_summary
from exporter.model.verdict import PLAIN_NAMING, Cause
from exporter.record import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The groups of siblings, and the steps from each fault to its root, nearest first.

    The faults are the active ones, those made for groups, and the waiting ones. `steps` are those
    of all paths, each once.
    """

    groups: list[Group]
    paths: list[list[Step]]
    steps: list[Step]


class CauseFinder:
    """Finds which faults are the causes of which alerts, and names them."""

    def __init__(self, traits: KindTraits, subjects: SubjectIndex) -> None:
        self._traits, self._subjects = traits, subjects
        self._found: LastMade[_Found] = LastMade()
        self._causes: LastMade[list[tuple[Cause, ...]]] = LastMade()

    def find(
        self,
        active: Mapping[Place, Alert],
        waiting: Mapping[Place, Alert],
        rules: Mapping[str, Rule],
        view: View,
    ) -> dict[Place, Alert]:
        """Set the causes of these alerts; return the active ones, with those made for siblings."""
        rows = [*active.values(), *waiting.values()]
        of = (rules, view.graph, view.past_graph, [*active], [*waiting])
        found = self._found.made(
            (of, [alert.decisive for alert in rows]),
            lambda: self._find(active, waiting, rules, view),
        )
        chosen = dict(active)
        for group in found.groups:
            if group.place not in active:
                chosen[group.place] = self._parent(group, active, view.now)
        both = {**chosen, **waiting}
        for alert, causes in zip(both.values(), self._named(found, both, view)):  # noqa: B905 - as many
            alert.causes = causes
            alert.shown_since = (alert.shown_since or view.now) if alert.is_active else None
        return chosen

    def _find(
        self,
        active: Mapping[Place, Alert],
        waiting: Mapping[Place, Alert],
        rules: Mapping[str, Rule],
        view: View,
    ) -> _Found:
        """Find the causes; equal root faults of siblings get a fault of the parent as theirs."""
        steps = find_steps(active, rules, view.past_graph, waiting)
        later = [steps.pop() for _ in waiting][::-1]
        roots = {
            place: alert
            for (place, alert), step in zip(active.items(), steps, strict=True)
            if step is None and (not alert.causes or alert.causes[0].via == SIBLINGS)
        }
        index_of = {place: index for index, place in enumerate(active)}
        groups = Siblings(view.by_kind, view.graph, self._traits).groups(roots, active)
        for group in groups:
            index = index_of.get(group.place, len(steps))
            for place in group.members:
                steps[index_of[place]] = Step(index, SIBLINGS)
            if group.place not in active:
                steps.append(None)
        steps += later
        paths = [path_to_root(index, steps) for index in range(len(steps))]
        return _Found(groups, paths, [*{step for step in steps if step is not None}])

    def _parent(self, group: Group, alerts: Mapping[Place, Alert], now: float) -> Alert:
        """Return the state of the fault that stands for a group."""
        alike = [(self._subjects.of(key), alerts[rule, key].summary) for rule, key in group.members]
        naming = self._traits.namings.get(alike[0][0].hw_type, PLAIN_NAMING)
        return group.alert(alerts, now, grouped_summary(alike, naming, group.total))

    def _named(
        self, found: _Found, both: Mapping[Place, Alert], view: View
    ) -> list[tuple[Cause, ...]]:
        """Name the faults on the way from each fault to its root; ended faults come last."""
        places = [*both.items()]
        shown = []
        for step in found.steps:
            (rule, key), alert = places[step.cause]
            shown.append((rule, self._subjects.of(key), alert.summary, alert.active_since))

        def name() -> list[tuple[Cause, ...]]:
            named = {
                step: Cause(rule, subject, step.via, summary, view.scene.wall_of(since))
                for step, (rule, subject, summary, since) in zip(found.steps, shown, strict=True)
            }
            active = {place for place, alert in places if alert.is_active}
            causes = []
            now = view.scene.wall_of(view.now)  # as the times of faults are made
            for (_, alert), path in zip(places, found.paths, strict=True):
                last = (places[path[-1].cause][1] if path else alert).causes
                ended = takewhile(lambda cause: place_of(cause) not in active, last)
                over = (replace(it, ended=it.ended or now) for it in ended)
                causes.append((*[named[step] for step in path], *over))
            return causes

        return self._causes.made((found, shown, view.scene.booted_at), name)
