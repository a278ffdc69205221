"""The rendered pods, run: on a CPU node, on a GPU node, with a late driver."""

import json
import re
from pathlib import Path

import pytest

from exporter.collectors.node import host
from exporter.collectors.workloads import kubelet, pod_logs
from exporter.config import GpuConfig, roots
from tests.fakes.host_tree import cpu_node, gpu_node
from tests.fakes.image import Image
from tests.fakes.manifests import (
    KUBERNETES,
    Manifest,
    config_of,
    container_of,
    pod_of,
    rendered,
    why_not,
)
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.pods import running_pod

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"manifests: {why_not()}")

BASE_MOUNTS = {
    "/etc/hw-exporter",
    f"{roots.MOUNTED}/{host.OS_RELEASE_NAMES[0]}",
    "/host/proc/driver",
    str(Path(roots.SYS_SIGN).parent),
}
STANDARD_MOUNTS = BASE_MOUNTS | {
    f"{roots.MOUNTED}/{pod_logs.CONTAINERS}",
    str(Path(roots.MOUNTED, kubelet.SOCKET).parent),
    "/var/lib/hw-exporter",
}


def _base() -> list[Manifest]:
    return rendered(KUBERNETES / "base")


@pytest.mark.parametrize(
    ("folder", "used"), [("base", BASE_MOUNTS), ("overlays/standard", STANDARD_MOUNTS)]
)
def test_every_path_mounted_is_used(folder: str, used: set[str]) -> None:
    """The program reads every path that is mounted, and every path it reads is mounted."""
    manifests = rendered(KUBERNETES / folder)
    mounted = {mount["mountPath"] for mount in container_of(manifests)["volumeMounts"]}
    assert mounted == used
    assert any(marker.startswith("/host/proc/driver/") for marker in GpuConfig().driver_markers)
    assert {volume["name"] for volume in pod_of(manifests)["volumes"]} == {
        mount["name"] for mount in container_of(manifests)["volumeMounts"]
    }
    if folder != "base":
        assert 'dir = "/var/lib/hw-exporter"' in config_of(manifests)


def test_on_a_cpu_node(image: Image, tmp_path: Path) -> None:
    """No GPU family but the one that says why, the node's own system, ready and alive."""
    node = cpu_node(tmp_path / "node")
    (node.proc / "driver").mkdir(parents=True)
    with running_pod(_base(), image, node, tmp_path / "pod") as pod:
        page = pod.page()
        assert json.loads(pod.read("/ready"))["status"] == "ready"
        assert pod.box.status()["Uid"].split()[0] == "65534"
    assert 'hw_node_info{node="node-a",os="Ubuntu",os_version="22.04"' in page
    families = set(re.findall(r"^(hw_gpu_\w+)\{.*", page, re.MULTILINE))
    assert families == {"hw_gpu_backend_info"}
    assert 'backend="none",reason="no_driver"' in page


def test_when_the_driver_comes_late(image: Image, nvml: NvmlLibrary, tmp_path: Path) -> None:
    """The pod says that the library is missing, ends once with its reason, and then sees all."""
    nvml.say(capture="h100x8.scenario")
    assert "late_driver_exit_secs = 300" in config_of(_base())
    node = gpu_node(tmp_path / "node")
    version = node.at("/proc/driver/nvidia/version")
    text = version.read_text()
    version.unlink()
    soon = {"APP__GPU__LATE_DRIVER_EXIT_SECS": "1"}
    with running_pod(_base(), image, node, tmp_path / "early", variables=soon) as pod:
        assert 'reason="no_driver"' in pod.page()
        version.write_text(text)
        assert 'reason="no_library"' in pod.page('reason="no_library"')
        assert pod.box.wait(10) == 1
        assert "restart of the container" in pod.log().splitlines()[-2]
    with running_pod(_base(), image, node, tmp_path / "late", nvml, variables=soon) as pod:
        page = pod.page(r"hw_gpu_up\{.*\} 1")
    assert len(re.findall(r"^hw_gpu_up\{.*\} 1$", page, re.MULTILINE)) == 8
    assert 'backend="nvml",reason="ok"' in page


def test_without_the_runtime_there_is_no_loop(image: Image, tmp_path: Path) -> None:
    """A pod that finds the driver without its library stays up: to end would not help."""
    soon = {"APP__GPU__LATE_DRIVER_EXIT_SECS": "0.5"}
    node = gpu_node(tmp_path / "node")
    with running_pod(_base(), image, node, tmp_path / "pod", variables=soon) as pod:
        page = pod.page(r"hw_exporter_collections_total\{.*\} [5-9]")
        assert 'reason="no_library"' in page
        assert pod.box.is_alive()
