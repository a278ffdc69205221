"""Pod and container in the path of a memory control group, as kernel lines print it."""

import pytest

from exporter.reading.cgroup import pod_and_container

UID = "0a1b2c3d-1111-2222-3333-444455556666"
LOW = UID.replace("-", "_")
ID = "ab" * 32


@pytest.mark.parametrize(
    ("path", "pod", "container"),
    [
        (
            (
                f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{LOW}.slice"
                f"/cri-containerd-{ID}.scope"
            ),
            UID,
            ID,
        ),
        (f"/kubepods/burstable/pod{UID}/{ID}", UID, ID),
        (f"/kubepods.slice/kubepods-pod{LOW}.slice/crio-{ID}.scope", UID, ID),
        (f"/kubepods/pod{UID}", UID, None),
        (
            (
                "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice"
                f"/kubelet-kubepods-besteffort-pod{LOW}.slice/docker-{ID}.scope"
            ),
            UID,
            ID,
        ),
        (f"/kubepods/pod{'0f' * 16}/{ID}", "0f" * 16, ID),
        (f"/docker/{ID}", None, ID),
        ("/system.slice/podman.service", None, None),
        ("/", None, None),
        (f"/kubepods/pod{UID}/{ID}/kubepods/pod{'0f' * 16}/{'cd' * 32}", UID, ID),
        (f"/user.slice/user-7.slice/kubepods/pod{UID}/{ID}", None, None),
    ],
)
def test_each_layout_of_the_path_gives_pod_and_container(
    path: str, pod: str | None, container: str | None
) -> None:
    """The outermost owner counts: what a tenant makes below its own names nobody else."""
    found = pod_and_container(path)
    assert (found.get("pod_uid"), found.get("container_id")) == (pod, container)
