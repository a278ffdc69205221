"""Control groups made for real: a process is shown as nobody else's, whatever it makes below."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.collectors.workloads.processes import ProcessReader
from exporter.reading.cgroup import CgroupOwner

CID, VICTIM_CID = "4f" * 32, "e5" * 32
UID, VICTIM = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a", "99999999-9999-4999-8999-999999999999"

Owner = Callable[[str], CgroupOwner | None]

pytestmark = pytest.mark.system


def _mount() -> Path | None:
    """Where control groups of version 2 are mounted here."""
    lines = [line.split() for line in Path("/proc/mounts").read_text().split("\n") if line]
    return next((Path(line[1]) for line in lines if line[2] == "cgroup2"), None)


@pytest.fixture
def owner_in(tmp_path: Path) -> Iterator[Owner]:
    """Who owns a real process that is put into a real cgroup of this path.

    The paths are below a cgroup of the test's own, where the kubelet that we are a pod of has its.
    """
    mount = _mount()
    if mount is None or os.geteuid() != 0 or not os.access(mount, os.W_OK):
        pytest.skip("no control groups of version 2 may be made here")
    root = f"hw-exporter-test-{os.getpid()}"
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text(f"0::/{root}/kubepods/pod{UID}/{CID}\n")
    reader = ProcessReader(tmp_path, 100)
    with ExitStack() as stack:

        def owner(path: str) -> CgroupOwner | None:
            group = mount / root / path
            try:
                group.mkdir(parents=True)
            except OSError as error:
                pytest.skip(f"no control groups may be made here: {error.strerror}")
            stack.callback(_remove, group, mount)
            process = stack.enter_context(subprocess.Popen(["sleep", "60"]))
            stack.callback(process.kill)
            (group / "cgroup.procs").write_text(str(process.pid))
            (tmp_path / str(process.pid)).symlink_to(f"/proc/{process.pid}")
            facts = reader.read(process.pid)
            process.kill()
            process.wait()
            return None if facts is None else facts.owner

        yield owner


def _remove(group: Path, mount: Path) -> None:
    while group != mount:
        if not any(it.is_dir() for it in group.iterdir()):
            group.rmdir()
        group = group.parent


def _slice(uid: str) -> str:
    return f"kubepods-pod{uid.replace('-', '_')}.slice"


FORGERIES = (
    f"kubepods.slice/{_slice(VICTIM)}/cri-containerd-{VICTIM_CID}.scope",
    f"kubepods/burstable/pod{VICTIM}/{VICTIM_CID}",
    f"docker/{VICTIM_CID}",
    f"x\x1e0::/kubepods/pod{VICTIM}/{VICTIM_CID}",
    f"x\u2028\x850::/kubepods/pod{VICTIM}/{VICTIM_CID}",
    "slurm/uid_7/job_7",
)


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            f"kubepods.slice/{_slice(UID)}/cri-containerd-{CID}.scope",
            CgroupOwner(CID, UID),
        ),
        (f"kubepods/burstable/pod{UID}/{CID}", CgroupOwner(CID, UID)),
        (f"system.slice/docker-{CID}.scope", CgroupOwner(CID)),
        ("system.slice/slurmstepd.scope/job_1009", CgroupOwner(unit="slurm/job_1009")),
        ("system.slice/ci.service", CgroupOwner(unit="ci.service")),
    ],
)
def test_a_process_is_its_outermost_owners(
    owner_in: Owner, path: str, expected: CgroupOwner, forgery: str
) -> None:
    """The kernel itself writes the path; names below the owner's cgroup are anybody's."""
    assert owner_in(f"{path}/{forgery}") == expected


@pytest.mark.parametrize("above", ["lxc/web", "mine.slice", "user.slice/mine", "mine"])
def test_no_process_is_of_a_pod_that_its_owner_made_up(owner_in: Owner, above: str) -> None:
    """Whoever has a cgroup that is not the kubelet's may make any cgroups below it, but no pod."""
    for forgery in FORGERIES[:2]:
        owner = owner_in(f"{above}/{forgery}")
        assert owner is not None
        assert (owner.pod_uid, owner.container_id) == (None, None)


def test_a_users_process_is_that_users(owner_in: Owner) -> None:
    """Containers of a user are shown below the user's own name."""
    user = "user.slice/user-1000.slice/user@1000.service"
    assert owner_in(f"{user}/{FORGERIES[0]}") == CgroupOwner(unit=f"user-1000.slice/{'e5' * 6}")
