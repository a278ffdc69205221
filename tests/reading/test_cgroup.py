"""Whom a cgroup belongs to, in the layouts of all drivers and runtimes."""

from pathlib import Path

import pytest

from exporter.reading.cgroup import NOBODY, CgroupOwner, parse_cgroup, roots_of_kubelet
from exporter.toml import tomllib

CID, UID, STATIC = "c0" * 32, "aaaaaaaa-0000-4000-8000-000000000001", "ab" * 16
OUTER = "0d" * 32
VICTIM = "99999999-9999-4999-8999-999999999999"
VICTIM_CID = "e5" * 32
FORGED = (
    f"kubepods.slice/kubepods-pod{VICTIM.replace('-', '_')}.slice/cri-containerd-{VICTIM_CID}.scope"
)
IDS = {
    "UID_": UID.replace("-", "_"),
    "UID": UID,
    "STATIC": STATIC,
    "OUTER": OUTER,
    "OTHER_SHORT": VICTIM_CID[:12],
    "SHORT": CID[:12],
    "CID": CID,
}
"""What the words in capitals stand for, the longest words first."""

IN_POD = CgroupOwner(CID, UID)
OWNERS = {
    "pod": IN_POD,
    "container": CgroupOwner(CID),
    "nobody": NOBODY,
    "static pod": CgroupOwner(CID, STATIC),
    "pod without a container": CgroupOwner(pod_uid=UID),
    "outer container": CgroupOwner(OUTER),
}
TABLES = tomllib.loads(Path(__file__).with_name("cgroups.toml").read_text("utf-8"))
CAPTURE = Path(__file__).resolve().parents[1] / "captures/cgroup/proc_cgroup.txt"
RECORDED = dict(part.split("\n")[:2] for part in CAPTURE.read_text("utf-8").split("# ")[1:])


def spelled(text: str) -> str:
    """The text with ids in the places of their words."""
    for word, id_ in IDS.items():
        text = text.replace(word, id_)
    return text


def owner_of(word: str) -> CgroupOwner:
    """The owner of this word, else this unit."""
    return OWNERS.get(word) or CgroupOwner(unit=spelled(word))


def rows(table: str) -> dict[str, tuple[str, CgroupOwner]]:
    """The lines and their owners in a table of cgroups.toml, by name."""
    found = TABLES[table].items()
    return {name: (spelled(row["line"]), owner_of(row["owner"])) for name, row in found}


LAYOUTS, TENANTS = rows("layouts"), rows("tenants")


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
KIND_POD = spelled(
    "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podUID_.slice/cri-containerd-CID.scope"
)


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


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_line_names_its_owner(name: str) -> None:
    """The container, its pod, or the unit that started the process; a new line has its owner."""
    assert parse_cgroup(RECORDED[name]) == owner_of(TABLES["recorded"][name])


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
