"""The manifests: valid, without needless rights, and of one mind with the program."""

import json
import re
from functools import cache
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from exporter.config import Config
from exporter.config.file import environment_layer, load, read_file
from exporter.kubernetes.conditions import OURS
from tests.fakes.manifests import (
    KUBERNETES,
    ROOT,
    Manifest,
    config_of,
    container_of,
    pod_of,
    rendered,
    rendered_with,
    the,
    why_not,
)

MINORS = ("1.30", "1.33", "1.36")
FOLDERS = (".", "overlays/minimal", "overlays/standard", "overlays/full")
RUNTIME_CLASS = "runtime-class"  # a second DaemonSet: tested for itself
COMPONENTS = tuple(
    sorted(
        path.name for path in (KUBERNETES / "components").iterdir() if path.name != RUNTIME_CLASS
    )
)
GUIDES_CLONE = "hw-exporter/deploy/kubernetes"
FOREIGN_GROUPS = ("monitoring.coreos.com/",)
PAIRS = [(folder, component) for folder in FOLDERS[1:] for component in COMPONENTS]

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"manifests: {why_not()}")


@pytest.fixture(scope="module")
def base() -> list[Manifest]:
    """The objects of the base."""
    return rendered(KUBERNETES / "base")


@pytest.fixture(scope="module")
def standard() -> list[Manifest]:
    """The objects of the profile that the README installs."""
    return rendered(KUBERNETES / "overlays/standard")


def _require_valid(manifests: list[Manifest]) -> None:
    for manifest in manifests:
        if not manifest["apiVersion"].startswith(FOREIGN_GROUPS):
            _validate(json.dumps(manifest, sort_keys=True))


@cache
def _validate(document: str) -> None:
    """Many combinations share an object: each is looked at once."""
    for minor in MINORS:
        kubernetes_validate.validate(json.loads(document), minor, strict=True)


def _config(manifests: list[Manifest], folder: Path) -> Config:
    file = folder / "config.toml"
    file.write_text(config_of(manifests))
    values = {item["name"]: item.get("value", "") for item in container_of(manifests)["env"]}
    return load([read_file(file), environment_layer(values)])


@pytest.mark.parametrize("folder", FOLDERS)
def test_manifests_are_valid(folder: str) -> None:
    """The base and each overlay fit the schemas of three minor versions of Kubernetes."""
    _require_valid(rendered(KUBERNETES / folder))


@pytest.mark.parametrize(("folder", "component"), PAIRS)
def test_components_fit_everywhere(folder: str, component: str, tmp_path: Path) -> None:
    """Each component can be put on the base and on each overlay, and the result is valid."""
    manifests = rendered_with([component], folder, tmp_path)
    _require_valid(manifests)
    _config(manifests, tmp_path)


def test_all_components_fit_together(tmp_path: Path) -> None:
    """All components at once give valid manifests."""
    _require_valid(rendered_with(list(COMPONENTS), "overlays/standard", tmp_path))


def test_the_top_folder_is_the_profile_standard(standard: list[Manifest]) -> None:
    """`kubectl apply -k deploy/kubernetes/` installs what keeps the promise: faults with causes."""
    assert rendered(KUBERNETES) == standard


def test_the_profile_minimal_is_the_base(base: list[Manifest]) -> None:
    """Nothing is added to the base: no right but to read."""
    assert rendered(KUBERNETES / "overlays/minimal") == base


def test_the_runtime_class_gets_a_daemonset_of_its_own(tmp_path: Path) -> None:
    """Each node has one pod: with the runtime class where GPUs are labelled, without elsewhere."""
    manifests = rendered_with([RUNTIME_CLASS, "tls"], "overlays/standard", tmp_path)
    _require_valid(manifests)
    sets = {it["metadata"]["name"]: it["spec"] for it in manifests if it["kind"] == "DaemonSet"}
    pods = {name: spec["template"]["spec"] for name, spec in sets.items()}
    terms = {
        name: pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
            "nodeSelectorTerms"
        ]
        for name, pod in pods.items()
    }
    label = {"key": "nvidia.com/gpu.present", "values": ["true"]}
    assert terms == {
        "hw-exporter": [{"matchExpressions": [{**label, "operator": "NotIn"}]}],
        "hw-exporter-gpu": [{"matchExpressions": [{**label, "operator": "In"}]}],
    }
    assert "runtimeClassName" not in pods["hw-exporter"]
    assert pods["hw-exporter-gpu"]["runtimeClassName"] == "nvidia"
    assert (
        sets["hw-exporter"]["selector"]["matchLabels"].items()
        <= sets["hw-exporter-gpu"]["template"]["metadata"]["labels"].items()
    )
    assert all("tls" in {volume["name"] for volume in pod["volumes"]} for pod in pods.values())
    assert len([it for it in manifests if it["kind"] in ("Namespace", "Service")]) == 2


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_version_is_ours(folder: str) -> None:
    """The image has the version of this tree."""
    version = (ROOT / "VERSION").read_text().strip()
    assert container_of(rendered(KUBERNETES / folder))["image"] == f"hw-exporter:{version}"


def test_the_base_has_no_rights(base: list[Manifest]) -> None:
    """Nobody, read-only, without capabilities, tokens, host namespaces or a runtime class."""
    pod, container = pod_of(base), container_of(base)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
    assert the("ServiceAccount", base)["automountServiceAccountToken"] is False
    assert not {"hostPID", "hostNetwork", "hostIPC", "runtimeClassName"} & pod.keys()
    assert all(mount["readOnly"] for mount in container["volumeMounts"])
    assert {item["kind"] for item in base} == {
        "Namespace",
        "ServiceAccount",
        "ConfigMap",
        "DaemonSet",
        "Service",
    }


def test_the_profile_standard_adds_what_it_says(standard: list[Manifest]) -> None:
    """One capability, the host's pids and named paths; nothing else is opened."""
    pod, container = pod_of(standard), container_of(standard)
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SYSLOG"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["hostPID"] is True
    assert not {"hostNetwork", "hostIPC"} & pod.keys()
    writable = [m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")]
    assert writable == ["/var/lib/hw-exporter"]


def test_it_runs_on_every_node(base: list[Manifest]) -> None:
    """Every taint is tolerated, and nothing but Linux is asked of a node."""
    pod = pod_of(base)
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}


def test_every_change_of_the_configuration_restarts_the_pods(base: list[Manifest]) -> None:
    """The name of the ConfigMap holds a hash of what is in it."""
    name = the("ConfigMap", base)["metadata"]["name"]
    volumes = {volume["name"]: volume for volume in pod_of(base)["volumes"]}
    assert name.startswith("hw-exporter-")
    assert volumes["config"]["configMap"]["name"] == name


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_configuration_is_good(folder: str, tmp_path: Path) -> None:
    """Every key of the ConfigMap exists, and the port is the one that is probed and scraped."""
    manifests = rendered(KUBERNETES / folder)
    config = _config(manifests, tmp_path)
    container = container_of(manifests)
    (port,) = container["ports"]
    assert config.server.port == port["containerPort"]
    assert "annotations" not in the("DaemonSet", manifests)["spec"]["template"]["metadata"]
    assert container["args"][:2] == ["run", "--config"]
    assert container["args"][2].startswith("/etc/hw-exporter/")


def test_annotations_for_scrapes_are_asked_for(tmp_path: Path) -> None:
    """The component names the port that is open, and nothing else brings annotations."""
    manifests = rendered_with(["scrape-annotations"], "overlays/standard", tmp_path)
    assert the("DaemonSet", manifests)["spec"]["template"]["metadata"]["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(container_of(manifests)["ports"][0]["containerPort"]),
        "prometheus.io/path": "/metrics",
    }


def test_probes_ask_what_is_open(base: list[Manifest]) -> None:
    """Liveness asks /healthz and readiness /ready, which need no login."""
    container = container_of(base)
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"


@pytest.mark.parametrize("kind", ["pod-monitor", "service-monitor"])
def test_monitors_keep_our_labels(kind: str, tmp_path: Path) -> None:
    """The operator's scrape keeps our labels, adds no pod's, and names a port that there is."""
    manifests = rendered_with([kind], "base", tmp_path)
    (monitor,) = [item for item in manifests if item["kind"] in ("PodMonitor", "ServiceMonitor")]
    (endpoint,) = monitor["spec"].get("podMetricsEndpoints") or monitor["spec"]["endpoints"]
    assert endpoint["honorLabels"] is True
    assert endpoint["port"] == container_of(manifests)["ports"][0]["name"]
    to_instance, dropped = endpoint["relabelings"]
    assert to_instance["targetLabel"] == "instance"
    assert dropped == {"action": "labeldrop", "regex": "pod|container"}
    labels = the("Service", manifests)["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize(
    ("component", "role", "resource", "verb"),
    [
        ("node-conditions", "ClusterRole", "nodes/status", "patch"),
        ("node-events", "Role", "events", "create"),
    ],
)
def test_what_writes_to_the_api_needs_one_right_only(
    component: str, role: str, resource: str, verb: str, tmp_path: Path
) -> None:
    """A verb on a resource, for our account, is all; what is about Events stays in a namespace."""
    manifests = rendered_with([component], "base", tmp_path)
    assert the(role, manifests)["rules"] == [
        {"apiGroups": [""], "resources": [resource], "verbs": [verb]}
    ]
    account = the("ServiceAccount", manifests)["metadata"]
    (subject,) = the(f"{role}Binding", manifests)["subjects"]
    assert (subject["namespace"], subject["name"]) == (account["namespace"], account["name"])
    bindings = {it["kind"] for it in manifests if it["kind"].endswith("RoleBinding")}
    assert bindings == {f"{role}Binding"}


def test_the_policy_knows_our_account_and_our_conditions(tmp_path: Path) -> None:
    """It applies to our account in whatever namespace, and names the conditions that we set."""
    manifests = rendered_with(["node-conditions"], "base", tmp_path)
    policy = the("ValidatingAdmissionPolicy", manifests)["spec"]
    (pattern,) = re.findall(r'matches\("(.*)"\)', policy["matchConditions"][0]["expression"])
    account = the("ServiceAccount", manifests)["metadata"]["name"]
    assert re.search(pattern, f"system:serviceaccount:elsewhere:{account}")
    assert re.search(pattern, f"system:serviceaccount:elsewhere:gpu-{account}-a")
    assert not re.search(pattern, "system:serviceaccount:kube-system:node-controller")
    assert not re.search(pattern, f"system:serviceaccount:kube-system:not{account}")
    assert policy["variables"][0] == {"name": "ours", "expression": json.dumps([*OURS])}
    assert policy["failurePolicy"] == "Fail"


def test_the_policy_follows_a_prefix(tmp_path: Path) -> None:
    """With a prefix of kustomize the binding names the policy that there is."""
    (tmp_path / "inner").mkdir()
    rendered_with(["node-conditions"], "overlays/minimal", tmp_path / "inner")
    (tmp_path / "kustomization.yaml").write_text("namePrefix: gpu-\nresources: [inner]\n")
    manifests = rendered(tmp_path)
    policy = the("ValidatingAdmissionPolicy", manifests)["metadata"]["name"]
    assert policy.startswith("gpu-")
    assert the("ValidatingAdmissionPolicyBinding", manifests)["spec"]["policyName"] == policy


def test_everything_is_in_one_namespace(tmp_path: Path) -> None:
    """No object is left to whatever namespace the user's context names: none would work there."""
    manifests = rendered_with(list(COMPONENTS), "overlays/standard", tmp_path)
    events = {"Role", "RoleBinding"}  # those about nodes are in the namespace default
    assert {it["metadata"]["namespace"] for it in manifests if it["kind"] in events} == {"default"}
    manifests = [it for it in manifests if it["kind"] not in events]
    placed = {item["kind"]: item["metadata"].get("namespace") for item in manifests}
    assert {kind for kind, place in placed.items() if place is None} == {
        "Namespace",
        "ClusterRole",
        "ClusterRoleBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    assert {place for place in placed.values() if place} == {
        the("Namespace", manifests)["metadata"]["name"]
    }


def _kustomization_of_the_guide() -> Manifest:
    """The pieces that the guide shows, put into one file with every component."""
    whole: Manifest = {}
    for text in re.findall(
        r"^```yaml\n(.*?)^```", (ROOT / "docs/kubernetes.md").read_text(), re.DOTALL | re.MULTILINE
    ):
        for key, value in yaml.safe_load(text).items():
            whole[key] = whole.get(key, []) + value if isinstance(value, list) else value
    names = (RUNTIME_CLASS, *COMPONENTS)
    whole["components"] = [f"{GUIDES_CLONE}/components/{name}" for name in names]
    return whole


def test_the_kustomization_of_the_guide_does_what_it_says(tmp_path: Path) -> None:
    """All pieces of the guide together replace the file, and patch the pods of both DaemonSets."""
    (tmp_path / "hw-exporter").symlink_to(ROOT)
    (tmp_path / "config.toml").write_text("[server]\nport = 9000\n")
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(_kustomization_of_the_guide()))
    manifests = rendered(tmp_path)
    assert config_of(manifests) == "[server]\nport = 9000\n"
    config = the("ConfigMap", manifests)["metadata"]["name"]
    sets = [it["spec"] for it in manifests if it["kind"] == "DaemonSet"]
    assert len(sets) == 2
    for spec in sets:
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        assert {it["name"]: it for it in pod["volumes"]}["config"]["configMap"]["name"] == config
        assert container["image"].startswith("registry.example/hw-exporter:")
        assert {"name": "APP__NODE_CONDITIONS__DRY_RUN", "value": "false"} in container["env"]
        wanted = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (term,) = wanted["nodeSelectorTerms"]
        assert [it["key"] for it in term["matchExpressions"]] == ["nvidia.com/gpu.present", "type"]
        assert "release" not in spec["selector"]["matchLabels"]
    monitor = the("PodMonitor", manifests)
    assert monitor["metadata"]["labels"]["release"] == "kube-prometheus-stack"
    assert monitor["spec"]["podMetricsEndpoints"][0]["scheme"] == "https"
