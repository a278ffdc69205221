"""From a rendered pod to a container on a fake node: what the kubelet and the runtime would do."""

from pathlib import Path
from typing import Any

from tests.fakes.container import Bind, Container
from tests.fakes.host_tree import HostTree
from tests.fakes.image import Image
from tests.fakes.manifests import Manifest, container_of, pod_of
from tests.fakes.nvml_library import NvmlLibrary

LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
NODE_NAME = "node-a"


def container_for(
    manifests: list[Manifest], image: Image, host: HostTree, scratch: Path, **variables: str
) -> Container:
    """The pod's only container, with its command, mounts and rights, and further variables."""
    pod, container = pod_of(manifests), container_of(manifests)
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    binds = [
        Bind(
            _source(volumes[mount["name"]], manifests, host, scratch),
            mount["mountPath"],
            read_only=mount.get("readOnly", False),
        )
        for mount in sorted(container["volumeMounts"], key=lambda mount: mount["mountPath"])
    ]
    wanted = {**pod.get("securityContext", {}), **container["securityContext"]}
    return Container(
        root=image.root,
        command=(*image.words("Entrypoint"), *container["args"]),
        environment={**image.environment(), **_variables(container), **variables},
        uid=wanted["runAsUser"],
        gid=wanted["runAsGroup"],
        capabilities=tuple(wanted.get("capabilities", {}).get("add", ())),
        binds=tuple(binds),
        sees_host_pids=pod.get("hostPID", False),
        log=scratch / "container.log",
    )


def with_driver_library(container: Container, nvml: NvmlLibrary) -> Container:
    """The container with what the NVIDIA runtime brings in where the environment asks for it."""
    asked = container.environment
    assert asked["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert asked["NVIDIA_DRIVER_CAPABILITIES"] == "utility"
    library = nvml.library_dir / "libnvidia-ml.so.1"
    scenario = {
        name: value
        for name, value in nvml.environment.items()
        if name.startswith("FAKE_NVML_SCENARIO")
    }
    return Container(
        root=container.root,
        command=container.command,
        environment={**asked, **scenario},
        uid=container.uid,
        gid=container.gid,
        capabilities=container.capabilities,
        binds=(
            *container.binds,
            Bind(library, LIBRARY),
            Bind(nvml.scenario.parent, str(nvml.scenario.parent)),
            Bind(CAPTURES, str(CAPTURES)),
        ),
        sees_host_pids=container.sees_host_pids,
        log=container.log,
    )


CAPTURES = Path(__file__).resolve().parent.parent / "captures"


def _variables(container: dict[str, Any]) -> dict[str, str]:
    found = {}
    for item in container["env"]:
        field = item.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        found[item["name"]] = NODE_NAME if field == "spec.nodeName" else item["value"]
    return found


def _source(
    volume: dict[str, Any], manifests: list[Manifest], host: HostTree, scratch: Path
) -> Path:
    """The folder or file that a volume shows, made as the kubelet makes it."""
    if "configMap" in volume:
        name: str = volume["configMap"]["name"]
        (data,) = [item["data"] for item in manifests if item["metadata"]["name"] == name]
        folder = scratch / name
        folder.mkdir(exist_ok=True)
        for file, text in data.items():
            (folder / file).write_text(text)
        return folder
    place = host.at(str(volume["hostPath"]["path"]))
    if volume["hostPath"].get("type") == "DirectoryOrCreate":
        place.mkdir(parents=True, exist_ok=True)
    return place
