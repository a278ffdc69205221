"""Writes the alerts: one for each fault rule, and those that are written by hand."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from exporter.faults.engine import rule_book
from exporter.faults.rules.rule import Rule
from exporter.faults.rules.templates import Template

BY_HAND = Path(__file__).parent / "by_hand.yml"
EXPORTER = "http://{{ $labels.instance }}"
RUNBOOKS = os.environ.get("RUNBOOKS", f"{EXPORTER}/runbooks").rstrip("/")
"""Where runbooks are read: the exporter's own address, or what `make docs RUNBOOKS=` names."""

SETTLING = "15s"
"""How long a fault that others can explain waits for its cause to be judged."""

KEPT = "5m"
"""How long an alert goes on without its series: a restart or a missed scrape is no recovery."""

SENTENCES = {
    "clocksource_unstable": "the kernel gave up its clock source: reading the time is slow now",
    "disk_link_errors": "a SATA link fails commands and is reset",
    "gpu_xid_critical": "{name} reported an Xid after which it needs a reset",
    "gpu_xid_warning": "{name} reported an Xid",
    "gpu_unknown_xid": "{name} reported an Xid that this version does not know",
    "machine_check_corrected_rate": "Processor {name} has many corrected machine checks",
    "nvswitch_fatal": "NVSwitch {name} reported a fatal error (SXid)",
    "nvswitch_warning": "NVSwitch {name} reported an error (SXid)",
    "ib_port_rate_low": "Port {name} runs slower than before",
    "clock_not_synced": "The clock of {name} is not synchronized",
    "gpu_memory_orphan": "memory of {name} is held by no living process",
    "process_waits_for_storage": "{name} is in uninterruptible sleep",
    "gpu_idle_allocated": "{name} is held by a workload but idle",
    "gpu_count_low": "fewer GPUs answer than the node has",
    "cpu_saturated": "the processors are fully used and tasks wait",
    "gpu_power_limit_low": "{name} has a power limit below its default",
    "oom_kill_without_log": "a process was killed for lack of memory",
    "pcie_link_down": "a PCIe link below port {name} went down",
    "memory_page_offlined": "the kernel took a page of memory out of use",
    "exporter_children_stuck": "processes of the exporter hang in the kernel",
    "hung_task": "{name} waits without interruption",
    "process_crashed": "{name} crashed by an invalid memory access",
    "process_oom_kill": "{name} was killed because its group had no memory left",
    "io_stall": "tasks wait for storage",
}
"""Sentences of rules whose own are about readings, which must not be in an alert."""

_READING = re.compile(r"\{(?!name\})[^}]*\}")
_TAIL = re.compile(
    r"\s*(?:[:;(]|, (?:last|fewer|of)|,? with|,? in bank|,? at)\s[^:;]*$|\s*\([^)]*\)"
)


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert as Prometheus is told it; `reason` says why it is written by hand."""

    name: str
    expr: str
    wait: str
    severity: str
    summary: str
    description: str
    runbook: str
    group: str
    reason: str = ""
    rule: str = ""


def alert_name(rule: str) -> str:
    """Name the alert of a fault rule."""
    return "Hw" + "".join(part.capitalize() for part in rule.split("_"))


def sentence(rule: Rule) -> str:
    """Say what is broken in the rule's own words, without readings: labels must not churn."""
    text = SENTENCES.get(rule.id) or _without_readings(_source(rule.summary))
    return text.replace("{name}", "{{ $labels.hw_name }}")


def advice(rule: Rule) -> str:
    """Say what to do, without readings."""
    text = _without_readings(_source(rule.advice))
    return text.replace("{name}", "{{ $labels.hw_name }}")


def _source(template: Template) -> str:
    """Write the template with each field in braces."""
    parts = (
        part if isinstance(part, str) else "{" + part.name.text + "}" for part in template.parts
    )
    return "".join(parts)


def _without_readings(text: str) -> str:
    """Cut what a reading stands in: a bracket, or the end behind a colon."""
    while _READING.search(text):
        shorter = _cut(text)
        if shorter == text:
            break
        text = shorter
    return re.sub(r"\s+", " ", _READING.sub("", text)).strip(" ,:;")


def _cut(text: str) -> str:
    for bracket in re.finditer(r"\s*\([^()]*\)", text):
        if _READING.search(bracket[0]):
            return text[: bracket.start()] + text[bracket.end() :]
    first = _READING.search(text)
    head = text[: first.start()] if first else text
    place = max(head.rfind(mark) for mark in (":", ";", ",", " in bank", " with", " at ", " by "))
    return text[:place] if place > 0 else text


def fault_alerts() -> Iterator[Alert]:
    """Yield the alert of each shipped rule: it fires for a fault that nothing else explains."""
    for rule in rule_book().rules:
        yield Alert(
            name=alert_name(rule.id),
            expr=(
                f'hw_fault_active{{fault="{rule.id}"}} == 1\n'
                f'and on (node, fault, hw_type, hw_id) hw_fault_root_cause{{cause="{rule.id}"}}'
            ),
            wait=SETTLING if rule.explained_by else "",
            severity="{{ $labels.severity }}",
            summary=f"{{{{ $labels.node }}}}: {_small(sentence(rule))}",
            description=f"{FOLLOWS.replace('RULE', rule.id)}{advice(rule)} {MORE}",
            runbook=f"{RUNBOOKS}/{rule.id}",
            group=f"hw-{Path(rule.file).stem.replace('_', '-')}",
            rule=rule.id,
        )
    yield _other_rules()


FOLLOWS = (
    "{{ with printf `hw_fault_since_timestamp_seconds{node=%q,fault=%q,hw_id=%q}` $labels.node"
    " $labels.fault $labels.hw_id | query }}Since {{ . | first | value | humanizeTimestamp }}."
    " {{ end }}{{ with printf `count(hw_fault_root_cause{node=%q,cause=%q,cause_hw_id=%q}) - 1 > 0`"
    " $labels.node $labels.fault $labels.hw_id | query }}Other faults that follow from it:"
    " {{ . | first | value }}. {{ end }}"
)
MORE = (
    "Evidence and everything that follows: hw-exporter why {{ $labels.hw_id }} on the node, or"
    f" {EXPORTER}/why?hw_id={{{{ $labels.hw_id | urlquery }}}}"
).replace(" | urlquery", "")


def _small(text: str) -> str:
    """Begin in lower case, unless the first word is a name or an abbreviation."""
    first = text.split(" ", 1)[0]
    plain = first.isalpha() and first[1:].islower() and first not in NAMES
    return text[0].lower() + text[1:] if plain else text


NAMES = frozenset({"Xid"})


def _other_rules() -> Alert:
    """Alert on faults of rules that somebody added: they have no alert of their own."""
    shipped = "|".join(rule.id for rule in rule_book().rules)
    return Alert(
        name="HwCustomFault",
        expr=(
            f'hw_fault_active{{fault!~"{shipped}"}} == 1\n'
            "and on (node, fault, hw_type, hw_id) label_replace(label_replace(label_replace(\n"
            "  count by (node, cause, cause_hw_type, cause_hw_id) (\n"
            f'    hw_fault_root_cause{{cause!~"{shipped}"}}\n'
            "  ),\n"
            '  "fault", "$1", "cause", "(.*)"), "hw_type", "$1", "cause_hw_type", "(.*)"),\n'
            '  "hw_id", "$1", "cause_hw_id", "(.*)")'
        ),
        wait=SETTLING,
        severity="{{ $labels.severity }}",
        summary="{{ $labels.node }}: {{ $labels.fault }} of {{ $labels.hw_name }}",
        description=f"A rule from faults.rules_dirs holds. {MORE}",
        runbook=f"{RUNBOOKS}/{{{{ $labels.fault }}}}",
        group="hw-custom",
    )


def alerts_by_hand() -> Iterator[Alert]:
    """Yield the alerts on what no rule sees."""
    for entry in yaml.safe_load(BY_HAND.read_text("utf-8")):
        yield Alert(
            name=entry["alert"],
            expr=entry["expr"],
            wait=entry.get("for", ""),
            severity=entry["severity"],
            summary=entry["summary"],
            description=entry["description"],
            runbook=f"{RUNBOOKS}/{entry['alert']}",
            group="hw-by-hand",
            reason=entry["why"],
        )


def all_alerts() -> tuple[Alert, ...]:
    """Return every alert, those of rules first."""
    return (*fault_alerts(), *alerts_by_hand())


def alerts_file(alerts: Iterable[Alert] | None = None) -> str:
    """Write `deploy/prometheus/alerts.yml`."""
    groups: dict[str, list[dict[str, object]]] = {}
    for alert in alerts if alerts is not None else all_alerts():
        groups.setdefault(alert.group, []).append(_entry(alert))
    document = {"groups": [{"name": name, "rules": rules} for name, rules in groups.items()]}
    body = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)
    return f"{HEAD}{body}"


HEAD = """\
# Generated by `make docs` from the fault rules and tools/alerting/by_hand.yml.
# One alert for each rule; it fires for faults that nothing else explains, so that an incident is
# one alert. Severities: critical (now), warning (today), info (only when looked for).
"""


def _entry(alert: Alert) -> dict[str, object]:
    entry: dict[str, object] = {"alert": alert.name, "expr": alert.expr}
    if alert.wait:
        entry["for"] = alert.wait
    if not alert.reason:
        entry["keep_firing_for"] = KEPT
    entry["labels"] = {"severity": alert.severity}
    entry["annotations"] = {
        "summary": alert.summary,
        "description": alert.description,
        "runbook_url": alert.runbook,
    }
    return entry


class _Dumper(yaml.SafeDumper):
    """Writes longer expressions as blocks, and indents lists."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the library's signature
        """Indent the items of lists too."""
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else ('"' if "{{" in text or '"' in text else None)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
