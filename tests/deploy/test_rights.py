"""Every right of a pod, taken away: exactly what the table says is lost."""

import fnmatch
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from exporter.collectors.processes import OWN_PID_MAX
from exporter.collectors.workloads import kubelet
from tests.collectors.workloads.kubelet import list_response, serving
from tests.deploy.busy_node import (
    ADA,
    CAPTURE,
    BusyNode,
    busy_node,
    cgroup_hierarchy,
    idle_uuid,
    own_sys,
)
from tests.fakes.api_server import ApiServer, api_server
from tests.fakes.fuse import NoFuse
from tests.fakes.host_tree import HostTree
from tests.fakes.image import Image
from tests.fakes.manifests import (
    KUBERNETES,
    Manifest,
    container_of,
    pod_of,
    rendered,
    rendered_with,
    why_not,
    without,
)
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.pods import Pod, running_pod
from tools.rights import PROFILES, RIGHTS, Right

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(why_not() is not None, reason=f"manifests: {why_not()}"),
    pytest.mark.skipif(cgroup_hierarchy() is None, reason="no cgroup can be made here"),
]

SERIES = re.compile(r"^(\w+)\{(.*)\} \S+$", re.MULTILINE)
NOT_OK = re.compile(r'source="(\w+)",outcome="(?!ok)')
BESIDES = re.compile(
    r"hw_(?:fault_|incident_info$|status$|events_|causal_|exporter_source_|exporter_http_)"
)
"""Sources are compared by name; faults and events are also those of the machine of the test."""
READ_ALL = r"hw_exporter_collections_total\{.*\} (?:[4-9]|\d\d)"
ELSEWHERE = {
    *("volume state", "patch nodes/status", "create events", "volume features", "volume passwd"),
}
"""Rights whose loss is not on /metrics: a test of its own for each."""
FORBIDDEN = re.compile(r"(?<![\d.])403(?!\d)")
"""The status of HTTP, not a part of a time."""

PATIENCE_SECS = 240.0
"""Six pods start at a time on a machine that has other tests to run."""

LINUX = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
DEVICES = {"privileged", "volume dev"}
ALL_WITH_FILESYSTEMS = "all of standard with filesystems"
FILESYSTEMS = {ALL_WITH_FILESYSTEMS, "volume root"}
BOTH = {"GPUHealthy", "HardwareHealthy"}
SECRETS = "/run/secrets/kubernetes.io/serviceaccount"  # /var/run leads to /run
OPTIONAL = ("components/services", "components/gpu-sharing", "components/ebpf")
"""Tried in test_optional_rights.py."""
ON_METRICS = [
    right for right in RIGHTS if right.name not in ELSEWHERE and right.granted_by not in OPTIONAL
]


def _form_of(right: Right, scratch: Path) -> list[Manifest]:
    """The manifests that grant this right."""
    kind, _, name = right.granted_by.partition("/")
    if kind == "components":
        return rendered_with([name], "overlays/standard", scratch)
    if right.name == "volume root":
        return rendered_with(["filesystems"], "overlays/standard", scratch)
    manifests = rendered(KUBERNETES / "overlays" / _profile(right))
    if right.name in DEVICES:  # the fake node's /dev cannot be shown below its root
        return without("volume root", manifests)
    return manifests


class _Pods:
    """Runs pods on the busy node, each form of it once, a few at a time."""

    def __init__(self, image: Image, node: BusyNode, folder: Path, disk: Path) -> None:
        self._image, self._node = image, node
        self._folder, self._disk = folder, disk
        self._threads = ThreadPoolExecutor(max_workers=6)
        self._pages: dict[str, Future[str]] = {}

    def start(self, name: str, manifests: list[Manifest]) -> None:
        """Begin to ask for the page of these manifests."""
        if name not in self._pages:
            self._pages[name] = self._threads.submit(self._page, name, manifests)

    def page(self, name: str) -> str:
        """The page, when everything on it has been read."""
        return self._pages[name].result()

    def close(self) -> None:
        """Wait for those that still run."""
        self._threads.shutdown(cancel_futures=True)

    @contextmanager
    def pod(
        self,
        name: str,
        manifests: list[Manifest],
        nvml: NvmlLibrary | None = None,
        *,
        variables: Mapping[str, str] | None = None,
    ) -> Iterator[Pod]:
        """One pod on files of its own, on a disk where filesystems are looked at."""
        place = self._disk if name in FILESYSTEMS else self._folder
        folder = place / name.replace(" ", "-").replace("/", "-")
        tree = HostTree(folder / "node")
        if not folder.exists():  # a pod that was here before finds the node as it was
            tree = self._node.tree(folder / "node", has_checkpoint=False)
            own_sys(tree, folder / "sys")
        with ExitStack() as stack:
            answer = list_response(("ml", "notebook-0", "main", "nvidia.com/gpu", (idle_uuid(),)))
            stack.enter_context(serving(tree.at("/" + kubelet.SOCKET), answer))
            yield stack.enter_context(
                running_pod(
                    *(manifests, self._image, tree, folder / "pod", nvml or self._node.nvml),
                    own_sys=folder / "sys",
                    variables=variables,
                )
            )

    def _page(self, name: str, manifests: list[Manifest]) -> str:
        with self.pod(name, manifests) as pod:
            return pod.page(READ_ALL)


@pytest.fixture(scope="module")
def pods(image: Image, nvml_library_dir: Path) -> Iterator[_Pods]:
    """The busy node; a socket's address has 108 bytes, hence the short name."""
    with ExitStack() as stack:
        folder, disk = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hw-", dir=place)))
            for place in (None, "/var/tmp")
        )
        try:
            node = stack.enter_context(busy_node(folder, nvml_library_dir))
        except NoFuse as reason:
            pytest.skip(str(reason))
        pods = _Pods(image, node, folder, disk)
        stack.callback(pods.close)
        yield pods


@pytest.fixture(scope="module")
def pages(pods: _Pods, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Right], list[str]]:
    """The pages of the pod with every right of its form, and with all but one."""
    for right in ON_METRICS:
        manifests = _form_of(right, tmp_path_factory.mktemp("form"))
        pods.start(_everything(right), manifests)
        pods.start(right.name, without(right.name, manifests))
    return lambda right: [pods.page(_everything(right)), pods.page(right.name)]


def _everything(right: Right) -> str:
    if right.name in DEVICES:
        return "all of full but volume root"
    if right.name == "volume root":
        return ALL_WITH_FILESYSTEMS
    return f"all of {right.granted_by if '/' in right.granted_by else _profile(right)}"


def _profile(right: Right) -> str:
    """The least profile with this right in which the node's processes are seen."""
    return "full" if right.granted_by == "full" else "standard"


def _series(page: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, labels in SERIES.findall(page):
        if not BESIDES.match(name):
            found.setdefault(name, set()).add(labels)
    return found


def _unread(page: str) -> set[str]:
    return set(NOT_OK.findall(page))


@pytest.mark.parametrize("right", ON_METRICS, ids=lambda right: right.name)
def test_a_right_less_costs_exactly_what_is_stated(
    right: Right, pages: Callable[[Right], list[str]]
) -> None:
    """Families that vanish, families that differ and sources not read are those of the table."""
    everything, less = pages(right)
    before, after = _series(everything), _series(less)
    stated = {
        name for name in before if any(fnmatch.fnmatch(name, pattern) for pattern in right.absent)
    } - {*right.differ, *right.stay}
    if LINUX < OWN_PID_MAX:
        stated.discard("hw_processes_limit")
    assert {name for name in before if name not in after} == stated
    assert {name for name in after if before.get(name) != after[name]} == set(right.differ)
    assert _unread(less) - _unread(everything) == set(right.sources)


def test_the_table_names_every_right_that_is_granted() -> None:
    """Every volume, capability and namespace of the overlays has a row, and the reverse."""
    granted: dict[str, set[str]] = {}
    for form in PROFILES:
        manifests = rendered(KUBERNETES / "overlays" / form)
        pod, container = pod_of(manifests), container_of(manifests)
        context = {**pod["securityContext"], **container["securityContext"]}
        volumes = {volume["name"] for volume in pod["volumes"]} - {"config"}
        found = {f"volume {name}" for name in volumes}
        found |= {f"capability {it}" for it in context.get("capabilities", {}).get("add", ())}
        found |= {"hostPID"} if pod.get("hostPID") else set()
        found |= {"user root"} if context["runAsUser"] == 0 else set()
        found |= {"privileged"} if context.get("privileged") else set()
        granted[form] = found.union(*granted.values()) if granted else found
    listed = {right.name: right.granted_by for right in RIGHTS}
    variables = {name for name in listed if name.startswith("variable ")}
    for form, found in granted.items():
        here = {name for name in found if listed[name] == form}
        assert here == {name for name in listed if listed[name] == form} - variables


@pytest.mark.parametrize("has_state", [True, False])
def test_without_state_faults_begin_anew(
    pods: _Pods,
    nvml: NvmlLibrary,
    *,
    has_state: bool,
) -> None:
    """A fault keeps its beginning over a restart of the pod only where the volume is."""
    manifests = rendered(KUBERNETES / "overlays/standard")
    if not has_state:
        manifests = without("volume state", manifests)
    nvml.say("device.3.any = error 15", capture=CAPTURE)
    begun = []
    for _ in range(2):
        with pods.pod(f"state {has_state}", manifests, nvml) as pod:
            pod.page(r"hw_fault_active\{")
            faults = json.loads(pod.read("/faults"))["faults"]
            begun.append({fault["rule"]: fault["since"] for fault in faults})
            assert pod.box.terminate(10) == 0
    first, second = begun
    assert first
    assert first.keys() == second.keys()
    assert (first == second) is has_state


@pytest.mark.parametrize("has_passwd", [True, False])
def test_without_passwd_users_are_numbers(pods: _Pods, *, has_passwd: bool) -> None:
    """A process outside of pods has the name of its user only where the node's file is shown."""
    manifests = rendered(KUBERNETES / "overlays/standard")
    if has_passwd:
        path = {"name": "passwd", "mountPath": "/host/etc/passwd", "readOnly": True}
        container_of(manifests)["volumeMounts"].append(path)
        pod_of(manifests)["volumes"].append({"name": "passwd", "hostPath": {"path": "/etc/passwd"}})
    name = f"passwd {has_passwd}"
    with pods.pod(name, manifests, variables={"APP__PROCESSES__USERS": "true"}) as pod:
        pod.page("hw_gpu_workload_info")
        users = {it["user"] for it in json.loads(pod.read("/processes"))["processes"]}
    assert ("ada" if has_passwd else str(ADA)) in users
    assert ("ada" in users) is has_passwd


def _kinds(api: ApiServer) -> set[str]:
    """The conditions that the own node has by now."""
    return {it["type"] for it in api.conditions.get("node-a", ())}


@pytest.mark.parametrize("may_patch", [True, False])
def test_without_the_role_there_are_no_conditions(
    pods: _Pods,
    tmp_path: Path,
    *,
    may_patch: bool,
) -> None:
    """The conditions of the own node are set with the role; without it the log says why not."""
    manifests = rendered_with(["node-conditions"], "overlays/standard", tmp_path)
    if not may_patch:
        manifests = [item for item in manifests if item["kind"] != "ClusterRoleBinding"]
    with api_server(tmp_path / "account", manifests) as api:
        container_of(manifests)["volumeMounts"].append({"name": "account", "mountPath": SECRETS})
        pod_of(manifests)["volumes"].append({"name": "account", "folder": str(api.folder)})
        variables = {
            "APP__NODE_CONDITIONS__API_SERVER": f"https://127.0.0.1:{api.port}",
            "APP__NODE_CONDITIONS__DRY_RUN": "false",
            "APP__NODE_CONDITIONS__INTERVAL_SECS": "1",
        }
        with pods.pod(f"conditions {may_patch}", manifests, variables=variables) as pod:
            deadline = time.monotonic() + PATIENCE_SECS
            while (
                not (_kinds(api) >= BOTH or FORBIDDEN.search(pod.log()))
                and time.monotonic() < deadline
            ):
                time.sleep(0.1)
            log = pod.log()
    assert _kinds(api) == (BOTH if may_patch else set()), log
    assert bool(FORBIDDEN.search(log)) is not may_patch
    assert set(api.conditions) <= {"node-a"}
