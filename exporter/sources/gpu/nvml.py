"""GPUs by NVML: asks the NVML probe and takes its answer apart."""

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from exporter.config import Demo
from exporter.config import Gpu as GpuConfig
from exporter.decode import decode
from exporter.model.gpu import Gpu
from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.probes.breadcrumb import Breadcrumb
from exporter.probes.child import Children, Command
from exporter.probes.supervisor import ProbeFailed, RequestProbe
from exporter.sources.gpu.backend import BackendError, GpuAnswer, GpuProblem
from exporter.sources.gpu.validation import drop_implausible

log = logging.getLogger("exporter.sources.gpu.source")


MAX_GROWTH_BYTES = 16 * 1024 * 1024
"""A probe that has grown by so much since its first answer is replaced: a library leaks."""

ENOUGH = 0.6
"""After this part of the deadline a slow driver is asked for nothing more in this pass."""

LASTING_ERRORS = {"version_mismatch", "uninitialized", "no_library"}
PATIENCE_PASSES = 4
"""After so many passes in which the library failed, a fresh process tries."""


class NvmlBackend:
    """Asks the probe under one deadline for each pass."""

    def __init__(self, probe: RequestProbe, timeout_secs: float) -> None:
        self._probe = probe
        self._timeout_secs = timeout_secs
        self._first_bytes: int | None = None
        self._errors = 0

    async def ask(self) -> GpuAnswer:
        """One pass over all GPUs; raises BackendError.

        A pass that crashed the probe is tried again at once where back-off allows it.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_secs
        while True:
            try:
                left = deadline - loop.time()
                request = {"op": "read", "enough_secs": ENOUGH * left}
                message = await self._probe.ask(request, left)
            except ProbeFailed as failed:
                self._first_bytes = None
                if failed.reason == "crashed" and self._probe.may_start and loop.time() < deadline:
                    continue
                raise BackendError(failed.reason, str(failed)) from failed
            await self._replace_when_of_no_use(message)
            return parse_answer(message)

    async def _replace_when_of_no_use(self, message: Mapping[str, Any]) -> None:
        """A process that has met another driver than its library was made for stays broken."""
        if "error" in message:
            self._errors += 1
            if message["error"] in LASTING_ERRORS or self._errors >= PATIENCE_PASSES:
                self._errors = 0
                self._first_bytes = None
                await self._probe.end_child()
            return
        self._errors = 0
        await self._replace_when_grown(message)

    async def _replace_when_grown(self, message: Mapping[str, Any]) -> None:
        held = message.get("resident_bytes")
        if not isinstance(held, int):
            return
        if self._first_bytes is None:
            self._first_bytes = held
        elif held > self._first_bytes + MAX_GROWTH_BYTES:
            log.info("the NVML probe has grown to %d MiB and is replaced", held >> 20)
            self._first_bytes = None
            await self._probe.recycle()

    async def close(self) -> None:
        """End the probe."""
        await self._probe.close()


def parse_answer(message: Mapping[str, Any]) -> GpuAnswer:
    """The GPUs of one answer of the probe; raises BackendError."""
    if message.get("error") == "unknown_error":
        sentence = "the driver is there and may not be used: devices taken from our container?"
        raise BackendError("access_lost", sentence)
    if "error" in message:
        raise BackendError(
            clean_text(str(message["error"])), clean_text(str(message.get("message")))
        )
    found = message.get("gpus")
    if not isinstance(found, list):
        raise BackendError("garbage", "the NVML probe names no GPUs")
    collected = _Collected()
    for entry in found:
        if isinstance(entry, dict):
            collected.add(entry)
    return GpuAnswer(
        gpus=tuple(collected.gpus),
        problems=tuple(collected.problems),
        driver_version=_text(message.get("driver_version")),
        cuda_version=_text(message.get("cuda_version")),
        missing=tuple(collected.missing),
        rejected=dict(collected.rejected),
        is_partial=message.get("is_partial") is True,
    )


class _Collected:
    """The parts of an answer while it is taken apart."""

    def __init__(self) -> None:
        self.gpus: list[Gpu] = []
        self.problems: list[GpuProblem] = []
        self.missing: list[Missing] = []
        self.rejected: Counter[str] = Counter()

    def add(self, entry: dict[str, Any]) -> None:
        if "problem" in entry:
            self._add_problem(entry)
            return
        try:
            gpu, misfits = decode(Gpu, entry)
        except ValueError:
            self.rejected["identity"] += 1  # without a UUID its values belong to nobody
            self._add_problem({**entry, "problem": "no_identity"})
            return
        if any(gpu.uuid == other.uuid for other in self.gpus):
            self.rejected["uuid"] += 1
            self._add_problem({"index": gpu.index, "problem": "duplicate_uuid"})
            return
        gpu, impossible = drop_implausible(gpu)
        self.gpus.append(gpu)
        self.rejected.update({*misfits, *impossible})
        reasons = entry.get("missing")
        if isinstance(reasons, dict):
            self.missing += [Missing(f"gpu{gpu.index}.{k}", str(v)) for k, v in reasons.items()]

    def _add_problem(self, entry: dict[str, Any]) -> None:
        index = entry.get("index")
        self.problems.append(
            GpuProblem(
                reason=clean_text(str(entry["problem"])),
                uuid=_text(entry.get("uuid")),
                index=index if isinstance(index, int) else None,
                pci_bus_id=_text(entry.get("pci_bus_id")),
            )
        )


def _text(found: object) -> str | None:
    return clean_text(found) or None if isinstance(found, str) else None


def build_nvml_probe(
    config: GpuConfig,
    demo: Demo,
    environment: Mapping[str, str],
    children: Children,
    on_event: Callable[[dict[str, Any]], None],
    *,
    sys_root: Path,
) -> RequestProbe | None:
    """Build the probe that answers as NVML does; None where the configuration switches it off."""
    if config.backend == "demo":
        return RequestProbe("demo", _demo_command(demo, environment), children, on_event)
    if config.backend not in ("auto", "nvml"):
        return None
    argv = [sys.executable, "-m", "exporter.probes.nvml", f"--sys-root={sys_root}"]
    argv.append(f"--with={','.join(_switches(config))}")
    command = Command(tuple(argv), environment, with_input=True)
    return RequestProbe("nvml", command, children, on_event, _breadcrumb())


def _demo_command(demo: Demo, environment: Mapping[str, str]) -> Command:
    argv = [sys.executable, "-m", "exporter.probes.demo"]
    argv += [f"--gpus={demo.gpus}", f"--seed={demo.seed}", f"--speed={demo.speed:g}"]
    argv += [f"--start={demo.start}"]
    argv += [f"--folder={demo.folder}"] if demo.folder else []
    argv += ["--whole-node"] if demo.whole_node else []
    argv += ["--healthy"] if demo.healthy else []
    return Command(tuple(argv), environment, with_input=True)


def _switches(config: GpuConfig) -> tuple[str, ...]:
    """What the probe reads beside what it always reads."""
    named = ("profiling", "nvlink_per_link", "ecc_locations", "pcie_throughput")
    return ("processes", "events", *(name for name in named if getattr(config, name)))


def _breadcrumb() -> Breadcrumb | None:
    try:
        return Breadcrumb("nvml")
    except OSError:
        return None  # no memfd here: crashes cannot be told apart by call
