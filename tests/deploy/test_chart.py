"""The Helm chart says what kustomize says, object by object, and refuses wrong values."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from exporter.toml import tomllib
from tests.deploy.test_kubernetes import FOREIGN_GROUPS, MINORS
from tests.fakes import helm, manifests
from tests.fakes.manifests import KUBERNETES, Manifest, container_of, rendered_with, the

pytestmark = [
    pytest.mark.skipif(helm.why_not() is not None, reason=f"chart: {helm.why_not()}"),
    pytest.mark.skipif(manifests.why_not() is not None, reason=f"chart: {manifests.why_not()}"),
]

NAMESPACE: dict[str, Any] = {"namespace": {"create": True}}
ON: dict[str, Any] = {"enabled": True}
MINIMAL: dict[str, Any] = {"profile": "minimal"}
OLDEST = "1.25.0"
CASES = tomllib.loads(Path(__file__).with_name("chart.toml").read_text("utf-8"))
PAIRS: dict[str, dict[str, Any]] = CASES["pairs"]


def _alike(objects: list[Manifest]) -> dict[tuple[str, str], Manifest]:
    """Objects by kind and name, without the hash of the configuration that each way keeps."""
    alike = {}
    for item in copy.deepcopy(objects):
        if item["kind"] == "ConfigMap" and "config.toml" in item["data"]:
            item["metadata"]["name"] = "config"
            item["metadata"]["labels"].pop("app.kubernetes.io/component", None)
            item["data"]["config.toml"] = item["data"]["config.toml"].rstrip()
        if item["kind"] == "DaemonSet":
            _without_hash(item["spec"]["template"])
        alike[item["kind"], item["metadata"]["name"]] = item
    return alike


def _without_hash(template: Manifest) -> None:
    template["metadata"].setdefault("annotations", {}).pop("checksum/config", None)
    pod, (container,) = template["spec"], template["spec"]["containers"]
    for volume in pod["volumes"]:
        if "configMap" in volume:
            volume["configMap"]["name"] = "config"
    pod["volumes"].sort(key=lambda volume: str(volume["name"]))
    container["volumeMounts"].sort(key=lambda mount: str(mount["name"]))
    container["env"].sort(key=lambda variable: str(variable["name"]))


def test_every_component_has_a_value() -> None:
    """Each profile and each component of kustomize is in the table."""
    there = {path.name for path in (KUBERNETES / "components").iterdir()}
    assert {name for pair in PAIRS.values() for name in pair["components"]} == there
    profiles = {path.name for path in (KUBERNETES / "overlays").iterdir()}
    assert {pair["profile"] for pair in PAIRS.values()} == profiles


@pytest.mark.parametrize("name", PAIRS)
def test_the_chart_says_what_kustomize_says(name: str, tmp_path: Path) -> None:
    """Values and components make the same objects, field by field."""
    pair = PAIRS[name]
    theirs = _alike(helm.rendered(**pair["values"], **NAMESPACE))
    ours = _alike(rendered_with(pair["components"], f"overlays/{pair['profile']}", tmp_path))
    assert theirs.keys() == ours.keys()
    for key, item in ours.items():
        assert theirs[key] == item, key


def test_the_defaults_leave_the_namespace_to_the_user() -> None:
    """Without values, everything that the top folder installs but the namespace."""
    ours = _alike(manifests.rendered(KUBERNETES))
    del ours["Namespace", "hw-exporter"]
    assert _alike(helm.rendered()) == ours


def test_runbooks_can_lie_elsewhere() -> None:
    """One value moves the runbooks of all alerts, and nothing but them."""
    there: dict[str, Any] = {
        "prometheusRule": {"enabled": True, "runbooks": "https://runbooks.example/hw"}
    }
    urls = [
        alert["annotations"]["runbook_url"]
        for rule in helm.rendered(**there)
        if rule["kind"] == "PrometheusRule"
        for group in rule["spec"]["groups"]
        for alert in group["rules"]
        if "alert" in alert
    ]
    assert len(urls) > 100
    assert all(url.startswith("https://runbooks.example/hw/") for url in urls)


def test_links_lead_to_the_port_of_this_release() -> None:
    """With TLS the port speaks nothing else, so links in alerts and dashboards are HTTPS."""
    objects = helm.rendered(place="gpu", tls=ON, prometheusRule=ON, dashboards=ON)
    links = re.findall(r"\w+://hw-exporter[.:a-z0-9]+", str(objects))
    assert len(links) > 200
    assert set(links) == {"https://hw-exporter.gpu.svc:8080"}


@pytest.mark.parametrize(
    ("values", "command"),
    [
        ({}, "curl 'http://localhost:8080/why?format=text'"),
        ({"tls": ON}, "curl --insecure 'https://localhost:8080/why?format=text'"),
        (
            {"auth": {"bearerTokenSecret": "login"}},
            """curl -H "Authorization: Bearer $TOKEN" 'http://localhost:8080/why?format=text'""",
        ),
    ],
)
def test_the_first_command_reaches_the_port(
    values: dict[str, Any], command: str, tmp_path: Path
) -> None:
    """What the installation prints is the scheme and the login of this release."""
    assert f"  {command}" in helm.notes(tmp_path, **values).splitlines()


def test_both_daemonsets_keep_the_affinity_of_the_user() -> None:
    """With a runtime class no node gets the pods of both, whatever nodes the user excludes."""
    machine = {"key": "type", "operator": "NotIn", "values": ["virtual-kubelet"]}
    terms = [{"matchExpressions": [machine]}, {"matchFields": []}]
    needed = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"nodeAffinity": {needed: {"nodeSelectorTerms": terms}}, "podAffinity": {}}
    sets = helm.rendered(runtimeClass=ON, affinity=affinity)
    for item in (it for it in sets if it["kind"] == "DaemonSet"):
        is_gpu = item["metadata"]["name"] == "hw-exporter-gpu"
        ours = {"key": "nvidia.com/gpu.present", "values": ["true"]}
        ours["operator"] = "In" if is_gpu else "NotIn"
        both = [
            {"matchExpressions": [machine, ours]},
            {"matchFields": [], "matchExpressions": [ours]},
        ]
        assert item["spec"]["template"]["spec"]["affinity"] == {
            "nodeAffinity": {needed: {"nodeSelectorTerms": both}},
            "podAffinity": {},
        }


def _everything() -> dict[str, Any]:
    """All values that may be set together; names of digits are names too."""
    values: dict[str, Any] = {}
    for name, pair in PAIRS.items():
        if name not in {"network-policy", "scrape-annotations", "service-monitor"}:
            values |= pair["values"]
    return values | {
        "profile": "standard",
        "nodeConditions": {"enabled": True, "events": True, "labels": True},
        "extraLabels": {"team": "hardware", "app.kubernetes.io/component": "monitoring"},
        "podMonitor": {"enabled": True, "labels": {"team": "monitoring"}},
        "priorityClassName": "1",
        "runtimeClass": {"enabled": True, "name": "2"},
        "tls": {"enabled": True, "secretName": "3"},
        "auth": {"bearerTokenSecret": "4", "bearerTokenKey": "5"},
        "image": {"tag": "0.1.0@sha256:0123", "pullSecrets": [{"name": "registry"}]},
        "env": [{"name": "APP__METRICS__COLLECT_INTERVAL_SECS", "value": "30"}],
    }


def test_everything_at_once_is_valid() -> None:
    """All values that may be set together fit the schemas of three minor versions of Kubernetes."""
    objects = helm.rendered(place="12345", **_everything())
    assert {item["kind"] for item in objects} > {"DaemonSet", "PrometheusRule", "ClusterRole"}
    for item in objects:
        if not item["apiVersion"].startswith(FOREIGN_GROUPS):
            for minor in MINORS:
                kubernetes_validate.validate(item, minor, strict=True)
        owner = "monitoring" if item["kind"] == "PodMonitor" else "hardware"
        assert item["metadata"]["labels"]["team"] == owner
        assert item["metadata"].get("namespace", "12345") in {"12345", "default"}


@pytest.mark.parametrize("name", CASES["refused"])
def test_wrong_values_are_refused_with_a_sentence(name: str) -> None:
    """The schema names the value that is wrong."""
    said = helm.refused(**CASES["refused"][name])
    assert "values don't meet the specifications of the schema" in said
    assert name in said


def test_a_section_that_is_taken_away_is_refused_with_a_sentence() -> None:
    """Null takes a key of the defaults away: without what it holds no template can be rendered."""
    names = json.loads((helm.CHART / "values.schema.json").read_text())["properties"]
    names.pop("global")  # without a default
    none: dict[str, dict[str, Any]] = {name: {name: None} for name in names}
    refused = {name: said for name in names if (said := helm.refused(**none[name]))}
    assert [name for name, said in refused.items() if f"{name} is required" not in said] == []
    assert {"podMonitor", "image", "nodeConditions"} <= refused.keys()
    assert refused.keys().isdisjoint({"resources", "nodeSelector", "tolerations", "affinity"})


@pytest.mark.parametrize("case", CASES["forbidden"], ids=lambda case: case["sentence"][:40])
def test_what_the_manual_forbids_is_refused(case: dict[str, Any]) -> None:
    """The chart says the one sentence, and nothing else that is wrong."""
    assert _sentences(helm.refused(**case["values"])) == [case["sentence"]]


def test_all_mistakes_are_said_at_once() -> None:
    """Values that are wrong in three ways are refused with three sentences."""
    both: dict[str, Any] = {
        "networkPolicy": ON,
        "nodeConditions": ON,
        "resources": {"limits": {"cpu": "1x"}},
    }
    assert len(_sentences(helm.refused(**MINIMAL, **both, gpuSharing=True))) == 3


def _sentences(refusal: str) -> list[str]:
    """The lines of a refusal, without the place in the template."""
    lines = refusal.partition("): ")[2].strip().splitlines()
    return [line for line in lines if line and not line.startswith("Use --debug")]


@pytest.mark.parametrize("cpu", [1, "1", "0.5", "200m", 1.5, "1e3"])
def test_quantities_are_accepted(cpu: Any) -> None:
    """Every notation that Kubernetes accepts is rendered as it was given."""
    memory = 268435456
    sets = helm.rendered(resources={"limits": {"cpu": cpu, "memory": memory}})
    limits = container_of(sets)["resources"]["limits"]
    assert limits["cpu"] == cpu
    assert float(limits["memory"]) == memory


@pytest.mark.parametrize("minor", [OLDEST.rpartition(".")[0], "1.29", "1.30"])
def test_only_node_conditions_need_kubernetes_1_30(minor: str) -> None:
    """Everything else fits the schemas of older versions, field by field."""
    values = _everything()
    del values["nodeConditions"]
    for item in helm.rendered(f"{minor}.0", **values):
        if not item["apiVersion"].startswith(FOREIGN_GROUPS):
            kubernetes_validate.validate(item, minor, strict=True)


def test_a_variable_of_the_user_replaces_that_of_the_chart() -> None:
    """No name is twice in the environment, which server-side apply refuses."""
    theirs = [{"name": "APP__SOURCES__DISABLED", "value": "ipmi"}]
    container = container_of(helm.rendered(filesystems=True, env=theirs))
    found = [it for it in container["env"] if it["name"] == theirs[0]["name"]]
    assert found == theirs


def test_ebpf_has_no_apparmor_profile_on_old_kubernetes() -> None:
    """Before 1.30 the annotation of AppArmor says what the field says later."""
    pods = the("DaemonSet", helm.rendered(OLDEST, ebpf=ON))["spec"]["template"]
    annotations = pods["metadata"]["annotations"]
    key = "container.apparmor.security.beta.kubernetes.io/hw-exporter"
    assert annotations[key] == "unconfined"


def test_lint_finds_nothing() -> None:
    """`helm lint --strict` passes."""
    done = helm.run("lint", "--strict", str(helm.CHART))
    assert done.returncode == 0, done.stdout


def test_the_version_is_ours() -> None:
    """Chart and image have the version of this tree."""
    version = (manifests.ROOT / "VERSION").read_text().strip()
    text = (helm.CHART / "Chart.yaml").read_text()
    assert f"\nversion: {version}\nappVersion: {version}\n" in text
