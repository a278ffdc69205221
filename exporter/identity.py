"""Version, node name, and the environment of child processes."""

import socket
from collections.abc import Mapping
from pathlib import Path

from exporter.model.label import clean_text
from exporter.record import dataclass

KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "HOME", "PYTHONOPTIMIZE", "PYTHONNODEBUGRANGES")
CONTAINER_VARIABLES = ("KUBERNETES_SERVICE_HOST", "container")
"""Variables that Kubernetes and container engines set."""

KEPT_PREFIXES = ("NVIDIA_", "CUDA_", "FAKE")


@dataclass(frozen=True, slots=True)
class Identity:
    """The version, the names of the node, and the environments."""

    version: str
    node: str
    hostname: str
    child_environment: Mapping[str, str]
    container_variables: Mapping[str, str]


def identify(environment: Mapping[str, str]) -> Identity:
    """Return the identity of this process; the node is NODE_NAME, else the host name."""
    hostname = clean_text(socket.gethostname()) or "unknown"
    return Identity(
        version=read_version(),
        node=clean_text(environment.get("NODE_NAME", "")) or hostname,
        hostname=hostname,
        child_environment=child_environment(environment),
        container_variables={
            name: environment[name] for name in CONTAINER_VARIABLES if environment.get(name)
        },
    )


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of child processes, with chosen variables: no secret reaches them."""
    kept = {
        name: value
        for name, value in environment.items()
        if name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES)
    }
    package_parent = str(Path(__file__).resolve().parent.parent)
    return {
        **kept,
        "LC_ALL": "C",
        "PYTHONPATH": package_parent,
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def read_version() -> str:
    """Return the version: the file VERSION of a checkout, else that of the package (`setup.py`)."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / "VERSION"
    file = checkout if checkout.exists() else package / "VERSION"
    return file.read_text("utf-8").strip()
