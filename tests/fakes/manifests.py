"""What kustomize makes of our manifests, as plain values."""

import copy
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
KUBERNETES = ROOT / "deploy/kubernetes"
Manifest = dict[str, Any]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as quick where PyYAML was built with it; dashboards are long."""


@cache
def documents(file: Path) -> list[Any]:
    """All documents of a YAML file of ours, which does not change in a run."""
    return list(yaml.load_all(file.read_text(), LOADER))


def document(file: Path) -> Any:
    """The only document of a file."""
    (found,) = documents(file)
    return found


@cache
def why_not() -> str | None:
    """Why manifests cannot be rendered here; None when they can."""
    if shutil.which("kubectl") is None:
        return "kubectl is not installed"
    said = subprocess.run(["kubectl", "kustomize", "--help"], capture_output=True, check=False)
    return None if said.returncode == 0 else "this kubectl has no kustomize"


def rendered(folder: Path) -> list[Manifest]:
    """All objects of one kustomization; its files do not change in a run."""
    return [item for item in yaml.load_all(_text_of(folder), LOADER) if item]


@cache
def _text_of(folder: Path) -> str:
    done = subprocess.run(
        ["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered_with(components: list[str], resource: str, scratch: Path) -> list[Manifest]:
    """All objects of a base or overlay together with components, as a user would combine them."""
    lines = {
        "resources": [os.path.relpath(KUBERNETES / resource, scratch)],
        "components": [os.path.relpath(KUBERNETES / "components" / c, scratch) for c in components],
    }
    (scratch / "kustomization.yaml").write_text(yaml.safe_dump(lines))
    return rendered(scratch)


def the(kind: str, manifests: list[Manifest]) -> Manifest:
    """The only object of its kind, dashboards left out."""
    (found,) = [
        item
        for item in manifests
        if item["kind"] == kind and "grafana_dashboard" not in item["metadata"].get("labels", {})
    ]
    return found


def pod_of(manifests: list[Manifest]) -> Manifest:
    """The pod's specification."""
    spec: Manifest = the("DaemonSet", manifests)["spec"]["template"]["spec"]
    return spec


def container_of(manifests: list[Manifest]) -> Manifest:
    """The only container of the pod."""
    (container,) = pod_of(manifests)["containers"]
    found: Manifest = container
    return found


def config_of(manifests: list[Manifest]) -> str:
    """The text of the configuration file."""
    text: str = the("ConfigMap", manifests)["data"]["config.toml"]
    return text


def without(name: str, manifests: list[Manifest]) -> list[Manifest]:
    """A copy of the manifests without one right, as docs/RIGHTS.md names it; all for no name."""
    less = copy.deepcopy(manifests)
    pod, container = pod_of(less), container_of(less)
    kind, _, what = name.partition(" ")
    if not kind:
        return less
    if kind == "hostPID":
        del pod["hostPID"]
    elif kind == "capability":
        container["securityContext"]["capabilities"]["add"].remove(what)
    elif kind == "user":
        pod["securityContext"].update(runAsUser=65534, runAsGroup=65534)
    elif kind == "privileged":
        container["securityContext"].update(privileged=False)
    elif kind == "variable":
        # The image asks for it too; this is how one takes it back.
        next(item for item in container["env"] if item["name"] == what)["value"] = "void"
    else:
        assert kind == "volume"
        mounts = [mount for mount in container["volumeMounts"] if mount["name"] != what]
        assert len(mounts) < len(container["volumeMounts"])
        container["volumeMounts"] = mounts
    return less
