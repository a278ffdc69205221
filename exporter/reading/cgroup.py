"""The owner of a process by its cgroup: a pod, container, unit, user or batch job.

Parses the text of /proc/PID/cgroup (https://man7.org/linux/man-pages/man7/cgroups.7.html), v1 and
v2, with the paths of the systemd and cgroupfs drivers of containerd, CRI-O, Docker and Podman. The
outermost owner in a path wins: the owner of a cgroup may create others below it with any name, so
names below an owner prove nothing. A pod is accepted only if all above it belongs to the kubelet or
the system: elsewhere any user may have created it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from exporter.model.label import clean_text
from exporter.record import dataclass

MAX_PATH_SEGMENTS = 64
REMEMBERED = 1024
"""The most paths whose owners are cached: processes seldom move."""

SHORT_ID_CHARS = 12
"""The length of container ids in container tools."""

_UID = r"[0-9a-fA-F]{8}(?:[_-]?[0-9a-fA-F]{4}){3}[_-]?[0-9a-fA-F]{12}"
_POD = re.compile(rf"(?:[\w.-]*kubepods(?:-burstable|-besteffort)?-)?pod({_UID})(?:\.slice)?")
_ABOVE_PODS = re.compile(
    r"[\w.-]*kubepods(?:-burstable|-besteffort)?(?:\.slice)?|burstable|besteffort"
    r"|kubelet(?:\.slice)?|system\.slice"
)
"""Cgroups made by the kubelet, systemd or an administrator; `kubelet` is kind's root of pods."""
_NAMED_CONTAINER = re.compile(
    r"(?:cri-containerd|crio|docker|libpod-payload|libpod|nerdctl|containerd)-([0-9a-f]{12,64})"
    r"(?:\.scope)?"
)
_BARE_CONTAINER = re.compile(r"[0-9a-f]{64}")
_BARE_CONTAINER_IN_POD = re.compile(r"[0-9a-f]{12,64}")
_COLONS = re.compile(r"([^:]*):(cri-containerd|crio|docker|libpod):([0-9a-f]{12,64})")
_USER_SLICE = re.compile(r"user-\d+\.slice")
_SLURM = re.compile(r"(?:[\w-]+_)?slurmstepd\.scope|slurm(?:_[\w-]+)?")
_SLURM_JOB = re.compile(r"job_\d+|s[0-9A-HJKMNP-TV-Z]{13}")
"""The number of a job, or from Slurm 26.05 on its SLUID."""

JOB_OF_SLURM = "slurm/"
"""What the unit of a batch job begins with."""

_LXC_FOLDER = "lxc"
"""The cgroup of containers of LXC before version 4, and of Proxmox."""
_LXC = re.compile(r"(?:lxc\.payload[.-]|lxc/).+")
_UNIT = re.compile(r".+\.(?:service|scope)")
_RUNTIME_UNIT = re.compile(
    r"(?:containerd|docker|crio|cri-dockerd?|kubelet|k3s(?:-agent)?|rke2-(?:server|agent))\.service"
    r"|init\.scope"
)
"""Units that create cgroups for others below their own."""
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class CgroupOwner:
    """The owner of a cgroup; outside containers only `unit` is known.

    `pod_uid` has hyphens, or is the 32 digits of a static pod; `unit` is a systemd unit, a user
    slice (with a container of that user, if there is one), or the job of a batch system.
    """

    container_id: str | None = None
    pod_uid: str | None = None
    unit: str | None = None


NOBODY = CgroupOwner()


def parse_cgroup(text: str, nested_in: frozenset[str] = frozenset()) -> CgroupOwner:
    """Return the owner of the process with this `/proc/PID/cgroup`; NOBODY if there is none.

    With several hierarchies (v1) the most specific owner wins: some have only part of the path, or
    the unit that started a batch job.
    `nested_in` are the parent cgroups of our kubelet's pods, if not the root.
    """
    owners = [parse_path(path, nested_in) for path in _paths(text)]
    return max(owners, key=_specificity, default=NOBODY)


@lru_cache(maxsize=REMEMBERED)
def parse_path(path: str, nested_in: frozenset[str] = frozenset()) -> CgroupOwner:
    """Return the owner of one cgroup path."""
    parent = next((each for each in nested_in if path.startswith(f"{each}/")), "")
    segments = _segments(path.removeprefix(parent))
    unit, is_kubelets = None, True
    for at, segment in enumerate(segments):
        owner = _owner(segments, at)
        if owner is None:
            is_kubelets = is_kubelets and _ABOVE_PODS.fullmatch(segment) is not None
        elif _RUNTIME_UNIT.fullmatch(segment) is None:
            return owner if is_kubelets or owner.pod_uid is None else NOBODY
        else:
            unit = owner.unit if segment != "init.scope" else None
    return CgroupOwner(unit=unit)


def pod_and_container(path: str) -> dict[str, str]:
    """Return `pod_uid` and `container_id` of a cgroup path in a kernel log line."""
    owner = parse_path(path)
    result = {"pod_uid": owner.pod_uid, "container_id": owner.container_id}
    return {name: value for name, value in result.items() if value is not None}


def roots_of_kubelet(text: str) -> frozenset[str]:
    """Return the parent cgroups of our kubelet's pods, found by the pod of this process.

    `text` is our own `/proc/self/cgroup`; the result is `nested_in` for other processes. It is
    empty if that is the root, as for a kubelet outside of containers and without `cgroupRoot`, and
    if this process is in no pod or in more than one.
    """
    return frozenset(parent for path in _paths(text) if (parent := _above_pods(path)))


def _above_pods(path: str) -> str:
    segments = path.split("/")[:MAX_PATH_SEGMENTS]
    pods = [at for at, segment in enumerate(segments) if _POD.match(segment)]
    if len(pods) != 1:
        return ""
    top = pods[0]
    while _ABOVE_PODS.fullmatch(segments[top - 1]):
        top -= 1
    return "/".join(segments[:top])


def _paths(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        _, _, rest = line.partition(":")
        _, separator, path = rest.partition(":")
        if separator and path.startswith("/"):
            yield path


def _specificity(owner: CgroupOwner) -> tuple[bool, bool, bool, bool]:
    unit = owner.unit or ""
    is_job = unit.startswith(JOB_OF_SLURM)
    return owner.pod_uid is not None, owner.container_id is not None, is_job, unit != ""


def _segments(path: str) -> list[str]:
    """Split a path; `a:b:c` in systemd's path-like form becomes `a/b-c`."""
    segments: list[str] = []
    for raw in path.removesuffix(" (deleted)").split("/")[:MAX_PATH_SEGMENTS]:
        colons = _COLONS.fullmatch(raw)
        if colons is None:
            segments.append(raw)
        else:
            segments += [colons[1], f"{colons[2]}-{colons[3]}"]
    return [segment for segment in segments if segment not in ("", ".", "..")]


def _owner(segments: Sequence[str], at: int) -> CgroupOwner | None:
    """Return the owner that this segment of a path names; None if it names none."""
    segment, below = segments[at], segments[at + 1 :]
    if pod := _POD.fullmatch(segment):
        return CgroupOwner(_container_in_pod(below), pod[1].replace("_", "-").lower())
    if container_id := _container(segment):
        return CgroupOwner(container_id)
    if _USER_SLICE.fullmatch(segment):
        inner = _first_container(below)
        return CgroupOwner(unit=f"{segment}/{inner[:SHORT_ID_CHARS]}" if inner else segment)
    if _SLURM.fullmatch(segment):
        job = next((name for name in below[:2] if _SLURM_JOB.fullmatch(name)), None)
        return CgroupOwner(unit=f"{JOB_OF_SLURM}{job}" if job else segment)
    if segment == _LXC_FOLDER and below:
        segment = f"{segment}/{below[0]}"
    if _LXC.fullmatch(segment) or _UNIT.fullmatch(segment):
        return CgroupOwner(unit=clean_text(_ESCAPED.sub(_unescaped, segment)))
    return None


def _container(segment: str) -> str | None:
    """Return the id of the container that a segment names in any place."""
    named = _NAMED_CONTAINER.fullmatch(segment)
    if named is not None:
        return named[1]
    return segment if _BARE_CONTAINER.fullmatch(segment) else None


def _first_container(segments: Sequence[str]) -> str | None:
    return next((result for segment in segments if (result := _container(segment))), None)


def _container_in_pod(below: Sequence[str]) -> str | None:
    """Return the container directly below a pod, in any form, else the outermost one."""
    if below and _BARE_CONTAINER_IN_POD.fullmatch(below[0]):
        return below[0]
    return _first_container(below)


def _unescaped(match: "re.Match[str]") -> str:
    return chr(int(match[1], 16))
