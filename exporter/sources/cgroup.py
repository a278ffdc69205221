"""Whom a process belongs to by its cgroup: a container, a pod, a unit, a user.

Takes the text of /proc/PID/cgroup (https://man7.org/linux/man-pages/man7/cgroups.7.html), v1 and
v2, with the paths of the systemd and cgroupfs drivers of containerd, CRI-O, Docker and Podman.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from exporter.model.label import clean_text

MAX_PATH_SEGMENTS = 64

_UID = r"[0-9a-fA-F]{8}(?:[_-]?[0-9a-fA-F]{4}){3}[_-]?[0-9a-fA-F]{12}"
_POD_SEGMENT = re.compile(rf"(?:.*kubepods(?:-burstable|-besteffort)?-)?pod({_UID})(?:\.slice)?")
_NAMED_CONTAINER = re.compile(
    r"(cri-containerd|crio|docker|libpod-payload|libpod|nerdctl|containerd)-([0-9a-f]{12,64})"
    r"(?:\.scope)?"
)
_BARE_CONTAINER = re.compile(r"[0-9a-f]{64}")
_BARE_CONTAINER_IN_POD = re.compile(r"[0-9a-f]{12,64}")
_COLONS = re.compile(r"(.*):(cri-containerd|crio|docker|libpod):([0-9a-f]{12,64})")

RUNTIMES = {
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
    "containerd": "containerd",
    "crio": "cri-o",
    "docker": "docker",
    "libpod": "podman",
    "libpod-payload": "podman",
}
BARE_PARENTS = {"docker": "docker", "libpod_parent": "podman"}
"""The runtime by the folder that plain ids lie in."""

_USER_SLICE = re.compile(r"user-\d+\.slice")
_SLURM_JOB = re.compile(r"job_\d+")
_LXC = re.compile(r"lxc\.payload[.-].+")
_UNIT = re.compile(r".+\.(?:service|scope)")
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class CgroupOwner:
    """Whom a cgroup belongs to; outside containers only `unit` can be said.

    `pod_uid` has hyphens, or is the 32 digits of a static pod; `unit` is a systemd unit, a user
    slice, or the job of a batch system.
    """

    container_id: str | None = None
    pod_uid: str | None = None
    runtime: str | None = None
    unit: str | None = None


NOBODY = CgroupOwner()


def parse_cgroup(text: str) -> CgroupOwner:
    """The owner of the process whose `/proc/PID/cgroup` this is; NOBODY when nothing is said.

    With several hierarchies (v1) the one that says most wins: some hold only part of the path.
    """
    owners = [parse_path(path) for path in _paths(text)]
    return max(owners, key=_how_much_is_said, default=NOBODY)


def _paths(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        _, _, rest = line.partition(":")
        _, separator, path = rest.partition(":")
        if separator and path.startswith("/"):
            yield path


def _how_much_is_said(owner: CgroupOwner) -> tuple[bool, bool, bool]:
    return owner.pod_uid is not None, owner.container_id is not None, owner.unit is not None


def parse_path(path: str) -> CgroupOwner:
    """The owner of one cgroup path."""
    segments = _segments(path)
    pod_at, pod_uid = _innermost_pod(segments)
    # Below its pod the outermost container is the pod's own (others are started inside of it);
    # without a pod the innermost one is what runs here.
    found = [_container(segments, at) for at in range(max(pod_at, 0), len(segments))]
    containers = [one for one in found if one is not None]
    if not containers:
        unit = None if pod_uid else _unit(segments)
        return CgroupOwner(pod_uid=pod_uid, unit=unit)
    container_id, runtime = containers[0] if pod_uid else containers[-1]
    return CgroupOwner(container_id, pod_uid, runtime)


def _segments(path: str) -> list[str]:
    """The parts of a path, `a:b:c` of the path-like form of systemd taken as `a/b-c`."""
    segments: list[str] = []
    for raw in path.removesuffix(" (deleted)").split("/")[:MAX_PATH_SEGMENTS]:
        colons = _COLONS.fullmatch(raw)
        if colons is None:
            segments.append(raw)
        else:
            segments += [colons[1], f"{colons[2]}-{colons[3]}"]
    return [segment for segment in segments if segment not in ("", ".", "..")]


def _innermost_pod(segments: Sequence[str]) -> tuple[int, str | None]:
    for at in range(len(segments) - 1, -1, -1):
        match = _POD_SEGMENT.fullmatch(segments[at])
        if match is not None:
            return at, match[1].replace("_", "-").lower()
    return -1, None


def _container(segments: Sequence[str], at: int) -> tuple[str, str | None] | None:
    """The id and the runtime of the container that this segment names, if it names one."""
    named = _NAMED_CONTAINER.fullmatch(segments[at])
    if named is not None:
        return named[2], RUNTIMES[named[1]]
    parent = segments[at - 1] if at else ""
    in_pod = _POD_SEGMENT.fullmatch(parent) is not None
    pattern = _BARE_CONTAINER_IN_POD if in_pod else _BARE_CONTAINER
    if pattern.fullmatch(segments[at]) is None:
        return None
    return segments[at], BARE_PARENTS.get(parent)


def _unit(segments: Sequence[str]) -> str | None:
    """The unit, user slice or batch job of a process outside containers."""
    words = [clean_text(_ESCAPED.sub(_unescaped, segment)) for segment in segments]
    if any("slurm" in word for word in words):
        job = _first(_SLURM_JOB, words)
        if job is not None:
            return f"slurm/{job}"
    outer = _first(_USER_SLICE, words) or _first(_LXC, words)
    return outer or _first(_UNIT, [word for word in reversed(words) if word != "init.scope"])


def _first(pattern: "re.Pattern[str]", words: Iterable[str]) -> str | None:
    return next((word for word in words if pattern.fullmatch(word) is not None), None)


def _unescaped(match: "re.Match[str]") -> str:
    return chr(int(match[1], 16))
