"""Whom `/proc/*/cgroup` of real machines names, under every runtime that was recorded."""

from pathlib import Path

import pytest

from exporter.reading.cgroup import CgroupOwner, parse_cgroup

CID, UID = "c0" * 32, "aaaaaaaa-0000-4000-8000-000000000001"
IN_POD, CONTAINER = CgroupOwner(CID, UID), CgroupOwner(CID)
OWNERS = {
    "CRI-O in a pod, systemd, version 1": IN_POD,
    "CRI-O in a pod, systemd": IN_POD,
    "CRI-O in a pod that is guaranteed its resources": IN_POD,
    "containerd in a pod, version 1, with colons": IN_POD,
    "containerd in a pod, cgroupfs, version 1": IN_POD,
    "containerd in a pod, cgroupfs": IN_POD,
    "containerd in a pod that is guaranteed its resources, cgroupfs": IN_POD,
    "containerd below a cgroup of the kubelet": IN_POD,
    "a pod of a kubelet that is in a container, as kind": CONTAINER,
    "a pod without a container": CgroupOwner(pod_uid=UID),
    "Docker, version 1": CONTAINER,
    "Podman": CONTAINER,
    "Podman without root": CgroupOwner(unit=f"user-1000.slice/{CID[:12]}"),
    "Podman quadlet": CgroupOwner(unit="web.service"),
    "a service": CgroupOwner(unit="ssh.service"),
    "Slurm": CgroupOwner(unit="slurm/job_1009"),
    "a virtual machine of OpenStack": CgroupOwner(unit="machine-qemu-1-instance-00000002.scope"),
}
FILE = Path(__file__).resolve().parents[1] / "captures/cgroup/proc_cgroup.txt"
LINES = dict(part.split("\n")[:2] for part in FILE.read_text("utf-8").split("# ")[1:])


def test_every_line_is_tried() -> None:
    """A line that is added has its owner here."""
    assert LINES.keys() == OWNERS.keys()


@pytest.mark.parametrize(("name", "owner"), OWNERS.items(), ids=OWNERS)
def test_a_recorded_line_names_its_owner(name: str, owner: CgroupOwner) -> None:
    """The container, its pod, or the unit that started the process."""
    assert parse_cgroup(LINES[name]) == owner
