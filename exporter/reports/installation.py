"""The environment of this process: container or host, user, mounts and settings."""

import os
from collections.abc import Callable, Mapping
from dataclasses import field

from exporter.config import Config
from exporter.record import dataclass

CONTAINER_SIGNS = ("/.dockerenv", "/run/.containerenv")
MOUNTS = {"/proc": "/host/proc", "/sys": "/host/sys", "/": "/host"}


@dataclass(frozen=True, slots=True)
class Installation:
    """Facts that do not change while the process runs; `unmounted` are folders of the host.

    `rule_mistakes` and `state_problems` return sentences about the rule files in use and about the
    state directory as it is now.
    """

    config: Config = field(default_factory=Config)
    in_container: bool = False
    in_kubernetes: bool = False
    unmounted: tuple[str, ...] = ()
    rule_mistakes: Callable[[], tuple[str, ...]] = tuple
    state_problems: Callable[[], tuple[str, ...]] = tuple


def installation(config: Config, container_variables: Mapping[str, str]) -> Installation:
    """Return the installation; `config` has resolved roots, variables are of a container engine."""
    in_container = bool(container_variables) or any(map(os.path.exists, CONTAINER_SIGNS))
    roots = (config.sources.proc_root, config.sources.sys_root, config.sources.host_root)
    unmounted = [MOUNTS[root] for root in roots if root in MOUNTS]
    return Installation(
        config=config,
        in_container=in_container,
        in_kubernetes="KUBERNETES_SERVICE_HOST" in container_variables,
        unmounted=tuple(unmounted) if in_container else (),
    )


def ebpf_idle(config: Config) -> str:
    """Say why eBPF is enabled and counts nothing; empty if it counts, or is off."""
    ebpf = config.ebpf
    chosen = {
        "ebpf": ebpf.layers,
        "ebpf_kernel": ebpf.kernel_events,
        "ebpf_functions": (*ebpf.torch_operators, *ebpf.python_functions),
    }
    wanted = {source for source, what in chosen.items() if what}
    if not ebpf.enabled:
        return ""
    if not wanted:
        return (
            "ebpf.layers, ebpf.kernel_events, ebpf.torch_operators and ebpf.python_functions are"
            " empty"
        )
    if not config.metrics.enabled.probes:
        return "metrics.enabled.probes is false"
    if wanted <= set(config.sources.disabled):
        return f"sources.disabled has {', '.join(sorted(wanted))}"
    return ""
