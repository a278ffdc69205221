"""What Helm makes of our chart, as plain values."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from tests.fakes.manifests import LOADER, ROOT, Manifest

CHART = ROOT / "deploy/helm/hw-exporter"
NAMESPACE = "hw-exporter"
KUBERNETES = "1.33.0"  # a helm built from source assumes 1.20


@cache
def why_not() -> str | None:
    """Why the chart cannot be rendered here; None when it can."""
    return None if shutil.which("helm") else "helm is not installed"


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Helm with these words, whatever it answers."""
    return subprocess.run(["helm", *words], capture_output=True, text=True, check=False)


def refused(kubernetes: str = KUBERNETES, **values: Any) -> str:
    """The sentences with which values are refused; empty when they are not."""
    done = _template(kubernetes, values)
    return done.stderr if done.returncode else ""


def rendered(kubernetes: str = KUBERNETES, place: str = NAMESPACE, **values: Any) -> list[Manifest]:
    """All objects of the chart with these values, in the namespace `place`: that of kustomize."""
    done = _template(kubernetes, values, place)
    assert done.returncode == 0, done.stderr
    return [item for item in yaml.load_all(done.stdout, _NoKeyTwice) if item]


def notes(scratch: Path, **values: Any) -> str:
    """What an installation with these values prints, rendered without a cluster."""
    chart = scratch / "chart"
    shutil.copytree(CHART, chart)
    text = (chart / "templates/NOTES.txt").rename(chart / "templates/notes.yaml")
    text.write_text("notes: |\n" + indent(text.read_text(), "  "))
    done = _template(KUBERNETES, values, NAMESPACE, chart)
    assert done.returncode == 0, done.stderr
    (said,) = (part for part in yaml.safe_load_all(done.stdout) if part and "notes" in part)
    return str(said["notes"])


class _NoKeyTwice(LOADER):  # type: ignore[misc, valid-type]
    """Refuses a mapping that has a key twice, as Flux and Argo CD do."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """See the keys of a mapping before the last of two alike wins."""
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), keys
        super().flatten_mapping(node)


def _template(
    kubernetes: str, values: dict[str, Any], place: str = NAMESPACE, chart: Path = CHART
) -> "subprocess.CompletedProcess[str]":
    words = ["template", "hw-exporter", str(chart), "--namespace", place]
    words += ["--kube-version", kubernetes]
    return run(*words, *(["--set-json", _as_json(values)] if values else []))


def _as_json(values: dict[str, Any]) -> str:
    return ",".join(f"{name}={json.dumps(value)}" for name, value in values.items())
