"""Ascend NPUs by `npu-smi info`: one run for each pass, as nvidia-smi is run."""

from pathlib import Path

from exporter.collectors.gpu.backend import AnswerBuilder, BackendError, GpuAnswer
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.vendors.cards import Parts
from exporter.collectors.vendors.npu_smi_output import Chips, parse_info
from exporter.model.label import clean_text
from exporter.probes.child import Command, Finished, run_once
from exporter.probes.trusted_program import first_trustworthy, paths_in
from exporter.reading.files import is_there
from exporter.record import replace

OUTPUT_LIMIT_BYTES = 1024 * 1024
NO_DRIVER = "dcmi module initialize failed"
PLACES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin")
"""Where the driver installs the program; then every directory of the PATH."""


class NpuSmiBackend:
    """Runs `npu-smi info` once for each pass; never a second one while a first does not die."""

    def __init__(self, parts: Parts) -> None:
        ctx = parts.ctx
        self._marks = parts.vendor.marks(ctx)
        self._children = ctx.children
        self._paths = paths_in(ctx.child_environment, "npu-smi", PLACES)
        self._environment = {**ctx.child_environment, "LC_ALL": "C"}
        self._indexes = parts.indexes
        self._call = ctx.call
        self._timeout_secs = ctx.config.gpu.timeout_secs
        self._is_stuck = False

    def is_here(self) -> bool:
        """Tell whether the driver is loaded; blocks while it looks."""
        return any(map(is_there, self._marks))

    async def ask(self) -> GpuAnswer:
        """Read all chips in one pass; raises BackendError."""
        if self._is_stuck and self._children.abandoned_count:
            raise BackendError("stuck", "npu-smi was killed but does not exit")
        program = await self._call(lambda: first_trustworthy(self._paths))
        if program is None:
            raise BackendError("no_program", "npu-smi is in no directory of the PATH")
        finished = await self._run(program)
        self._is_stuck = finished.problem == "stuck"
        chips = parse_info(finished.output.decode("utf-8", "replace"))
        reason = finished.problem or _reason(finished, chips)
        if reason in ("stuck", "flood") or not chips.gpus:
            words = clean_text(finished.output[:200] + finished.errors[:200])
            raise BackendError(reason or "garbage", f"npu-smi: {words or 'it printed nothing'}")
        gpus = await self._call(lambda: self._numbered(chips.gpus))
        builder = AnswerBuilder()
        for gpu in gpus:
            builder.add(gpu)
        return builder.answer(driver_version=chips.version, is_partial=reason is not None)

    async def _run(self, program: Path) -> Finished:
        try:
            return await run_once(
                self._children,
                Command((str(program), "info"), self._environment),
                timeout_secs=self._timeout_secs,
                limit_bytes=OUTPUT_LIMIT_BYTES,
            )
        except OSError as error:
            raise BackendError("no_program", f"{program}: {error.strerror}") from error

    def _numbered(self, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
        """Count the chips behind the GPUs of other vendors; a card may hold several."""
        addresses = [gpu.pci_bus_id or "ascend" for gpu in gpus]
        first = min(self._indexes.of(address) for address in addresses)
        return tuple(replace(gpu, index=first + gpu.index) for gpu in gpus)

    async def close(self) -> None:
        """Nothing runs between two passes; a run that is given up is killed."""


def _reason(finished: Finished, chips: Chips) -> str | None:
    text = (finished.output[:2000] + finished.errors[:2000]).decode("utf-8", "replace")
    if NO_DRIVER in text:
        return "driver_not_loaded"
    if finished.code != 0:
        return "no_devices" if not chips.gpus and not text.strip() else "garbage"
    return None


def build(parts: Parts) -> NpuSmiBackend:
    """Build the backend of Ascend."""
    return NpuSmiBackend(parts)
