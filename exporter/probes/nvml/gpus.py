"""All GPUs: which there are, and one pass over them."""

from collections.abc import Callable
from typing import Any

import pynvml

from exporter.probes.nvml.card import Card
from exporter.probes.nvml.identity import cuda_version, is_same
from exporter.probes.nvml.known_gpu import KnownGpu
from exporter.probes.nvml.library import READ_ERRORS, Library, reason_of


class AllGpus:
    """The library, initialised once, with the handle of each GPU kept for as long as it is true."""

    def __init__(self, library: Library, switches: frozenset[str]) -> None:
        self._library = library
        self._switches = switches
        self._gpus: dict[int, KnownGpu] = {}
        self._count = 0
        self._passes = 0
        self._is_initialised = False
        self._versions: dict[str, str | None] = {}

    @property
    def known(self) -> tuple[KnownGpu, ...]:
        """The GPUs that answered in the last pass."""
        return tuple(self._gpus.values())

    def read(self, has_time: Callable[[], bool] = lambda: True) -> dict[str, Any]:
        """One pass over all GPUs; raises NVMLError when the library cannot be used.

        What matters most is read of all GPUs before the rest is read of any, while there is time.
        """
        if not self._is_initialised:
            self._library.ask("nvmlInit")
            self._is_initialised = True
            self._versions = self._read_versions()
        count = self._library.ask("nvmlDeviceGetCount")
        if count != self._count or not self._are_same():
            self._forget()
        self._count = count
        self._passes += 1
        # The first call on a GPU may take seconds: those that have to wait are begun next time.
        begun, problems = 0, []
        for index in range(count):
            if index in self._gpus or has_time():
                begun += 1
                problems += self._begin(index)
        order = sorted(self._gpus, key=lambda index: (index - self._passes) % count)
        for index in order:
            self._gpus[index].finish(has_time)
        answers = [self._gpus[index].answer() for index in sorted(self._gpus)]
        for answer in answers:
            if "problem" in answer:  # its handle and its facts are asked for again
                self._gpus.pop(answer["index"]).close()
        is_partial = begun < count
        return {**self._versions, "gpus": [*answers, *problems], "is_partial": is_partial}

    def _are_same(self) -> bool:
        return all(is_same(known.card, known.identity) for known in self._gpus.values())

    def _forget(self) -> None:
        """The set of GPUs has changed: every handle and every fact is asked for again."""
        for known in self._gpus.values():
            known.close()
        self._gpus.clear()

    def _begin(self, index: int) -> list[dict[str, Any]]:
        """Begin the pass of one GPU; the problem of one that cannot be had."""
        try:
            self._known(index).begin()
        except READ_ERRORS as error:
            return [{"index": index, "problem": reason_of(error)}]
        return []

    def _known(self, index: int) -> KnownGpu:
        if index not in self._gpus:
            handle = self._library.ask("nvmlDeviceGetHandleByIndex", index)
            self._gpus[index] = KnownGpu(Card(self._library, handle), self._switches)
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
