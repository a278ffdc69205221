"""Puts the GPU source together from its configuration."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from exporter.config import Demo, Gpu
from exporter.probes.breadcrumb import Breadcrumb
from exporter.probes.child import Children, Command
from exporter.probes.supervisor import RequestProbe
from exporter.sources.gpu.cache import CacheLives, GpuCache
from exporter.sources.gpu.nvidia_smi import NvidiaSmiWay
from exporter.sources.gpu.nvml import NvmlWay
from exporter.sources.gpu.source import Driver, GpuSource, Ways
from exporter.sources.gpu.xid_events import GpuEvents
from exporter.sources.interface import CallBlocking


def build_gpu(
    config: Gpu,
    *,
    children: Children,
    environment: Mapping[str, str],
    call: CallBlocking,
    wall: Callable[[], float],
    boottime: Callable[[], float],
    wake: Callable[[], None],
    demo: Demo | None = None,
    sys_root: Path = Path("/sys"),
) -> GpuSource:
    """The GPU source with the ways that the configuration allows."""
    nvml = smi = None
    events = GpuEvents(wall, boottime)
    probe = _probe(config, demo or Demo(), environment, children, events, sys_root=sys_root)
    if probe is not None:
        nvml = NvmlWay(probe, config.timeout_secs)
    if config.backend in ("auto", "nvidia-smi"):
        smi = NvidiaSmiWay(
            children, _smi_paths(config, environment), environment, config.timeout_secs
        )
    return GpuSource(
        Ways(
            nvml,
            smi,
            is_stuck=lambda: children.abandoned_count > 0,
            restarts=lambda: None if probe is None else probe.restarts,
            first="demo" if config.backend == "demo" else "nvml",
        ),
        _driver(config),
        GpuCache(CacheLives(config.cache_ttl_secs, config.dynamic_ttl_secs)),
        events,
        call=call,
        boottime=boottime,
        wake=wake,
    )


def _driver(config: Gpu) -> Driver:
    """How the driver is noticed; a simulated node has none to wait for."""
    markers = ("/",) if config.backend == "demo" else config.driver_markers
    paths = tuple(Path(marker) for marker in markers)
    return Driver(paths, config.redetect_secs, config.release_secs)


def _probe(
    config: Gpu,
    demo: Demo,
    environment: Mapping[str, str],
    children: Children,
    events: GpuEvents,
    *,
    sys_root: Path,
) -> RequestProbe | None:
    """The probe that speaks as NVML does; None where it is switched off."""
    if config.backend == "demo":
        return RequestProbe("demo", _demo_command(demo, environment), children, events.take)
    if config.backend not in ("auto", "nvml"):
        return None
    argv = [sys.executable, "-m", "exporter.probes.nvml", f"--sys-root={sys_root}"]
    argv.append(f"--with={','.join(_switches(config))}")
    command = Command(tuple(argv), environment, with_input=True)
    return RequestProbe("nvml", command, children, events.take, _breadcrumb())


def _demo_command(demo: Demo, environment: Mapping[str, str]) -> Command:
    argv = [sys.executable, "-m", "exporter.probes.demo"]
    argv += [f"--gpus={demo.gpus}", f"--seed={demo.seed}", f"--speed={demo.speed:g}"]
    argv += [f"--start={demo.start}"]
    argv += [f"--folder={demo.folder}"] if demo.folder else []
    argv += ["--whole-node"] if demo.whole_node else []
    return Command(tuple(argv), environment, with_input=True)


def _switches(config: Gpu) -> tuple[str, ...]:
    """What the probe reads beside what it always reads."""
    named = ("profiling", "nvlink_per_link", "ecc_locations", "pcie_throughput")
    return ("processes", "events", *(name for name in named if getattr(config, name)))


def _smi_paths(config: Gpu, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The configured files, then every directory of the PATH."""
    directories = [part for part in environment.get("PATH", "").split(":") if part.startswith("/")]
    return (
        *(Path(path) for path in config.smi_paths),
        *(Path(directory, "nvidia-smi") for directory in directories),
    )


def _breadcrumb() -> Breadcrumb | None:
    try:
        return Breadcrumb("nvml")
    except OSError:
        return None  # no memfd here: crashes cannot be told apart by call
