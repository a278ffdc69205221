"""GPUs read with NVML: queries the NVML probe and parses its answer."""

import asyncio
import logging
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from exporter.collectors.gpu.backend import (
    AnswerBuilder,
    BackendError,
    Deadline,
    GpuAnswer,
    GpuProblem,
)
from exporter.collectors.gpu.quarantine import Quarantine
from exporter.collectors.gpu.supervision.breadcrumb import Breadcrumb
from exporter.collectors.gpu.supervision.call_failures import call_and_place
from exporter.collectors.gpu.supervision.request_probe import ProbeFailed, RequestProbe
from exporter.collectors.gpu.values import DisabledCall, Gpu
from exporter.decode import KeptLists, decode
from exporter.model.label import clean_text
from exporter.probes.child import Command
from exporter.reading.context import SourceContext
from exporter.record import replace

log = logging.getLogger("exporter.collectors.gpu.source")


MAX_GROWTH_BYTES = 16 * 1024 * 1024
"""A probe that has grown by so much since its first answer is replaced: a library leaks."""

ENOUGH = 0.6
"""After this part of the deadline a slow driver is asked for nothing more in this pass."""

LASTING_ERRORS = {"version_mismatch", "uninitialized", "no_library"}
PATIENCE_PASSES = 4
"""After so many passes in which the library failed, a fresh process tries."""

REPLACE_SECS = 7.0
"""A process of no use is replaced this often at most: three times in twenty seconds."""

VITAL_CALLS = frozenset(
    {
        "nvmlInit",
        "nvmlDeviceGetCount",
        "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetIndex",
        "nvmlDeviceGetUUID",
    }
)
"""Calls without which no GPU, or not this GPU, can be read: they are never switched off."""

MOST_CRASHING = 2
"""Of no more GPUs than these is a crash taken for their own."""


class NvmlBackend:
    """Asks the probe under one deadline for each pass.

    A GPU whose call hung, or crashed the library again and again, goes into quarantine: the
    others are read without it at once. Where others do so as well it is not the GPU, and the pass
    has failed.
    """

    def __init__(self, probe: RequestProbe, deadline: Deadline, quarantine: Quarantine) -> None:
        self._probe = probe
        self._deadline = deadline
        self._quarantine = quarantine
        self._kept: defaultdict[int, KeptLists] = defaultdict(KeptLists)
        self._count = 0
        self._first_bytes: int | None = None
        self._errors = 0
        self._replaced_at = -REPLACE_SECS

    async def ask(self) -> GpuAnswer:
        """Read all GPUs in one pass; raises BackendError."""
        suspects: set[int] = set()
        while True:
            try:
                message, skipped = await self._ask_without(suspects)
            except ProbeFailed as failed:
                self._first_bytes = None
                if not self._may_be_one(failed, suspects):
                    self._quarantine.doubt()
                    raise BackendError(failed.reason, str(failed)) from failed
                suspects.add(failed.place or 0)
                self._probe.allow_start()
                continue
            self._quarantine.add(suspects)
            await self._replace_when_of_no_use(message)
            return self._answer(message, skipped)

    def start_ahead(self) -> None:
        """Start the probe of all GPUs before it is asked."""
        self._probe.start_ahead()

    @property
    def restarts(self) -> int:
        """How often the probe of all GPUs was started anew."""
        return self._probe.restarts

    @property
    def problems(self) -> tuple[GpuProblem, ...]:
        """The GPUs that failed when they were asked alone."""
        return self._quarantine.problems

    @property
    def is_one_stuck(self) -> bool:
        """Whether a child that asked a GPU in quarantine was killed but does not exit."""
        return self._quarantine.is_stuck

    def _may_be_one(self, failed: ProbeFailed, suspects: set[int]) -> bool:
        """Whether a failure in a call of a GPU may be its own: of four one, of eight two.

        Not many are tried where the library crashes: each try is a start of the probe.
        """
        if failed.reason == "timeout":
            most = max(1, self._count // 4)
        elif failed.is_repeated:
            most = max(1, min(self._count // 4, MOST_CRASHING))
        else:
            return False
        return failed.place is not None and self._count != 1 and len(suspects) < most

    async def _ask_without(self, suspects: set[int]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Ask for all GPUs but those and give the answer, and which GPUs were not asked for.

        A crash is tried again where back-off allows it.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        deadline = started + self._deadline.secs
        while True:
            left = deadline - loop.time()
            request: dict[str, Any] = {"op": "read", "enough_secs": ENOUGH * left}
            skipped = tuple(sorted({*suspects, *self._quarantine.suspects}))
            if skipped:
                request["skip"] = skipped
            try:
                message = await self._probe.ask(request, left)
            except ProbeFailed as failed:
                if failed.reason == "crashed" and self._probe.may_start and loop.time() < deadline:
                    continue
                if failed.reason == "timeout":
                    self._deadline.took(self._deadline.secs)
                raise
            has_lacked_time = message.get("is_partial") is True
            took = self._deadline.secs if has_lacked_time else loop.time() - started
            self._deadline.took(took)
            return message, skipped

    def _answer(self, message: Mapping[str, Any], skipped: tuple[int, ...]) -> GpuAnswer:
        """Give what was answered; of a GPU that was skipped and answers by now nothing is known."""
        answer = parse_answer(message, self._kept)
        has_left = not set(skipped) <= set(self._quarantine.suspects)
        count = message.get("count")
        self._count = count if isinstance(count, int) else self._count
        return replace(
            answer,
            problems=(*answer.problems, *self._quarantine.problems),
            is_partial=answer.is_partial or self._quarantine.is_undecided or has_left,
            disabled_calls=tuple(
                DisabledCall(*call_and_place(crumb)) for crumb in self._probe.switched_off
            ),
        )

    async def _replace_when_of_no_use(self, message: Mapping[str, Any]) -> None:
        """Replace a process that has met another driver than its library was made for."""
        if "error" in message:
            self._errors += 1
            now = asyncio.get_running_loop().time()
            is_lasting = message["error"] in LASTING_ERRORS or self._errors >= PATIENCE_PASSES
            if is_lasting and now - self._replaced_at >= REPLACE_SECS:
                self._errors, self._replaced_at = 0, now
                self._first_bytes = None
                await self._probe.recycle()
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
            log.info("the NVML probe uses %d MiB of memory and is restarted", held >> 20)
            self._first_bytes = None
            await self._probe.recycle()

    async def close(self) -> None:
        """End the probes."""
        await self._quarantine.close()
        await self._probe.close()


def parse_answer(
    message: Mapping[str, Any], kept: defaultdict[int, KeptLists] | None = None
) -> GpuAnswer:
    """Read the GPUs of one answer of the probe; raises BackendError.

    `kept` are the lists of the last answer by its places.
    """
    if message.get("error") == "unknown_error":
        sentence = (
            "the driver is loaded but not accessible: were devices removed from the container?"
        )
        raise BackendError("access_lost", sentence)
    if "error" in message:
        raise BackendError(
            clean_text(str(message["error"])), clean_text(str(message.get("message")))
        )
    found = message.get("gpus")
    if not isinstance(found, list):
        raise BackendError("garbage", "the NVML probe names no GPUs")
    builder = AnswerBuilder()
    for place, entry in enumerate(found):
        if isinstance(entry, dict):
            _add(builder, entry, None if kept is None else kept[place])
    return builder.answer(
        driver_version=_text(message.get("driver_version")),
        cuda_version=_text(message.get("cuda_version")),
        is_partial=message.get("is_partial") is True,
    )


def _add(builder: AnswerBuilder, entry: dict[str, Any], kept: KeptLists | None) -> None:
    """Add one GPU of the probe's answer, or the problem it has."""
    if "problem" in entry:
        builder.problems.append(_problem(entry))
        return
    try:
        gpu, misfits = decode(Gpu, entry, kept)
    except ValueError:
        builder.add_nameless(_problem(entry))
        return
    reasons = entry.get("missing")
    builder.add(gpu, reasons if isinstance(reasons, dict) else None, misfits)


def _problem(entry: Mapping[str, Any]) -> GpuProblem:
    index = entry.get("index")
    return GpuProblem(
        reason=clean_text(str(entry.get("problem"))),
        uuid=_text(entry.get("uuid")),
        index=index if isinstance(index, int) else None,
        pci_bus_id=_text(entry.get("pci_bus_id")),
    )


def _text(found: object) -> str | None:
    return clean_text(found) or None if isinstance(found, str) else None


def build_nvml(
    ctx: SourceContext, deadline: Deadline, on_event: Callable[[dict[str, Any]], None]
) -> NvmlBackend | None:
    """Build the backend that answers as NVML does; None where NVML is switched off.

    The probe that asks one GPU alone reads all that the other one reads: what hangs in one call
    must not pass for well there.
    """
    config, children = ctx.config.gpu, ctx.driver_children
    if config.backend == "demo":
        probe = RequestProbe("demo", _demo_command(ctx), children, on_event)
    elif config.backend in ("auto", "nvml"):
        command = _nvml_command(ctx, "events")
        probe = RequestProbe("nvml", command, children, on_event, _breadcrumb())
    else:
        return None
    lone = RequestProbe("nvml", _nvml_command(ctx), children, lambda _: None, _breadcrumb())
    quarantine = Quarantine(lone, 2 * deadline.secs, lambda: ctx.wake("gpu"))
    return NvmlBackend(probe, deadline, quarantine)


def _nvml_command(ctx: SourceContext, *switches: str) -> Command:
    """Return the command of a probe with the configured readings and these switches."""
    named = ("profiling", "nvlink_per_link", "ecc_locations", "pcie_throughput")
    chosen = (name for name in named if getattr(ctx.config.gpu, name))
    argv = (
        sys.executable,
        "-S",  # needs no installed package; finding those takes time and memory
        "-m",
        "exporter.collectors.gpu.nvml_probe",
        f"--sys-root={ctx.sys}",
        f"--with={','.join((*switches, 'processes', *chosen))}",
    )
    return Command(argv, ctx.child_environment, with_input=True)


def _demo_command(ctx: SourceContext) -> Command:
    demo = ctx.config.demo
    argv = [sys.executable, "-m", "exporter.collectors.demo"]
    argv += [f"--gpus={demo.gpus}", f"--seed={demo.seed}", f"--speed={demo.speed:g}"]
    argv += [f"--start={demo.start}"]
    argv += [f"--folder={demo.folder}"] if demo.folder else []
    argv += ["--whole-node"] if demo.whole_node else []
    argv += ["--healthy"] if demo.healthy else []
    return Command(tuple(argv), ctx.child_environment, with_input=True)


def _breadcrumb() -> Breadcrumb | None:
    try:
        return Breadcrumb("nvml", VITAL_CALLS, "GPU")
    except OSError:
        return None  # no memfd here: crashes cannot be told apart by call
