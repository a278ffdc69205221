"""Severities that the operator of a site gives to rules, and rules that a site switches off."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from exporter.faults.rules.loader import RuleBook
from exporter.faults.rules.rule import Rule
from exporter.faults.rules.schema import Mistake
from exporter.faults.values import did_you_mean
from exporter.model.verdict import STATUS_OF_SEVERITY

CONFIGURATION = "configuration"


def for_site(
    book: RuleBook,
    severities: Mapping[str, str],
    off: Iterable[str],
    names_of_all: Callable[[], Iterable[str]],
) -> RuleBook:
    """Return the book with the severities of the site and without the rules that are off.

    A rule with a severity of the site is never escalated. `names_of_all` returns the names of
    all rules, also of those of collectors that are switched off: no mistakes either.
    """
    off = frozenset(off)
    known = {rule.id for rule in book.rules}
    if not off.union(severities) <= known:
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
    return replace(book, rules=rules, mistakes=(*book.mistakes, *mistakes))


def _with(rule: Rule, severity: str) -> Rule:
    if not severity:
        return rule
    has_usual_status = rule.status == STATUS_OF_SEVERITY[rule.severity]
    status = STATUS_OF_SEVERITY[severity] if has_usual_status else rule.status
    return replace(rule, severity=severity, escalate=None, status=status)
