"""Rights of the components gpu-sharing and ebpf, taken away one by one: what the pod then says."""

import re
from pathlib import Path

import pytest

from tests.deploy.busy_node import CAPTURE, TRAINING, cgroup_hierarchy, names, process_in_a_pod
from tests.fakes import hami
from tests.fakes.host_tree import HostTree, gpu_node
from tests.fakes.image import Image
from tests.fakes.manifests import Manifest, container_of, pod_of, rendered_with, why_not, without
from tests.fakes.nvml_library import CAPTURES, NvmlLibrary
from tests.fakes.pods import running_pod
from tests.fakes.system_bus import SystemBus
from tools.rights import RIGHTS

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=f"manifests: {why_not()}"),
    pytest.mark.skipif(cgroup_hierarchy() is None, reason="no cgroup can be made here"),
]

GIB = 2**30
EBPF = {
    "capability SYS_ADMIN": "bpftrace needs CAP_PERFMON and CAP_BPF",
    "capability SYS_PTRACE": "bpftrace needs CAP_SYS_PTRACE",
    "volume tracing": "tracefs is not mounted",
}


def _with(component: str, scratch: Path) -> list[Manifest]:
    scratch.mkdir()
    return rendered_with([component], "overlays/standard", scratch)


def _also(manifests: list[Manifest], name: str, path: Path, inside: str) -> None:
    """Show the container a file or folder of the test."""
    pod_of(manifests)["volumes"].append({"name": name, "folder": str(path)})
    container_of(manifests)["volumeMounts"].append({"name": name, "mountPath": inside})


def _first_uuid() -> str:
    (pattern, *_) = re.findall(r"uuid = (GPU-\S+)", (CAPTURES / CAPTURE).read_text())
    return str(pattern).replace("{device}", "0")


@pytest.mark.parametrize("dropped", ["", "volume hami", "volume pod-logs"])
def test_quotas_of_hami_need_its_folder(
    dropped: str, image: Image, nvml: NvmlLibrary, tmp_path: Path
) -> None:
    """The pod that trains has the memory and SM time that HAMi gave it, where they can be read."""
    tree = gpu_node(tmp_path / "node")
    tree.write(names())
    limits = hami.region({_first_uuid(): (8 * GIB, 30)})
    hami.container(tree.host, TRAINING, "trainer", limits)
    manifests = without(dropped, _with("gpu-sharing", tmp_path / "form"))
    with process_in_a_pod() as pid:
        nvml.say(f"device.0.compute_processes = {pid}:{1024**2}", capture=CAPTURE)
        with running_pod(manifests, image, tree, tmp_path / "pod", nvml) as pod:
            pod.page(r'hw_gpu_workload_info\{.*pod="train-0"')
            page = pod.page(r"hw_exporter_collections_total\{.*\} (?:[4-9]|\d\d)")
    quotas = re.findall(
        r'^hw_gpu_workload_quota_\w+\{.*pod="train-0".*\} (\S+)$', page, re.MULTILINE
    )
    assert quotas == ([] if dropped else [str(8 * GIB), "30"])
    assert ('kind="hami"' in page) is not bool(dropped)


@pytest.mark.parametrize("dropped", ["", "volume dbus"])
def test_services_need_the_system_bus(
    dropped: str, image: Image, tmp_path: Path, short_path: Path
) -> None:
    """A service that failed on the node is told where the directory of the bus is mounted."""
    manifests = without(dropped, _with("services", tmp_path / "form"))
    tree = gpu_node(short_path)
    tree.write({"/run/units/kubelet": "failed failed enabled exit-code"})
    bus = SystemBus(tree.at("/run/dbus/system_bus_socket"), tree.at("/run/units"))
    with running_pod(manifests, image, tree, tmp_path / "pod") as pod:
        page = pod.page(r'hw_exporter_source_outcome\{.*source="services"')
    bus.close()
    shown = re.findall(r'^hw_service_active\{.*service="kubelet"\} (\d)$', page, re.MULTILINE)
    assert shown == ([] if dropped else ["0"])


def _ebpf_node(folder: Path) -> HostTree:
    tree = gpu_node(folder / "node")
    for path in ("/sys/bus/event_source/devices/uprobe", "/sys/kernel/tracing/events/sched"):
        tree.at(path).mkdir(parents=True)
    return tree


@pytest.mark.parametrize("dropped", ["", *EBPF])
def test_counted_calls_need_each_right(dropped: str, image: Image, tmp_path: Path) -> None:
    """With all rights and a bpftrace the source is read; without one it says which is missing."""
    tree = _ebpf_node(tmp_path)
    bpftrace = tmp_path / "bpftrace"
    bpftrace.write_text("#!/bin/sh\nexec sleep 60\n")
    bpftrace.chmod(0o755)
    own_sys = tmp_path / "sys"
    (own_sys / "kernel/tracing").mkdir(parents=True)
    manifests = without(dropped, _with("ebpf", tmp_path / "form"))
    _also(manifests, "bpftrace", bpftrace, "/usr/bin/bpftrace")
    with running_pod(manifests, image, tree, tmp_path / "pod", own_sys=own_sys) as pod:
        page = pod.page(r'hw_exporter_source_outcome\{.*source="ebpf"')
        reasons = pod.read("/doctor?format=json")
    outcome = "absent" if dropped else "ok"
    assert f'source="ebpf",outcome="{outcome}"' in page
    assert all((sentence in reasons) is (name == dropped) for name, sentence in EBPF.items())


def test_without_bpftrace_it_says_so(image: Image, tmp_path: Path) -> None:
    """The image as it is built has no bpftrace: the source is absent, everything else is there."""
    manifests = _with("ebpf", tmp_path / "form")
    with running_pod(manifests, image, _ebpf_node(tmp_path), tmp_path / "pod") as pod:
        page = pod.page(r'hw_exporter_source_outcome\{.*source="ebpf"')
        assert "bpftrace is not installed" in pod.read("/doctor?format=json")
    assert 'source="ebpf",outcome="absent"' in page
    assert "hw_cpu_threads{" in page


def test_the_table_names_each_right_of_the_components(tmp_path: Path) -> None:
    """What the components add to the profile standard is what docs/RIGHTS.md lists for them."""
    named = {it.name for it in RIGHTS if it.granted_by == "components/ebpf"}
    assert named == EBPF.keys()
    plain = {it["name"] for it in container_of(_with("tls", tmp_path / "plain"))["volumeMounts"]}
    shared = _with("gpu-sharing", tmp_path / "shared")
    added = {f"volume {it['name']}" for it in container_of(shared)["volumeMounts"]} - {
        f"volume {name}" for name in plain
    }
    listed = {it.name for it in RIGHTS if it.granted_by == "components/gpu-sharing"}
    assert added == {name for name in listed if name.startswith("volume ")}
    (asked,) = (name.partition("=")[2] for name in listed if name.startswith("variable "))
    environment = {it["name"]: it.get("value") for it in container_of(shared)["env"]}
    assert environment["NVIDIA_DRIVER_CAPABILITIES"] == asked
