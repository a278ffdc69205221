"""GPUs by NVML: asks the NVML probe and takes its answer apart."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from exporter.model.gpu import Gpu
from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.probes.decoding import decode
from exporter.probes.supervisor import ProbeFailed, RequestProbe
from exporter.sources.gpu_answer import GpuAnswer, GpuProblem, WayFailed
from exporter.sources.gpu_sanity import believable


class NvmlWay:
    """Asks the probe under one deadline for each pass."""

    def __init__(self, probe: RequestProbe, timeout_secs: float) -> None:
        self._probe = probe
        self._timeout_secs = timeout_secs

    async def ask(self) -> GpuAnswer:
        """One pass over all GPUs; raises WayFailed."""
        try:
            message = await self._probe.ask({"op": "read"}, self._timeout_secs)
        except ProbeFailed as failed:
            raise WayFailed(failed.reason, str(failed)) from failed
        return parse_answer(message)

    async def close(self) -> None:
        """End the probe."""
        await self._probe.close()


def parse_answer(message: Mapping[str, Any]) -> GpuAnswer:
    """The GPUs of one answer of the probe; raises WayFailed."""
    if "error" in message:
        raise WayFailed(clean_text(str(message["error"])), clean_text(str(message.get("message"))))
    found = message.get("gpus")
    if not isinstance(found, list):
        raise WayFailed("garbage", "the NVML probe names no GPUs")
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
        gpu, impossible = believable(gpu)
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
            )
        )


def _text(found: object) -> str | None:
    return clean_text(found) or None if isinstance(found, str) else None
