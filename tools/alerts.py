"""What is generated from the alert rules: their page, and the PrometheusRule for Kubernetes."""

import re
import textwrap
from pathlib import Path
from typing import Any

import yaml

from exporter.exposition import FAMILIES, LIVE_FAMILIES
from tools.dashboards.document import to_json
from tools.dashboards.pages import DASHBOARDS

RULES = Path(__file__).resolve().parent.parent / "deploy/prometheus"


def _groups(name: str) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load((RULES / name).read_text("utf-8"))["groups"]
    return groups


def alerts_page() -> str:
    """`docs/alerts.md`: every alert, when it fires, and what to do."""
    lines = [
        "# Alerts",
        "",
        "Generated from `deploy/prometheus/alerts.yml`, which needs `recording.yml` beside it.",
        "Severities: critical wants somebody now, warning today, info only when looked for.",
        "The links in the alerts point here; put the address of your copy before them.",
    ]
    for group in _groups("alerts.yml"):
        lines += ["", f"## {group['name']}"]
        for rule in group["rules"]:
            lines += ["", *_paragraph(rule)]
    lines += ["", "## Families that no alert looks at", "", *_not_looked_at()]
    return "\n".join(lines) + "\n"


def _not_looked_at() -> list[str]:
    """Return the families of no alert, told apart by whether a dashboard shows them."""
    alerts = (RULES / "alerts.yml").read_text("utf-8")
    shown = "".join(map(to_json, DASHBOARDS))
    names = [family.name for family in FAMILIES] + [family.name for family in LIVE_FAMILIES]
    rest = [name for name in names if not re.search(rf"\b{name}\b", alerts)]
    on_dashboards = [f"`{name}`" for name in rest if re.search(rf"\b{name}\b", shown)]
    nowhere = [f"`{name}`" for name in rest if not re.search(rf"\b{name}\b", shown)]
    return [
        f"On a dashboard: {', '.join(on_dashboards)}.",
        "",
        f"For queries of your own: {', '.join(nowhere)}.",
    ]


def _paragraph(rule: dict[str, Any]) -> list[str]:
    texts = rule["annotations"]
    wait = f" for {rule['for']}" if "for" in rule else ""
    return [
        f"### {rule['alert']}",
        "",
        f"{rule['labels']['severity'].capitalize()}: *{texts['summary']}*.",
        texts["description"],
        f"Fires when this holds{wait}:",
        "",
        "```promql",
        rule["expr"],
        "```",
    ]


def prometheus_rule() -> str:
    """Return the component's PrometheusRule: the same rules for the Prometheus operator."""
    head = textwrap.dedent("""\
        # Generated from deploy/prometheus by `make docs`.
        apiVersion: monitoring.coreos.com/v1
        kind: PrometheusRule
        metadata:
          name: hw-exporter
          namespace: hw-exporter
          labels:
            app.kubernetes.io/name: hw-exporter
        spec:
          groups:
        """)
    bodies = [
        text.split("groups:\n", 1)[1]
        for text in ((RULES / name).read_text("utf-8") for name in ("recording.yml", "alerts.yml"))
    ]
    return head + textwrap.indent("".join(bodies), "  ")
