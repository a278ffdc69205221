"""Puts the GPU source together from its configuration."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from exporter.config import Gpu
from exporter.probes.child import Children, Command
from exporter.probes.supervisor import RequestProbe
from exporter.sources.gpu import Driver, GpuSource, Ways
from exporter.sources.gpu_cache import CacheLives, GpuCache
from exporter.sources.interface import CallBlocking
from exporter.sources.nvidia_smi import NvidiaSmiWay
from exporter.sources.nvml import NvmlWay


def build_gpu(
    config: Gpu,
    *,
    children: Children,
    environment: Mapping[str, str],
    call: CallBlocking,
    boottime: Callable[[], float],
    wake: Callable[[], None],
) -> GpuSource:
    """The GPU source with the ways that the configuration allows."""
    nvml = smi = None
    if config.backend in ("auto", "nvml"):
        command = Command(
            (sys.executable, "-m", "exporter.probes.nvml", f"--with={','.join(_switches(config))}"),
            environment,
            with_input=True,
        )
        probe = RequestProbe("nvml", command, children, _ignore)
        nvml = NvmlWay(probe, config.timeout_secs)
    if config.backend in ("auto", "nvidia-smi"):
        smi = NvidiaSmiWay(
            children, _smi_paths(config, environment), environment, config.timeout_secs
        )
    return GpuSource(
        Ways(nvml, smi, lambda: children.abandoned_count > 0),
        Driver(tuple(Path(marker) for marker in config.driver_markers), config.redetect_secs),
        GpuCache(CacheLives(config.cache_ttl_secs, config.dynamic_ttl_secs)),
        call=call,
        boottime=boottime,
        wake=wake,
    )


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


def _ignore(message: dict[str, Any]) -> None:
    """The probe sends nothing that was not asked for."""
