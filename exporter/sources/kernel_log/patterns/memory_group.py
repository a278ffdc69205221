"""Pod and container in the path of a memory control group, as kernel lines print it."""

import re

_POD = re.compile(
    r"(?:^|[/-])pod(?P<uid>[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}"
    r"|[0-9a-f]{32})(?:\.slice)?(?=/|$)"
)
_CONTAINER = re.compile(r"/(?:[a-z]{1,20}-){0,2}(?P<id>[0-9a-f]{64})(?:\.scope)?(?=/|$)")


def pod_and_container(path: str) -> dict[str, str]:
    """`pod_uid` and `container_id` where the path has them.

    Understands the layouts of the systemd and cgroupfs drivers and of a nested kubelet; the uid
    of a static pod is 32 hex digits without separators and stays as it is.
    """
    found = {}
    if pods := _POD.findall(path):
        found["pod_uid"] = pods[-1].replace("_", "-")
    if containers := _CONTAINER.findall(path):
        found["container_id"] = containers[-1]
    return found
