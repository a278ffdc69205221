"""The real program and a real kube-apiserver: what our account may write, and what it may not."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.collectors.workloads.kubelet import SOCKET
from tests.collectors.workloads.kubelet import list_response, serving
from tests.fakes.kube_apiserver import KubeApiServer, kube_apiserver, missing, objects_of
from tests.fakes.manifests import rendered_with
from tests.fakes.nvml_library import NvmlLibrary
from tests.program import ROOT, Program, wait_for

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(missing() is not None, reason=f"{missing()}"),
]

CARDS = (
    "count = 2",
    "uuid = GPU-{device}",
    "name = H100",
    "temperature = 40",
    "compute_processes =",
)
LOST = "device.0.any = error 15"
GIVEN = list_response(("ml", "train-0", "trainer", "nvidia.com/gpu", ("GPU-0",)))
EVENTS = "api/v1/namespaces/default/events"
COMPONENTS = ["node-conditions", "node-events"]
BINDINGS = {"ClusterRoleBinding", "RoleBinding"}


@pytest.fixture(scope="module", params=[True, False], ids=["with the rights", "without"])
def api(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KubeApiServer]:
    """A cluster in which the manifests are applied, with the bindings of roles or without."""
    folder = tmp_path_factory.mktemp("api")
    manifests = objects_of(rendered_with(COMPONENTS, "overlays/standard", folder))
    with kube_apiserver(folder / "server") as server:
        server.may_write = request.param
        for item in manifests:
            if server.may_write or item["kind"] not in BINDINGS:
                server.apply(item)
        yield server


def _program(
    folder: Path, short_path: Path, nvml: NvmlLibrary, api: KubeApiServer, token: str
) -> Program:
    (folder / "token").write_text(token)
    changes: dict[str, dict[str, Any]] = {
        "gpu": {"driver_markers": [os.devnull], "smi_paths": []},
        "metrics": {"collect_interval_secs": 0.5},
        "sources": {"host_root": str(short_path)},
        "node_conditions": {
            "enabled": True,
            "events": True,
            "dry_run": False,
            "api_server": api.url,
            "token_file": str(folder / "token"),
            "ca_file": str(api.ca),
            "interval_secs": 1,
        },
    }
    environment = {**nvml.environment, "NODE_NAME": "node-a"}
    return Program(folder, changes, environment=environment)


def _events(api: KubeApiServer) -> dict[str, dict[str, Any]]:
    found = api.ask("GET", EVENTS)[1]["items"]
    return {it["reason"]: it for it in found if it["involvedObject"]["kind"] == "Node"}


def _condition(api: KubeApiServer) -> str | None:
    listed = api.ask("GET", "api/v1/nodes/node-a")[1].get("status", {}).get("conditions", ())
    return next((it["status"] for it in listed if it["type"] == "GPUHealthy"), None)


def _has_logged(program: Program, sentence: str) -> bool:
    return sentence in program.log_file.read_text()


def test_a_lost_gpu_is_told_about_the_node(
    tmp_path: Path, short_path: Path, nvml: NvmlLibrary, api: KubeApiServer
) -> None:
    """The Event names GPU and pod, another one the end; without the rights the log says so."""
    token = api.pod_token("node-a")
    nvml.say(*CARDS)
    with (
        serving(short_path / SOCKET, GIVEN),
        _program(tmp_path, short_path, nvml, api, token) as program,
    ):
        program.page_with('hw_gpu_up{node="node-a"')
        nvml.say(*CARDS, LOST)
        if not api.may_write:
            for what in ("conditions", "events"):
                sentence = f"{what} were not written: the API answered 403"
                wait_for(partial(_has_logged, program, sentence), sentence)
            assert program.get("/healthz").status == 200
            assert (_events(api), _condition(api)) == ({}, None)
            return
        event = wait_for(lambda: _events(api).get("GpuLost"), "the Event of the beginning")
        assert event["type"] == "Warning"
        assert "pod ml/train-0" in event["message"]
        assert event["involvedObject"]["uid"] == event["involvedObject"]["name"] == "node-a"
        wait_for(lambda: _condition(api) == "False", "the condition")
        nvml.say(*CARDS)
        ended = wait_for(lambda: _events(api).get("GpuLostEnded"), "the Event of the end")
        assert ended["type"] == "Normal"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"involvedObject": {"kind": "Node", "name": "node-b"}}, "about no other object"),
        (
            {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}},
            "about no other object",
        ),
        ({"source": {"component": "kubelet"}}, "in its own name only"),
    ],
)
def test_no_other_event_may_be_written(
    api: KubeApiServer, changes: dict[str, Any], reason: str
) -> None:
    """The policy refuses Events about others and in the name of others."""
    token = api.pod_token("node-a")
    event = {
        "metadata": {"name": "one", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": "node-a", "uid": "node-a"},
        "source": {"component": "hw-exporter", "host": "node-a"},
        "reportingComponent": "hw-exporter",
        "reportingInstance": "node-a",
    }
    status, said = api.ask("POST", EVENTS, event | changes, token=token)
    assert status == (422 if api.may_write else 403)
    assert not api.may_write or reason in said["message"]
    assert api.ask("GET", EVENTS, token=token)[0] == 403
    assert api.ask("DELETE", f"{EVENTS}/one", token=token)[0] == 403


@pytest.mark.parametrize(
    ("node", "body"),
    [
        ("node-b", {"status": {"conditions": [{"type": "GPUHealthy", "status": "False"}]}}),
        ("node-a", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
        ("node-a", {"status": {"capacity": {"nvidia.com/gpu": "0"}}}),
    ],
)
def test_no_other_status_may_be_patched(
    api: KubeApiServer, node: str, body: dict[str, Any]
) -> None:
    """The policy refuses other nodes, other conditions and other fields; taints need a right."""
    token, _ = api.pod_token("node-a"), api.pod_token("node-b")
    kind = "strategic-merge-patch+json"
    path = f"api/v1/nodes/{node}/status"
    status, _ = api.ask("PATCH", path, body, token=token, kind=kind)
    assert status == (422 if api.may_write else 403)
    taint = {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}
    assert api.ask("PATCH", f"api/v1/nodes/{node}", taint, token=token, kind=kind)[0] == 403


def test_the_example_of_draino_is_accepted(api: KubeApiServer) -> None:
    """A real API server takes the Deployment as it is."""
    text = (ROOT / "examples/consumers/draino.yaml").read_text()
    path = "apis/apps/v1/namespaces/kube-system/deployments?dryRun=All&fieldValidation=Strict"
    status, answer = api.ask("POST", path, yaml.safe_load(text))
    assert status == 201, answer
