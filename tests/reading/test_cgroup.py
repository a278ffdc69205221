"""Whom a cgroup belongs to, in the layouts of all drivers and runtimes."""

import random
import re

import pytest

from exporter.reading.cgroup import NOBODY, CgroupOwner, parse_cgroup, roots_of_kubelet

CID = "4f" * 32
OUTER = "0d" * 32
UID = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
UID_ = UID.replace("-", "_")
STATIC = "ab" * 16

IN_POD = CgroupOwner(CID, UID)

LAYOUTS = {
    "v2 systemd containerd": (
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID_}.slice"
            f"/cri-containerd-{CID}.scope"
        ),
        IN_POD,
    ),
    "v2 systemd containerd, guaranteed": (
        f"0::/kubepods.slice/kubepods-pod{UID_}.slice/cri-containerd-{CID}.scope",
        IN_POD,
    ),
    "v2 systemd CRI-O": (
        (
            f"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{UID_}.slice"
            f"/crio-{CID}.scope"
        ),
        IN_POD,
    ),
    "v2 systemd CRI-O with a child cgroup": (
        f"0::/kubepods.slice/kubepods-pod{UID_}.slice/crio-{CID}.scope/container",
        IN_POD,
    ),
    "v2 systemd Docker": (
        f"0::/kubepods.slice/kubepods-pod{UID_}.slice/docker-{CID}.scope",
        IN_POD,
    ),
    "v2 cgroupfs": (f"0::/kubepods/burstable/pod{UID}/{CID}", IN_POD),
    "v2 cgroupfs, guaranteed": (f"0::/kubepods/pod{UID}/{CID}", IN_POD),
    "v2 cgroupfs CRI-O": (f"0::/kubepods/besteffort/pod{UID}/crio-{CID}", IN_POD),
    "v2 below a kubelet cgroup": (
        (
            f"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice"
            f"/kubelet-kubepods-burstable-pod{UID_}.slice/cri-containerd-{CID}.scope"
        ),
        IN_POD,
    ),
    "v2 cgroupfs below a kubelet cgroup": (
        f"0::/kubelet/kubepods/besteffort/pod{UID}/{CID}",
        IN_POD,
    ),
    "v2 seen from another cgroup namespace": (
        f"0::/../../kubepods-burstable-pod{UID_}.slice/cri-containerd-{CID}.scope",
        IN_POD,
    ),
    "v1 systemd with colons": (
        (
            f"13:memory:/system.slice/containerd.service/kubepods-besteffort-pod{UID_}.slice"
            f":cri-containerd:{CID}"
        ),
        IN_POD,
    ),
    "v2 static pod": (
        f"0::/kubepods.slice/kubepods-pod{STATIC}.slice/cri-containerd-{CID}.scope",
        CgroupOwner(CID, STATIC),
    ),
    "a container started inside a pod's container": (
        f"0::/kubepods/burstable/pod{UID}/{CID}/docker/{OUTER}",
        IN_POD,
    ),
    "a pod without a container, as for its sandbox": (
        f"0::/kubepods/burstable/pod{UID}",
        CgroupOwner(pod_uid=UID),
    ),
    "Docker, systemd": (
        f"0::/system.slice/docker-{CID}.scope",
        CgroupOwner(CID),
    ),
    "Docker, cgroupfs": (f"11:devices:/docker/{CID}", CgroupOwner(CID)),
    "Docker inside Docker": (
        f"0::/docker/{OUTER}/docker/{CID}",
        CgroupOwner(OUTER),
    ),
    "rootless Docker": (
        f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{CID}.scope",
        CgroupOwner(unit=f"user-1000.slice/{CID[:12]}"),
    ),
    "Podman": (
        f"0::/machine.slice/libpod-{CID}.scope/container",
        CgroupOwner(CID),
    ),
    "rootless Podman": (
        f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{CID}.scope",
        CgroupOwner(unit=f"user-1000.slice/{CID[:12]}"),
    ),
    "a Podman quadlet": (
        f"0::/system.slice/web.service/libpod-payload-{CID}",
        CgroupOwner(unit="web.service"),
    ),
    "ECS": (f"0::/ecs/{'7' * 32}/{CID}", CgroupOwner(CID)),
    "the monitor of a container is not the container": (
        f"0::/machine.slice/libpod-conmon-{CID}.scope",
        CgroupOwner(unit=f"libpod-conmon-{CID}.scope"),
    ),
    "a service": ("0::/system.slice/ssh.service", CgroupOwner(unit="ssh.service")),
    "a service's child cgroup": (
        "0::/system.slice/triton.service/workers/3",
        CgroupOwner(unit="triton.service"),
    ),
    "a session": (
        "0::/user.slice/user-1000.slice/session-3.scope",
        CgroupOwner(unit="user-1000.slice"),
    ),
    "a user's service": (
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service",
        CgroupOwner(unit="user-1000.slice"),
    ),
    "Slurm, v2": (
        "0::/system.slice/slurmstepd.scope/job_1009/step_0/user/task_0",
        CgroupOwner(unit="slurm/job_1009"),
    ),
    "Slurm, v1": (
        "5:devices:/slurm/uid_1000/job_1009/step_0",
        CgroupOwner(unit="slurm/job_1009"),
    ),
    "Slurm with several daemons on a node": (
        "0::/system.slice/node1_slurmstepd.scope/job_7/step_batch",
        CgroupOwner(unit="slurm/job_7"),
    ),
    "Docker at the root of a version 1 hierarchy": (f"2:cpu:/docker-{CID}", CgroupOwner(CID)),
    "LXC before version 4": ("0::/lxc/web/system.slice", CgroupOwner(unit="lxc/web")),
    "LXC": ("0::/lxc.payload.web/system.slice", CgroupOwner(unit="lxc.payload.web")),
    "a virtual machine": (
        r"0::/machine.slice/machine-qemu\x2d1\x2dtrain.scope",
        CgroupOwner(unit="machine-qemu-1-train.scope"),
    ),
    "a unit that somebody gave a wild name": (
        "0::/system.slice/" + r"a\x0a\x22\x7fb.scope",
        CgroupOwner(unit='a "\ufffdb.scope'),
    ),
    "no cgroup of its own": ("0::/", NOBODY),
    "the init scope": ("0::/init.scope", NOBODY),
    "a gone cgroup": (
        f"0::/kubepods/burstable/pod{UID}/{CID} (deleted)",
        IN_POD,
    ),
    "nothing": ("", NOBODY),
    "not a cgroup file": ("hello\n::\n1:2\n", NOBODY),
    "a name that only looks like a pod": (
        "0::/system.slice/podman.service",
        CgroupOwner(unit="podman.service"),
    ),
    "a short id outside a pod": ("0::/mine/abcdef123456", NOBODY),
}


VICTIM = "99999999-9999-4999-8999-999999999999"
VICTIM_CID = "e5" * 32
FORGED = (
    f"kubepods.slice/kubepods-pod{VICTIM.replace('-', '_')}.slice/cri-containerd-{VICTIM_CID}.scope"
)

TENANTS = {
    "a pod": (f"/kubepods.slice/kubepods-pod{UID_}.slice/cri-containerd-{CID}.scope", IN_POD),
    "a pod seen from another": (
        f"/../../kubepods-besteffort-pod{UID_}.slice/cri-containerd-{CID}.scope",
        IN_POD,
    ),
    "a pod of cgroupfs": (f"/kubepods/burstable/pod{UID}/{CID}", IN_POD),
    "a container": (f"/system.slice/docker-{CID}.scope", CgroupOwner(CID)),
    "a user": (
        "/user.slice/user-1000.slice/user@1000.service/app.slice",
        CgroupOwner(unit=f"user-1000.slice/{VICTIM_CID[:12]}"),
    ),
    "a service": ("/system.slice/ci.service/runner", CgroupOwner(unit="ci.service")),
    "a machine of LXC before version 4": ("/lxc/web/ns", CgroupOwner(unit="lxc/web")),
    "a machine": ("/lxc.payload.web/ns", CgroupOwner(unit="lxc.payload.web")),
    "a job": (
        "/system.slice/slurmstepd.scope/job_1009/step_0/user",
        CgroupOwner(unit="slurm/job_1009"),
    ),
    "a job of v1": ("/slurm/uid_1000/job_1009/step_0", CgroupOwner(unit="slurm/job_1009")),
}


@pytest.mark.parametrize("prefix", ["0:", "4:memory", "1:name=systemd"])
@pytest.mark.parametrize(("path", "owner"), TENANTS.values(), ids=TENANTS.keys())
def test_nobody_is_shown_as_another(path: str, owner: CgroupOwner, prefix: str) -> None:
    """Whatever a tenant makes below its own cgroup, the process is the tenant's."""
    assert parse_cgroup(f"{prefix}:{path}/{FORGED}") == owner
    for below in (
        f"docker/{VICTIM_CID}",
        f"kubepods/pod{VICTIM}/{VICTIM_CID}",
        "user-7.slice",
        "slurm/uid_7/job_7",
        "other.service",
        f"x\x1e0::/kubepods/pod{VICTIM}/{VICTIM_CID}",
        f"x\x85\u20280::/kubepods/pod{VICTIM}/{VICTIM_CID}",
    ):
        found = parse_cgroup(f"{prefix}:{path}/{below}")
        assert VICTIM not in str(found)
        unit = owner.unit.partition("/")[0] if owner.unit else None
        assert (found.pod_uid, found.unit and found.unit.partition("/")[0]) == (owner.pod_uid, unit)


PODS_OF_ANOTHER = (
    FORGED,
    f"kubepods/burstable/pod{VICTIM}/{VICTIM_CID}",
    f"kubelet/kubepods/pod{VICTIM}/{VICTIM_CID}",
    f"pod{VICTIM}/{VICTIM_CID}",
    f"kubepods-pod{VICTIM.replace('-', '_')}.slice:cri-containerd:{VICTIM_CID}",
)


@pytest.mark.parametrize("pod", PODS_OF_ANOTHER)
@pytest.mark.parametrize(
    "above",
    [
        *("/lxc/web", "/lxc/web/ns", "/../../../lxc/web", "/mine", "/mine.slice", "/mine.slice/a"),
        *("/mine.slice/mine-kubepods.slice", "/user.slice/mine", "/machine.slice", "/actions_job"),
        *("/user.slice/user-1000.slice/user@1000.service/app.slice", "/system.slice/mine"),
        *("/mine/containerd.service", "/mine/init.scope", "/kubepodsx", "/kubepods.slice.d"),
    ],
)
def test_a_pod_below_anything_but_the_kubelets_root_is_not_believed(above: str, pod: str) -> None:
    """Whoever was given a cgroup by LXC, systemd or an administrator makes no pod of it."""
    found = parse_cgroup(f"0::{above}/{pod}")
    assert (found.pod_uid, found.container_id) == (None, None)


@pytest.mark.parametrize(
    ("root", "pods"),
    [
        ("/container.slice", "container-kubepods.slice/container-kubepods-burstable.slice"),
        ("/lxc/node-1/ns", "kubepods/burstable"),
        ("/mine", "kubepods"),
    ],
)
def test_a_root_of_its_own_that_the_kubelet_has_is_known_from_our_pod(root: str, pods: str) -> None:
    """`cgroupRoot` of the kubelet, or a node in LXC: the others are where our own pod is."""
    ours, pod = f"0::{root}/{pods}/pod{VICTIM}/{VICTIM_CID}", f"/{pods}/pod{UID}/{CID}"
    assert roots_of_kubelet(ours) == {root}
    assert parse_cgroup(f"0::{root}{pod}", roots_of_kubelet(ours)) == IN_POD
    assert parse_cgroup(f"0::{root}{pod}").pod_uid is None
    assert parse_cgroup(f"0::{root}x{pod}", roots_of_kubelet(ours)).pod_uid is None


KIND = f"/system.slice/docker-{OUTER}.scope"
KIND_SLICE = f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{UID_}.slice"
KIND_POD = f"{KIND_SLICE}/cri-containerd-{CID}.scope"


@pytest.mark.parametrize(
    ("around", "pod"),
    [(KIND, KIND_POD), (f"/docker/{OUTER}", f"/kubelet/kubepods/burstable/pod{UID}/{CID}")],
)
def test_a_kubelet_in_a_container_has_its_pods_when_ours_is_one_of_them(
    around: str, pod: str
) -> None:
    """As in kind: from outside all of it is one container, from a pod inside it is pods."""
    assert parse_cgroup(f"0::{around}{pod}") == CgroupOwner(OUTER)
    assert parse_cgroup(f"0::{around}{pod}", roots_of_kubelet(f"0::{around}{pod}")) == IN_POD
    assert roots_of_kubelet("0::/") == frozenset()
    assert roots_of_kubelet(f"0::{pod}") == frozenset()
    assert roots_of_kubelet(f"0::{pod}/docker/{OUTER}/kubepods/pod{VICTIM}") == frozenset()


@pytest.mark.parametrize(("text", "owner"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_layout_names_its_owner(text: str, owner: CgroupOwner) -> None:
    """Drivers, runtimes and nesting differ; container, pod and unit come out the same."""
    assert parse_cgroup(text) == owner


def test_the_hierarchy_that_says_most_wins() -> None:
    """Of the hierarchies of v1 some stop at a parent; the one that names the container counts."""
    text = "\n".join(
        [
            "12:cpuset:/",
            "11:freezer:/system.slice",
            f"4:memory:/kubepods/burstable/pod{UID}/{CID}",
            "1:name=systemd:/system.slice/containerd.service",
            "0::/system.slice/containerd.service",
        ]
    )
    assert parse_cgroup(text) == IN_POD


@pytest.mark.parametrize("daemon", ["system.slice/slurmd.service", "user.slice/user-1000.slice"])
@pytest.mark.parametrize("job_is_first", [True, False])
def test_a_job_of_v1_wins_over_the_unit_that_started_it(daemon: str, *, job_is_first: bool) -> None:
    """Slurm has jobs in some hierarchies; in the others they are in the unit of slurmd or sshd."""
    lines = ["9:devices:/slurm/uid_1000/job_1009/step_0/task_0", f"8:pids:/{daemon}"]
    text = "\n".join(lines if job_is_first else reversed(lines))
    assert parse_cgroup(text) == CgroupOwner(unit="slurm/job_1009")


def test_no_text_breaks_the_parser() -> None:
    """Ten thousand damaged lines give an owner or nobody, never an exception."""
    chance = random.Random(7)  # noqa: S311 - repeatable, not secret
    lines = [text for text, _ in LAYOUTS.values() if text]
    for _ in range(10_000):
        line = list(chance.choice(lines))
        for _ in range(chance.randrange(1, 6)):
            line[chance.randrange(len(line))] = chance.choice("/:-._\\x\u20ac0af\n ")
        owner = parse_cgroup("".join(line)[: chance.randrange(1, 300)])
        assert owner.pod_uid is None or re.fullmatch(r"[0-9a-f-]{32,36}", owner.pod_uid)
