"""The GPUs of NVIDIA: asked by NVML, else by nvidia-smi."""

import logging
from collections.abc import Callable

from exporter.collectors.gpu.backend import BackendError, Backends, GpuAnswer, GpuProblem
from exporter.collectors.gpu.values import GpuBackend
from exporter.collectors.gpu.vendor_gpus import VendorGpus
from exporter.collectors.pcie.address import pci_address
from exporter.reading.context import SourceContext
from exporter.reading.files import is_there
from exporter.reading.sysfs import names_or_none
from exporter.record import replace

NO_DEVICES = "no_devices"
NO_DRIVER = GpuBackend("none", "no_driver")

log = logging.getLogger("exporter.collectors.gpu.source")


async def bound_gpus(ctx: SourceContext) -> tuple[str, ...]:
    """List the PCI addresses under `/sys/bus/pci/drivers/nvidia`, in the order of the driver.

    The driver of a vGPU host is bound to virtual functions too, which it does not count.
    """
    folder = ctx.sys / "bus/pci/drivers/nvidia"
    names = await ctx.call(
        lambda: [it for it in names_or_none(folder) if not is_there(folder / it / "physfn")]
    )
    return tuple(sorted(filter(None, map(pci_address, names))))


class NvidiaGpus(VendorGpus):
    """The GPUs of NVIDIA."""

    def __init__(self, ctx: SourceContext, backends: Backends, publish: Callable[[], None]) -> None:
        super().__init__(ctx, "nvidia", NO_DRIVER, publish)
        self.backends = backends
        self._first = "demo" if self.is_demo else "nvml"  # a simulated node answers as NVML does
        self._ctx = ctx

    @property
    def has_driver(self) -> bool:
        """Whether the driver was there at the last look."""
        return self.backend is not NO_DRIVER

    def note_problems(self) -> bool:
        """Take over what NVML found between two passes; whether a GPU was up until now."""
        is_first = self.backend.backend == self._first
        return is_first and self.cache.note(self.backends.problems())

    def starting(self) -> GpuBackend:
        """Return the answer shown until the first pass with this driver has ended."""
        return GpuBackend("none", "pending", nvml_up=self._nvml_down)

    def from_cache(self, reason: str) -> GpuBackend:
        """Nothing answered: the versions said before still hold for what the cache shows."""
        before = self.backend
        return GpuBackend(
            "cache", reason, before.driver_version, before.cuda_version, nvml_up=self._nvml_down
        )

    async def close_backends(self) -> None:
        """End the children of NVML and of nvidia-smi."""
        for backend in (self.backends.nvml, self.backends.smi):
            if backend is not None:
                await backend.close()

    async def ask(self) -> tuple[GpuAnswer | None, GpuBackend]:
        """Ask the best backend that answers, and give the backend to show for it."""
        if self.backends.is_stuck():
            return None, self.from_cache("stuck")
        nvml_reason = "disabled"
        if self.backends.nvml is not None:
            try:
                answer = await self.backends.nvml.ask()
            except BackendError as failed:
                nvml_reason = failed.reason
                self._note_failure(failed)
            else:
                answer = await self._with_losses(answer)
                return answer, _backend(self._first, "ok", answer, nvml_up=True)
        if self.backends.smi is None or self.backends.is_stuck():
            return None, self.from_cache(nvml_reason)
        try:
            answer = await self.backends.smi.ask()
        except BackendError as failed:
            log.debug("nvidia-smi: %s", failed)
            lost = await self._with_losses(GpuAnswer(()))
            reason = failed.reason if self.backends.nvml is None else nvml_reason
            if failed.reason != NO_DEVICES or not lost.problems:
                return None, self.from_cache(reason)
            answer = replace(lost, driver_version=self.backend.driver_version)
        backend = _backend("nvidia-smi", nvml_reason, answer, nvml_up=self._nvml_down)
        return answer, self._with_known_cuda_version(backend)

    async def _with_losses(self, answer: GpuAnswer) -> GpuAnswer:
        """Take an answer without GPUs for a loss where some were, or are bound to the driver."""
        if answer.gpus or answer.problems or answer.is_partial:
            return answer
        known = [state.gpu for state in self.states()]
        problems = tuple(GpuProblem(NO_DEVICES, gpu.uuid or None, gpu.index) for gpu in known)
        if not known:
            bound = enumerate(await bound_gpus(self._ctx))
            problems = tuple(GpuProblem(NO_DEVICES, None, place, bus) for place, bus in bound)
        return replace(answer, problems=problems)

    @property
    def _nvml_down(self) -> bool | None:
        """What is shown of NVML while it gives nothing: nothing where it is switched off."""
        return None if self.backends.nvml is None else False

    def _note_failure(self, failed: BackendError) -> None:
        """Say why NVML fails when it begins to, before another backend is asked."""
        if self.backend.nvml_up is False and self.backend.reason == failed.reason:
            return
        log.warning("NVML cannot be used (%s): %s", failed.reason, failed)
        self.show(self.from_cache(failed.reason))
        self.publish_unless_awaited()

    def _with_known_cuda_version(self, backend: GpuBackend) -> GpuBackend:
        """Keep values of the same driver from before: an old nvidia-smi lacks them."""
        before = self.backend
        if backend.cuda_version is not None or backend.driver_version != before.driver_version:
            return backend
        return replace(backend, cuda_version=before.cuda_version)


def _backend(name: str, reason: str, answer: GpuAnswer, *, nvml_up: bool | None) -> GpuBackend:
    return GpuBackend(name, reason, answer.driver_version, answer.cuda_version, nvml_up=nvml_up)
