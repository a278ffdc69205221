"""Generates the alerts: one for each fault rule, and the manually written ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from exporter.collectors.everything import rule_book
from exporter.faults.rules.rule import Rule
from tools.alerting.links import HOSTS, Place
from tools.alerting.sentences import advice, sentence, small

FOLDER = Path(__file__).parent
BY_HAND = {"hw-by-hand": FOLDER / "by_hand.yml", "hw-clusters": FOLDER / "clusters.yml"}
SETTLING_SECS, MOST_SECS = 15, 30
"""How long an alert waits for the cause of a fault: with more it would come after 90 seconds."""

NODE = "{{ $labels.node }}: "
ON_FAULT = "on (cluster, node, fault, hw_type, hw_id)"
"""Nodes of different clusters may have the same name."""

NOT_SILENCED = f"unless {ON_FAULT} hw_fault_silenced"
KEPT = "5m"
"""How long an alert stays active without its series: a missed scrape is no recovery."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One Prometheus alert; `reason` says why it is not generated from a rule.

    `evidence` says where to read more; an alert with it is told by the text of its incident.
    """

    name: str
    expr: str
    wait: str
    severity: str
    summary: str
    description: str
    runbook: str
    group: str
    evidence: str = ""
    kept: str = ""
    reason: str = ""
    rule: str = ""


def alert_name(rule: str) -> str:
    """Name the alert of a fault rule."""
    return "Hw" + "".join(part.capitalize() for part in rule.split("_"))


def fault_alerts(place: Place = HOSTS) -> Iterator[Alert]:
    """Yield the alert of each built-in rule: it fires for a fault that no other fault explains."""
    rules = {rule.id: rule for rule in rule_book().rules}
    for rule in rules.values():
        yield Alert(
            name=alert_name(rule.id),
            expr=(
                f'hw_fault_active{{fault="{rule.id}"}} == 1\n'
                f'and {ON_FAULT} hw_incident_info{{fault="{rule.id}"}}\n'
                f"{NOT_SILENCED}"
            ),
            wait=f"{secs:.0f}s" if (secs := wait_secs(rule, rules)) else "",
            severity="{{ $labels.severity }}",
            summary=f"{NODE}{small(sentence(rule))}",
            description=advice(rule),
            evidence=_more(place),
            runbook=place.runbook(rule.id),
            group=f"hw-{Path(rule.file).stem.replace('_', '-')}",
            kept=KEPT,
            rule=rule.id,
        )
    yield _other_rules(place)


def wait_secs(rule: Rule, rules: Mapping[str, Rule]) -> float:
    """Return for how many seconds an alert waits for a cause that shows later than its effect.

    A cause shows later if its rule waits longer, or if the effect may begin `ahead` of it. One
    that takes much longer is not awaited. A fault that nodes may have by a common cause waits until
    all of them are scraped: then the alert about the cause inhibits it.
    """
    least = MOST_SECS if rule.id in _together() else 0.0
    if not rule.explained_by:
        return least
    causes = [each for each in rule.explained_by if not each.is_weak]
    shipped = [rules[each.rule] for each in causes if each.rule in rules]
    later = [cause.for_secs - rule.for_secs for cause in shipped]
    ahead = [each.ahead_secs for each in causes]
    needed = SETTLING_SECS + max([0.0, *(secs for secs in later if secs <= MOST_SECS), *ahead])
    return max(least, min(MOST_SECS, needed))


@cache
def _together() -> frozenset[str]:
    """Return the faults of which alerts across nodes are made."""
    entries = yaml.safe_load(BY_HAND["hw-clusters"].read_text("utf-8"))
    return frozenset(
        fault for entry in entries for fault in entry.get("together", {}).get("faults", ())
    )


def _incident_text(label: str, otherwise: str) -> str:
    """Return the text of the incident, which is no label of the alert: it may change meanwhile.

    `otherwise` stands there when the series has gone, while the alert is still kept.
    """
    asked = (
        "printf `hw_incident_info{cluster=%q,node=%q,fault=%q,hw_type=%q,hw_id=%q}`"
        " $labels.cluster $labels.node $labels.fault $labels.hw_type $labels.hw_id | query"
    )
    text = f"{{{{ with {asked} }}}}{{{{ . | first | label `{label}` }}}}"
    return f"{text}{{{{ else }}}}{otherwise}{{{{ end }}}}"


def _more(place: Place) -> str:
    return f"Evidence and consequences: {place.evidence}"


def _other_rules(place: Place) -> Alert:
    """Alert on faults of custom rules: they have no alert of their own."""
    shipped = "|".join(rule.id for rule in rule_book().rules)
    return Alert(
        name="HwCustomFault",
        expr=(
            f'hw_fault_active{{fault!~"{shipped}"}} == 1\n'
            f"and {ON_FAULT} hw_incident_info\n"
            f"{NOT_SILENCED}"
        ),
        wait=f"{SETTLING_SECS}s",
        severity="{{ $labels.severity }}",
        summary=f"{NODE}{{{{ $labels.fault }}}} of {{{{ $labels.hw_name }}}}",
        description="A custom rule from faults.rules_dirs is active.",
        evidence=_more(place),
        runbook=place.runbook("{{ $labels.fault }}"),
        group="hw-custom",
        kept=KEPT,
    )


def alerts_by_hand(place: Place = HOSTS) -> Iterator[Alert]:
    """Yield the alerts for what rules cannot detect: on one node, and across nodes."""
    for group, file in BY_HAND.items():
        is_of_cluster = group == "hw-clusters"
        for entry in yaml.safe_load(file.read_text("utf-8")):
            is_gone = is_of_cluster or entry.get("elsewhere", False)
            together = entry.get("together")
            yield Alert(
                name=entry["alert"],
                expr=_began_together(entry["alert"], together) if together else entry["expr"],
                wait=entry.get("for", ""),
                severity=entry["severity"],
                summary=f"{CLUSTER if is_of_cluster else ''}{entry['summary']}",
                description=entry["description"],
                runbook=place.runbook(entry["alert"], is_exporter_up=not is_gone),
                group=group,
                reason=entry["why"],
            )


CLUSTER = (
    "{{ with $labels.cluster }}{{ . }}: {{ end }}{{ with $labels.rack }}rack {{ . }}: {{ end }}"
)
LEAST_NODES = 3


def _began_together(name: str, what: Mapping[str, Any]) -> str:
    """Return the expression for faults that began on several nodes together and last on as many."""
    faults = "|".join(what.get("faults", ()))
    since = what.get("since") or (
        f'min by (cluster, rack, node) (hw_fault_since_timestamp_seconds{{fault=~"{faults}"}}'
        f" {NOT_SILENCED})"
    )
    began = f'max by (cluster, rack) (ALERTS_FOR_STATE{{alertname="{name}"}})'
    return (
        f"count by (cluster, rack) (\n  time() - {since} < {what['secs']}\n) >= {LEAST_NODES}\n"
        "or\ncount by (cluster, rack) (\n"
        f"  abs({since} - on (cluster, rack) group_left () {began}) < {what['secs']}\n"
        f") >= {LEAST_NODES}"
    )


def all_alerts(place: Place = HOSTS) -> tuple[Alert, ...]:
    """Return every alert, those of rules first."""
    return (*fault_alerts(place), *alerts_by_hand(place))


def alerts_file(place: Place = HOSTS) -> str:
    """Write `deploy/prometheus/alerts.yml`."""
    groups: dict[str, list[dict[str, object]]] = {}
    for alert in all_alerts(place):
        groups.setdefault(alert.group, []).append(_entry(alert))
    document = {"groups": [{"name": name, "rules": rules} for name, rules in groups.items()]}
    return f"{HEAD}{as_yaml(document)}"


def as_yaml(document: Mapping[str, object]) -> str:
    """Return the document as YAML, with expressions as they are written by hand."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)


HEAD = """\
# Generated by `make docs` from the fault rules and tools/alerting/by_hand.yml.
# One alert per rule; it fires for root causes only, so that an incident is
# one alert. Severities: critical (act now), warning (act today), info (no notification).
"""


def _entry(alert: Alert) -> dict[str, object]:
    entry: dict[str, object] = {"alert": alert.name, "expr": alert.expr}
    if alert.wait:
        entry["for"] = alert.wait
    if alert.kept:
        entry["keep_firing_for"] = alert.kept
    entry["labels"] = {"severity": alert.severity}
    entry["annotations"] = {
        **_texts(alert),
        "runbook_url": alert.runbook,
    }
    return entry


def _texts(alert: Alert) -> dict[str, str]:
    if not alert.evidence:
        return {"summary": alert.summary, "description": alert.description}
    summary = _incident_text("summary", alert.summary.removeprefix(NODE))
    return {
        "summary": f"{NODE}{summary}",
        "description": f"{_incident_text('details', alert.description)} {alert.evidence}",
    }


class _Dumper(yaml.SafeDumper):
    """Writes longer expressions as blocks, and indents lists."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the library's signature
        """Indent the items of lists too."""
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else ('"' if "{{" in text or '"' in text else None)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
