"""Alert documents: their page, and files for the Prometheus operator and Grafana."""

import re
import textwrap
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import Any

import yaml

from exporter.collectors.everything import rule_book
from tools.alerting.links import PODS
from tools.alerting.rules import (
    CLUSTER,
    Alert,
    alerts_by_hand,
    alerts_file,
    all_alerts,
    as_yaml,
    fault_alerts,
)
from tools.tables import row, with_tables

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
LABELS = ("app.kubernetes.io/name", "hw-exporter")


def alerts_page() -> str:
    """Return `docs/alerts.md` with the table of the alerts of rules, and the others behind it."""
    text = with_tables("docs/alerts.md", {"## Alerts of rules": map(_row, fault_alerts())})
    heading = "## Alerts for what rules cannot detect\n"
    lines = [line for alert in alerts_by_hand() for line in ("", *_paragraph(alert))]
    return text.partition(heading)[0] + heading + "\n".join(lines) + "\n"


def _row(alert: Alert) -> str:
    text = _plain(alert.summary.removeprefix("{{ $labels.node }}: "))
    severity = _severities().get(alert.rule, "that of the fault")
    page = _pages().get(alert.rule, "faults.md#where-rules-come-from")
    name = f"[{alert.name}]({page})" if alert.rule else alert.name
    return row(name, severity, text, alert.wait or "no")


def _severities() -> dict[str, str]:
    return {
        rule.id: f"{rule.severity} or {rule.escalate_to}" if rule.escalate else rule.severity
        for rule in rule_book().rules
    }


def _pages() -> dict[str, str]:
    """Return the runbook of each rule, as a link from `docs/`."""
    return {
        rule.id: f"runbooks/{Path(rule.file).stem}.md#{rule.runbook}" for rule in rule_book().rules
    }


def _plain(text: str) -> str:
    """Replace the variables of a template by their names, in capitals within code."""
    parts = text.removeprefix(CLUSTER).split("`")
    named = (
        _VARIABLE.sub(lambda it: it[1].upper(), part) if is_code else _VARIABLE.sub(r"`\1`", part)
        for part, is_code in zip(parts, cycle((False, True)), strict=False)
    )
    return "`".join(named)


_VARIABLE = re.compile(r"\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}")


def _paragraph(alert: Alert) -> list[str]:
    wait = f" for {alert.wait}" if alert.wait else ""
    return [
        f"### {alert.name}",
        "",
        f"{alert.severity.capitalize()}: *{_plain(alert.summary)}*.",
        _plain(alert.description),
        f"Why this is not a rule: {alert.reason[0].lower()}{alert.reason[1:]}",
        f"Fires if this is true{wait}:",
        "",
        "```promql",
        alert.expr,
        "```",
    ]


def runbooks_page() -> str:
    """Return `docs/runbooks/alerts.md`: what to do about alerts without a rule."""
    sections = (
        f"\n## {alert.name}\n\n{_words(_subject(alert) + alert.description)}\n"
        for alert in alerts_by_hand()
    )
    return "# Runbook: alerts without a rule\n" + "".join(sections)


def _subject(alert: Alert) -> str:
    """Return the summary as a sentence, without the node."""
    text = alert.summary.removeprefix("{{ $labels.node }}: ").removeprefix(CLUSTER)
    return f"{text[0].upper()}{text[1:]}. "


def _words(text: str) -> str:
    """Write the variables of a template in capitals, as in runbooks, and one sentence per line."""
    named = _VARIABLE.sub(lambda it: it[1].upper(), text)
    return re.sub(r"(?<=[.`]) (?=[A-Z])", "\n", named)


NODE_LEVELS = re.compile(r"(node|node_gpu|node_pod|node_workload|instance):")
"""The levels of recorded series that need the families of each node."""


ACROSS_NODES = ("hw-faults-recording", "hw-cluster-recording", "hw-clusters")


def clusters_file() -> str:
    """Return `deploy/prometheus/clusters.yml`: what a Prometheus above several others evaluates."""
    files = ((DEPLOY / "prometheus/recording.yml").read_text("utf-8"), alerts_file())
    groups = [group for text in files for group in yaml.safe_load(text)["groups"]]
    chosen = [
        {
            "name": group["name"],
            "rules": [it for it in group["rules"] if not NODE_LEVELS.match(it.get("record", ""))],
        }
        for group in groups
        if group["name"] in ACROSS_NODES
    ]
    head = (
        "# Generated from recording.yml and alerts.yml by `make docs`: the rules across nodes,\n"
        "# for a Prometheus that takes the recorded series of the nodes from others (above.yml).\n"
    )
    return f"{head}{as_yaml({'groups': chosen})}"


OF_NODES = re.compile(r"hw-(node|cpu|memory|filesystem|raid|storage|infiniband|network|pcie)")
GROUP = re.compile(r"(?:^  #.*\n)*^  - name: (.*)\n(?:(?!  #|  - name: ).*\n)*", re.MULTILINE)
"""A group of rules with the comment before it."""


def _object_of(group: str) -> str:
    """Return the name of the PrometheusRule with this group.

    `kubectl apply` keeps each object in one annotation, and all rules are longer than one may be.
    """
    if group.startswith("hw-gpu-"):
        return "hw-exporter-gpu"
    return "hw-exporter-node" if OF_NODES.fullmatch(group) else "hw-exporter"


def prometheus_rule() -> str:
    """Return the PrometheusRules of the component: the same rules for the Prometheus operator."""
    head = textwrap.dedent("""\
        apiVersion: monitoring.coreos.com/v1
        kind: PrometheusRule
        metadata:
          name: {name}
          namespace: hw-exporter
          labels:
            app.kubernetes.io/name: hw-exporter
        spec:
          groups:
        """)
    recording = (DEPLOY / "prometheus/recording.yml").read_text("utf-8")
    bodies = [text.split("groups:\n", 1)[1] for text in (recording, alerts_file(PODS))]
    objects: dict[str, str] = {}
    for group in GROUP.finditer("".join(bodies)):
        name = _object_of(group[1])
        objects[name] = objects.get(name, head.format(name=name)) + textwrap.indent(group[0], "  ")
    return "# Generated from deploy/prometheus by `make docs`.\n" + "---\n".join(objects.values())


def _example() -> dict[str, Any]:
    """Return the Alertmanager example."""
    text = (DEPLOY / "prometheus/alertmanager.yml").read_text("utf-8")
    example: dict[str, Any] = yaml.safe_load(text)
    return example


def alertmanager_config() -> str:
    """Return the same route for the Prometheus operator; users add their own receivers."""
    example = _example()
    route = example["route"]
    document = {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "AlertmanagerConfig",
        "metadata": {
            "name": "hw-exporter",
            "namespace": "hw-exporter",
            "labels": dict([LABELS]),
        },
        "spec": {
            "route": {
                "receiver": route["receiver"],
                "groupBy": route["group_by"],
                "groupWait": route["group_wait"],
                "groupInterval": route["group_interval"],
                "repeatInterval": route["repeat_interval"],
                "matchers": _matchers(['alertname =~ "Hw.+"']),
                "routes": [
                    {"receiver": each["receiver"], "matchers": _matchers(each["matchers"])}
                    for each in route["routes"]
                ],
            },
            "inhibitRules": [
                {
                    "sourceMatch": _matchers(each["source_matchers"]),
                    "targetMatch": _matchers(each["target_matchers"]),
                    "equal": each["equal"],
                }
                for each in example["inhibit_rules"]
            ],
            "receivers": [{"name": each["name"]} for each in example["receivers"]],
        },
    }
    head = (
        "# Generated from deploy/prometheus/alertmanager.yml by `make docs`; add your own\n"
        "# receiver to `on-call` with a patch. The operator limits it to alerts with the\n"
        "# namespace of this object, unless Alertmanager's alertmanagerConfigMatcherStrategy\n"
        "# has the type None.\n"
    )
    return head + yaml.safe_dump(document, sort_keys=False)


def _matchers(texts: Iterable[str]) -> list[dict[str, str]]:
    """Write matchers as the Prometheus operator has them.

    A plain `=` has a special meaning in YAML 1.1, so a regular expression is used instead.
    """
    return [
        {"name": name, "matchType": "=~" if sign == "=" else sign, "value": value}
        for name, sign, value in (_MATCHER.findall(text)[0] for text in texts)
    ]


_MATCHER = re.compile(r'(\w+) *(=~|!~|!=|=) *"([^"]*)"')


def grafana_alerting() -> str:
    """Return the alerts as provisioned Grafana alert rules, with the data source `prometheus`."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for alert in all_alerts():
        groups.setdefault(alert.group, []).append(_grafana_rule(alert))
    document = {
        "apiVersion": 1,
        "groups": [
            {"orgId": 1, "name": name, "folder": "Hardware", "interval": "30s", "rules": rules}
            for name, rules in groups.items()
        ],
    }
    head = (
        "# Generated by `make docs`, for Grafana-managed alerting in place of Prometheus' own.\n"
        "# The data source has the uid `prometheus`.\n"
    )
    return head + yaml.safe_dump(document, sort_keys=False, width=1000)


def _grafana_rule(alert: Alert) -> dict[str, Any]:
    """Return one rule; Grafana treats zero as OK, so a second step checks that a value exists."""
    asks = {"refId": "A", "expr": alert.expr, "instant": True}
    is_there = {
        "refId": "B",
        "type": "threshold",
        "expression": "A",
        "conditions": [{"evaluator": {"type": "gt", "params": [-1]}}],
    }
    return {
        "uid": re.sub(r"(?<!^)(?=[A-Z])", "-", alert.name).lower()[:40],
        "title": alert.name,
        "condition": "B",
        "data": [
            {
                "refId": model["refId"],
                "relativeTimeRange": {"from": 600, "to": 0},
                "datasourceUid": source,
                "model": model,
            }
            for model, source in ((asks, "prometheus"), (is_there, "__expr__"))
        ],
        "noDataState": "OK",
        "execErrState": "KeepLast",
        "for": alert.wait or "0s",
        **({"keepFiringFor": alert.kept} if alert.kept else {}),
        "labels": {"severity": _for_grafana(alert.severity)},
        "annotations": {
            "summary": _for_grafana(alert.summary),
            "description": _for_grafana(f"{alert.description} {alert.evidence}".strip()),
            "runbook_url": _for_grafana(alert.runbook),
            **ON_DASHBOARD,
        },
    }


def _for_grafana(text: str) -> str:
    """Write labels and value without a dollar sign.

    In files that Grafana provisions, a dollar sign starts the name of an environment variable.
    """
    return text.replace("$labels.", ".Labels.").replace("$value", ".Values.A.Value")


ON_DASHBOARD = {"__dashboardUid__": "hw-faults", "__panelId__": "2"}
"""The panel that Grafana links from an alert: the table of root causes."""
