"""All GPUs: which there are, and one pass over them."""

from typing import Any

import pynvml

from exporter.probes.nvml.identity import cuda_version, identity, is_same
from exporter.probes.nvml.library import READ_ERRORS, Card, Library, reason_of
from exporter.probes.nvml.processes import ProcessReader
from exporter.probes.nvml.reads import READS, GpuGone, read_fields


class KnownGpu:
    """A GPU that was found: its handle, what never changes, and what is kept between passes."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.identity = identity(card)
        self.processes = ProcessReader()

    def read(self) -> dict[str, Any]:
        """One pass over this GPU: its fields, `missing` reasons, or a `problem`."""
        missing: dict[str, str] = {}
        reads = (*READS, ("processes", self.processes.read))
        try:
            fields = dict(read_fields(self.card, reads, missing))
        except GpuGone as gone:
            return {**self.identity, "problem": str(gone)}
        return {**self.identity, **fields, "missing": missing}


class AllGpus:
    """The library, initialised once, with the handle of each GPU kept for as long as it is true."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._gpus: dict[int, KnownGpu] = {}
        self._is_initialised = False
        self._versions: dict[str, str | None] = {}

    def read(self) -> dict[str, Any]:
        """One pass over all GPUs; raises NVMLError when the library cannot be used."""
        if not self._is_initialised:
            self._library.ask("nvmlInit")
            self._is_initialised = True
            self._versions = self._read_versions()
        count = self._library.ask("nvmlDeviceGetCount")
        if not self._is_current(count):
            self._gpus.clear()
        return {**self._versions, "gpus": [self._read(index) for index in range(count)]}

    def _is_current(self, count: int) -> bool:
        return count == len(self._gpus) and all(
            is_same(known.card, known.identity) for known in self._gpus.values()
        )

    def _read(self, index: int) -> dict[str, Any]:
        try:
            known = self._known(index)
        except READ_ERRORS as error:
            return {"index": index, "problem": reason_of(error)}
        answer = known.read()
        if "problem" in answer:
            self._gpus.pop(index)  # its handle is asked for again, and then all the others
        return answer

    def _known(self, index: int) -> KnownGpu:
        if index not in self._gpus:
            handle = self._library.ask("nvmlDeviceGetHandleByIndex", index)
            self._gpus[index] = KnownGpu(Card(self._library, handle))
        return self._gpus[index]

    def _read_versions(self) -> dict[str, str | None]:
        try:
            cuda = cuda_version(self._library.ask("nvmlSystemGetCudaDriverVersion_v2"))
        except pynvml.NVMLError:
            cuda = None  # older drivers do not say it
        return {
            "driver_version": self._library.text("nvmlSystemGetDriverVersion"),
            "cuda_version": cuda,
        }
