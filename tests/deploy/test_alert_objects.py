"""The same alerts for the Prometheus operator and for Grafana: fields that these know."""

import json
import re

from tests.fakes.manifests import KUBERNETES, ROOT, document, documents
from tools.alerting.documents import ON_DASHBOARD
from tools.alerting.rules import all_alerts

PROMETHEUS_RULES = KUBERNETES / "components/prometheus-rule/prometheus-rule.yaml"
OUR_PODS = "app.kubernetes.io/name=hw-exporter"
DURATION = re.compile(r"(0|(\d+h)?(\d+m)?(\d+s)?)")
RULE = {"alert", "annotations", "expr", "for", "keep_firing_for", "labels", "record"}
"""Of a rule in prometheusrules.monitoring.coreos.com, v1."""

ROUTE = {"receiver", "groupBy", "groupWait", "groupInterval", "repeatInterval", "matchers"}
"""Of a route in alertmanagerconfigs.monitoring.coreos.com, v1alpha1; `routes` beside them."""

GRAFANA_RULE = {
    *("uid", "title", "condition", "data", "noDataState", "execErrState", "for", "keepFiringFor"),
    *("labels", "annotations"),
}
"""Of a rule in a file that Grafana provisions."""


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def test_the_prometheus_rule_has_fields_that_the_operator_knows() -> None:
    """Groups have names of their own, rules known fields, texts and durations."""
    for item in documents(PROMETHEUS_RULES):
        assert item["apiVersion"] == "monitoring.coreos.com/v1"
        # `kubectl apply` keeps the object in an annotation; the API server's limit is 262144.
        assert len(json.dumps(item)) < 200_000
    groups = [group for item in documents(PROMETHEUS_RULES) for group in item["spec"]["groups"]]
    names = [group["name"] for group in groups]
    assert len(set(names)) == len(names)
    rules = [rule for group in groups for rule in group["rules"]]
    for rule in rules:
        assert rule.keys() <= RULE
        assert ("alert" in rule) is not ("record" in rule)
        assert all(DURATION.fullmatch(rule.get(key, "0")) for key in ("for", "keep_firing_for"))
        assert all(isinstance(text, str) for text in rule.get("annotations", {}).values())
    alerts = {rule["alert"] for rule in rules if "alert" in rule}
    assert alerts == {alert.name for alert in all_alerts()}


def test_its_links_lead_to_the_service() -> None:
    """The label instance is a node's name there, and no address."""
    groups = [group for item in documents(PROMETHEUS_RULES) for group in item["spec"]["groups"]]
    for rule in (rule for group in groups for rule in group["rules"]):
        url = rule.get("annotations", {}).get("runbook_url", "http://hw-exporter.")
        assert url.startswith("http://hw-exporter.")
        assert not any("http://{{ $labels.instance" in text for text in _texts(rule))
        for text in _texts(rule):  # other pods of the node may be in the namespace of the chart
            assert text.count(" get pod -o name") == text.count(f" -l {OUR_PODS} ")


def test_the_alertmanager_config_has_fields_that_the_operator_knows() -> None:
    """Route, inhibitions and receivers of the example, in the operator's words."""
    spec = document(KUBERNETES / "components/alertmanager-config/alertmanager-config.yaml")["spec"]
    assert spec.keys() == {"route", "inhibitRules", "receivers"}
    assert spec["route"].keys() == {*ROUTE, "routes"}
    matchers = [
        it for route in (spec["route"], *spec["route"]["routes"]) for it in route["matchers"]
    ]
    for rule in spec["inhibitRules"]:
        assert rule.keys() == {"sourceMatch", "targetMatch", "equal"}
        matchers += [*rule["sourceMatch"], *rule["targetMatch"]]
    assert all(it.keys() == {"name", "matchType", "value"} for it in matchers)
    assert {it["matchType"] for it in matchers} <= {"=~", "!~", "!="}
    example = document(ROOT / "deploy/prometheus/alertmanager.yml")
    assert len(spec["inhibitRules"]) == len(example["inhibit_rules"])
    known = {receiver["name"] for receiver in spec["receivers"]}
    assert {route["receiver"] for route in (spec["route"], *spec["route"]["routes"])} <= known


def test_grafana_knows_the_fields_and_takes_nothing_for_its_environment() -> None:
    """A rule each, with ids that Grafana takes; a dollar would name an environment variable."""
    provisioned = document(ROOT / "deploy/grafana/provisioning/alerting/hw-exporter.yml")
    rules = [rule for group in provisioned["groups"] for rule in group["rules"]]
    assert {rule["title"] for rule in rules} == {alert.name for alert in all_alerts()}
    uids = [rule["uid"] for rule in rules]
    assert len(set(uids)) == len(uids)
    assert all(re.fullmatch(r"[a-z0-9_-]{1,40}", uid) for uid in uids)
    for rule in rules:
        assert rule.keys() <= GRAFANA_RULE
        assert rule["condition"] in {step["refId"] for step in rule["data"]}
        assert all(DURATION.fullmatch(rule.get(key, "0")) for key in ("for", "keepFiringFor"))
        assert rule["annotations"]["__dashboardUid__"] == "hw-faults"
        texts = [*_texts(rule["labels"]), *_texts(rule["annotations"])]
        assert not [text for text in texts if "$" in text.replace("$(kubectl", "")]


def test_grafana_leads_from_an_alert_to_the_root_causes() -> None:
    """The panel that is named is the table of root causes."""
    page = document(ROOT / "dashboards/hw-faults.json")
    (panel,) = (it for it in page["panels"] if str(it["id"]) == ON_DASHBOARD["__panelId__"])
    assert (page["uid"], panel["title"]) == (ON_DASHBOARD["__dashboardUid__"], "Root causes")
