"""Applies the severities that a site gives to rules and codes of events, and removes others."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from exporter.faults.rules.loader import RuleBook
from exporter.faults.rules.rule import Rule
from exporter.faults.rules.schema import Mistake
from exporter.faults.values import did_you_mean
from exporter.model.event import Event
from exporter.model.verdict import SEVERITIES, STATUS_OF_SEVERITY
from exporter.record import replace

CONFIGURATION = "configuration"
OFF = "off"
SEVERITY_FIELD = "severity_of_site"
"""The field of an event with the severity that the site gives to the event's code."""


def for_site(
    book: RuleBook,
    severities: Mapping[str, str],
    off: Iterable[str],
    names_of_all: Callable[[], Iterable[str]],
) -> RuleBook:
    """Return the book with the severities of the site and without the rules that are off.

    A rule with a severity of the site is never escalated. `names_of_all` returns the names of all
    rules, with those of disabled collectors, and of all codes of events (kind, `_` and code): names
    that are no mistakes either.
    """
    off = frozenset(off)
    known = {rule.id for rule in book.rules}
    of_events = {**severities, **dict.fromkeys(off, OFF)}
    for name in known:
        of_events.pop(name, None)
    if of_events:
        known.update(names_of_all())
    mistakes = [
        Mistake(
            CONFIGURATION, f"there is no rule {name[:80]!r}; {did_you_mean(name, known)}", key=key
        )
        for key, names in (("faults.severity", severities), ("faults.off", off))
        for name in sorted(names)
        if name not in known
    ]
    rules = tuple(
        _with(rule, severities.get(rule.id, "")) for rule in book.rules if rule.id not in off
    )
    of_events = {name: severity for name, severity in of_events.items() if name in known}
    return replace(
        book,
        rules=rules,
        mistakes=(*book.mistakes, *mistakes),
        of_events=MappingProxyType(of_events),
    )


def _with(rule: Rule, severity: str) -> Rule:
    if not severity:
        return rule
    has_usual_status = rule.status == STATUS_OF_SEVERITY[rule.severity]
    status = STATUS_OF_SEVERITY[severity] if has_usual_status else rule.status
    return replace(rule, severity=severity, escalate=None, status=status)


def event_for_site(event: Event, of_events: Mapping[str, str]) -> Event | None:
    """Return the event with the site's severity for its code; None if the code is off.

    `of_events` has severities, or OFF, by the kind, `_` and the code.
    """
    severity = of_events.get(f"{event.kind}_{event.fields.get('code', '')}", "")
    if severity == OFF:
        return None
    if severity == event.fields.get(SEVERITY_FIELD, ""):
        return event
    fields = {name: value for name, value in event.fields.items() if name != SEVERITY_FIELD}
    if severity:
        fields[SEVERITY_FIELD] = severity
    return replace(event, fields=MappingProxyType(fields))


def severity_of(events: Iterable[Event]) -> str:
    """Return the highest severity of the site for events; empty if one of them has none."""
    given = {event.fields.get(SEVERITY_FIELD, "") for event in events}
    if not given or "" in given:
        return ""
    return min(given, key=SEVERITIES.index)
