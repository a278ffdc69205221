"""All GPUs: which there are, and one pass over them."""

from collections.abc import Callable
from typing import Any

import pynvml

from exporter.probes.nvml.card import Card
from exporter.probes.nvml.identity import cuda_version, is_same
from exporter.probes.nvml.known_gpu import KnownGpu
from exporter.probes.nvml.library import READ_ERRORS, Library, reason_of
from exporter.probes.nvml.runtime_pm import PowerStates

SUSPENDED = "suspended"


class GpuInventory:
    """The library, initialised once, with the handle of each GPU kept for as long as it is true."""

    def __init__(self, library: Library, switches: frozenset[str], power: PowerStates) -> None:
        self._library = library
        self._switches = switches
        self._power = power
        self._asleep: dict[int, str] = {}
        self._gpus: dict[int, KnownGpu] = {}
        self._count = 0
        self._passes = 0
        self._is_initialised = False
        self._versions: dict[str, str | None] = {}

    @property
    def known(self) -> tuple[KnownGpu, ...]:
        """The GPUs that answered in the last pass."""
        return tuple(known for index, known in self._gpus.items() if index not in self._asleep)

    def read(self, has_time: Callable[[], bool] = lambda: True) -> dict[str, Any]:
        """One pass over all GPUs; raises NVMLError when the library cannot be used.

        What matters most is read of all GPUs before the rest is read of any, while there is time.
        """
        if not self._is_initialised:
            self._library.ask("nvmlInit")
            self._is_initialised = True
            self._versions = self._read_versions()
        count = self._library.ask("nvmlDeviceGetCount")
        if count != self._count:
            self._power.look()
        self._asleep = self._power.asleep(count)
        if count != self._count or not self._are_same():
            self._forget()
        self._count = count
        self._passes += 1
        awake = [index for index in range(count) if index not in self._asleep]
        # The first call on a GPU may take seconds: those that have to wait are begun next time.
        begun, problems = 0, self._sleepers()
        for index in awake:
            if index in self._gpus or has_time():
                begun += 1
                problems += self._begin(index)
        is_partial = begun < len(awake)
        found = self._finish([index for index in awake if index in self._gpus], has_time)
        return {**self._versions, "gpus": [*found, *problems], "is_partial": is_partial}

    def _finish(self, indexes: list[int], has_time: Callable[[], bool]) -> list[dict[str, Any]]:
        """The answers of these GPUs, after the rest of their pass."""
        for index in sorted(indexes, key=lambda index: (index - self._passes) % self._count):
            self._gpus[index].finish(has_time)
        answers = [self._gpus[index].answer() for index in indexes]
        for answer in answers:
            if "problem" in answer:  # its handle and its facts are asked for again
                self._gpus.pop(answer["index"]).close()
        return answers

    def _sleepers(self) -> list[dict[str, Any]]:
        """The GPUs that sleep, by their place: any call on one of them would wake it."""
        return [
            {"index": index, "pci_bus_id": address, "problem": SUSPENDED}
            for index, address in self._asleep.items()
        ]

    def _are_same(self) -> bool:
        return all(is_same(known.card, known.identity) for known in self.known)

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
