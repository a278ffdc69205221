"""The rendered pods, run: on a CPU node, on a GPU node, with a late driver, with a right less."""

import copy
import json
import os
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.config import Gpu
from exporter.sources import device_allocation, host, pod_names, pod_resources, roots
from tests.fakes.container import Running, running
from tests.fakes.host_tree import HostTree, cpu_node, gpu_node
from tests.fakes.image import Image, NoImageError, built
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
from tests.fakes.pods import container_for, with_driver_library
from tests.fakes.prometheus import free_port
from tools.rights import RIGHTS, Right

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"manifests: {why_not()}")

POD_UID = "0aa7e8f4-5a6c-4a5b-9d3c-1b2c3d4e5f60"
BASE_MOUNTS = {
    "/etc/hw-exporter",
    f"{roots.MOUNTED}/{host.OS_RELEASE_NAMES[0]}",
    "/host/proc/driver",
    str(Path(roots.SYS_SIGN).parent),
}
FULL_MOUNTS = BASE_MOUNTS | {
    f"{roots.MOUNTED}/{pod_names.PODS}",
    f"{roots.MOUNTED}/{pod_names.CONTAINERS}",
    str(Path(roots.MOUNTED, device_allocation.CHECKPOINT).parent),
    str(Path(roots.MOUNTED, pod_resources.SOCKET).parent),
    "/var/lib/hw-exporter",
}


@pytest.fixture(scope="module")
def image() -> Image:
    """The image of this working tree."""
    try:
        return built()
    except NoImageError as error:
        pytest.skip(f"the image: {error}")


class Pod:
    """A running pod and its page."""

    def __init__(self, box: Running, port: int, log: Path) -> None:
        self.box = box
        self._url = f"http://127.0.0.1:{port}"
        self._log = log

    def read(self, path: str) -> str:
        """A page; raises OSError while nobody answers."""
        with urllib.request.urlopen(self._url + path, timeout=5) as answer:  # noqa: S310 - loopback
            body: bytes = answer.read()
            return body.decode()

    def page(self, pattern: str = "hw_node_info", secs: float = 20) -> str:
        """`/metrics` as soon as a line matches; the last page after the time is over."""
        deadline, text = time.monotonic() + secs, ""
        while time.monotonic() < deadline:
            try:
                text = self.read("/metrics")
            except OSError:
                assert self.box.is_alive(), self._log.read_text()
            if re.search(pattern, text):
                return text
            time.sleep(0.1)
        return text


@contextmanager
def _pod(
    manifests: list[Manifest],
    image: Image,
    node: HostTree,
    scratch: Path,
    nvml: NvmlLibrary | None = None,
) -> Iterator[Pod]:
    port = free_port()
    quick = {"APP__GPU__REDETECT_SECS": "0.3", "APP__METRICS__COLLECT_INTERVAL_SECS": "0.5"}
    scratch.mkdir(parents=True, exist_ok=True)
    container = container_for(manifests, image, node, scratch, APP__SERVER__PORT=str(port), **quick)
    if nvml is not None:
        container = with_driver_library(container, nvml)
    with running(container) as box:
        yield Pod(box, port, container.log)


def _base() -> list[Manifest]:
    return rendered(KUBERNETES / "base")


def _full() -> list[Manifest]:
    return rendered(KUBERNETES / "overlays/full")


@pytest.mark.parametrize(
    ("folder", "used"), [("base", BASE_MOUNTS), ("overlays/full", FULL_MOUNTS)]
)
def test_every_path_mounted_is_used(folder: str, used: set[str]) -> None:
    """The program reads every path that is mounted, and every path it reads is mounted."""
    manifests = rendered(KUBERNETES / folder)
    mounted = {mount["mountPath"] for mount in container_of(manifests)["volumeMounts"]}
    assert mounted == used
    assert any(marker.startswith("/host/proc/driver/") for marker in Gpu().driver_markers)
    assert {volume["name"] for volume in pod_of(manifests)["volumes"]} == {
        mount["name"] for mount in container_of(manifests)["volumeMounts"]
    }
    if folder != "base":
        assert 'dir = "/var/lib/hw-exporter"' in config_of(manifests)


def test_on_a_cpu_node(image: Image, tmp_path: Path) -> None:
    """No GPU family but the one that says why, the node's own system, ready and alive."""
    node = cpu_node(tmp_path / "node")
    (node.proc / "driver").mkdir(parents=True)
    with _pod(_base(), image, node, tmp_path / "pod") as pod:
        page = pod.page()
        assert json.loads(pod.read("/ready"))["status"] == "ready"
        assert pod.box.status()["Uid"].split()[0] == "65534"
    assert 'hw_node_info{node="node-a",os="Ubuntu",os_version="22.04"' in page
    families = set(re.findall(r"^(hw_gpu_\w+)\{.*", page, re.MULTILINE))
    assert families == {"hw_gpu_backend_info"}
    assert 'backend="none",reason="no_driver"' in page


def test_on_a_gpu_node(image: Image, nvml: NvmlLibrary, tmp_path: Path) -> None:
    """With what the NVIDIA runtime brings in, an unprivileged pod sees every GPU."""
    nvml.say(capture="h100x8.scenario")
    with _pod(_base(), image, gpu_node(tmp_path / "node"), tmp_path / "pod", nvml) as pod:
        page = pod.page(r"hw_gpu_up\{.*\} 1")
    assert len(re.findall(r"^hw_gpu_up\{.*\} 1$", page, re.MULTILINE)) == 8
    assert 'backend="nvml",reason="ok"' in page


def test_when_the_driver_comes_late(image: Image, nvml: NvmlLibrary, tmp_path: Path) -> None:
    """The running pod says that the library is missing and goes on; one made later sees all."""
    nvml.say(capture="h100x8.scenario")
    node = gpu_node(tmp_path / "node")
    version = node.at("/proc/driver/nvidia/version")
    text = version.read_text()
    version.unlink()
    with _pod(_base(), image, node, tmp_path / "early") as pod:
        assert 'reason="no_driver"' in pod.page()
        pid = pod.box.main_pid()
        version.write_text(text)
        assert 'reason="no_library"' in pod.page('reason="no_library"')
        assert pod.box.main_pid() == pid
    with _pod(_base(), image, node, tmp_path / "late", nvml) as pod:
        assert 'reason="ok"' in pod.page(r"hw_gpu_up\{")


def _drop(right: Right, manifests: list[Manifest]) -> list[Manifest]:
    """The same manifests without one right."""
    less = copy.deepcopy(manifests)
    pod, container = pod_of(less), container_of(less)
    kind, _, name = right.name.partition(" ")
    if kind == "hostPID":
        del pod["hostPID"]
    elif kind == "capability":
        container["securityContext"]["capabilities"]["add"].remove(name)
    else:
        mounts = container["volumeMounts"]
        container["volumeMounts"] = [mount for mount in mounts if mount["name"] != name]
    return less


def _busy_node(folder: Path, nvml: NvmlLibrary) -> HostTree:
    """A GPU node on which the kubelet has given a GPU to a pod."""
    busy = (f"device.{card}.compute_processes = {os.getpid()}:1048576" for card in range(8))
    nvml.say(*busy, capture="h100x8.scenario")
    node = gpu_node(folder)
    uuid = "GPU-" + re.findall(r"uuid = GPU-(\S+)", _capture("h100x8"))[0].replace("{device}", "0")
    entry = {
        "PodUID": POD_UID,
        "ContainerName": "main",
        "ResourceName": "nvidia.com/gpu",
        "DeviceIDs": {"0": [uuid]},
        "AllocResp": "",
    }
    checkpoint = {"Data": {"PodDeviceEntries": [entry], "RegisteredDevices": {}}, "Checksum": 1}
    node.write({f"/{device_allocation.CHECKPOINT}": json.dumps(checkpoint)})
    node.write({f"/{pod_names.PODS}/ml_train-0_{POD_UID}/main/0.log": ""})
    return node


def _capture(name: str) -> str:
    return (Path(__file__).parent.parent / f"captures/{name}.scenario").read_text()


SHOWN = [right for right in RIGHTS if right.seen]


@pytest.fixture(scope="module")
def pages(
    image: Image, nvml_library_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Right | None], str]:
    """The page of the pod with every right, or with all but one."""
    folder = tmp_path_factory.mktemp("rights")
    made: dict[str, str] = {}

    def page(right: Right | None) -> str:
        name = right.name if right else "all"
        if name not in made:
            own = folder / name.replace(" ", "-")
            (own / "nvml").mkdir(parents=True)
            nvml = NvmlLibrary(nvml_library_dir, own / "nvml")
            node = _busy_node(own / "node", nvml)
            manifests = _full() if right is None else _drop(right, _full())
            with _pod(manifests, image, node, own / "pod", nvml) as pod:
                pod.page(r"hw_gpu_backend_info\{.*reason=\"(ok|no_driver)\"")
                time.sleep(1.5)  # two collections, so that everything has been read
                made[name] = pod.page()
        return made[name]

    return page


@pytest.mark.parametrize("right", SHOWN, ids=lambda right: right.name)
def test_a_right_less_costs_what_is_stated(
    right: Right, pages: Callable[[Right | None], str]
) -> None:
    """What a right is for is on the page with it and not without it; the others' share stays."""
    everything, less = pages(None), pages(right)
    assert re.search(right.seen, everything)
    assert not re.search(right.seen, less)
    for other in SHOWN:
        if other is not right and not (DEPENDS.get(other.name, set()) & {right.name}):
            assert re.search(other.seen, less), f"{other.name} was lost with {right.name}"


DEPENDS = {
    "hostPID": {"volume driver"},
    "volume pod-logs": {"volume device-plugins", "volume driver", "hostPID"},
    "volume device-plugins": {"volume driver", "volume pod-logs", "hostPID"},
}
"""What a feature needs besides its own right."""


def test_the_table_names_every_right_of_the_overlay() -> None:
    """Every volume, capability and namespace of the full overlay has a row, and the reverse."""
    manifests = _full()
    volumes = {volume["name"] for volume in pod_of(manifests)["volumes"]} - {"config"}
    added = container_of(manifests)["securityContext"]["capabilities"]["add"]
    granted = {f"volume {name}" for name in volumes} | {f"capability {name}" for name in added}
    granted |= {"hostPID", "user root"}
    assert pod_of(manifests)["securityContext"]["runAsUser"] == 0
    listed = {right.name for right in RIGHTS if right.granted_by in ("base", "overlays/full")}
    assert listed == granted
