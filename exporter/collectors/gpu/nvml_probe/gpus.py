"""All GPUs: which there are, and one pass over them."""

from collections.abc import Callable

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice
from exporter.collectors.gpu.nvml_probe.identity import cuda_version, is_same
from exporter.collectors.gpu.nvml_probe.known_gpu import KnownGpu
from exporter.collectors.gpu.nvml_probe.library import READ_ERRORS, Library, reason_of
from exporter.collectors.gpu.nvml_probe.runtime_pm import PowerStates

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
        self._next = 0
        self._unread: set[int] = set()
        self._is_initialised = False
        self._versions: dict[str, str | None] = {}

    @property
    def known(self) -> tuple[KnownGpu, ...]:
        """The GPUs that answered in the last pass."""
        return tuple(known for index, known in self._gpus.items() if index not in self._asleep)

    def read(
        self,
        has_time: Callable[[], bool] = lambda: True,
        is_chosen: Callable[[int], bool] = lambda _: True,
    ) -> dict[str, Any]:
        """Read all chosen GPUs in one pass; raises NVMLError when the library cannot be used.

        What matters most is read of all GPUs before the rest is read of any, while there is time.
        A pass that runs out of time is partial, and the next one begins where it stopped.
        """
        if not self._is_initialised:
            self._library.ask("nvmlInit")
            self._is_initialised = True
            self._versions = self._read_versions()
        count = self._library.ask("nvmlDeviceGetCount")
        if count != self._count:
            self._power.look()
            self._forget()
        self._count = count
        self._asleep = self._power.asleep(count)
        awake = [index for index in range(count) if index not in self._asleep and is_chosen(index)]
        order = sorted(awake, key=lambda index: (index - self._next) % count)
        problems: list[dict[str, Any]] = [  # any call on one of them would wake it
            {"index": index, "pci_bus_id": address, "problem": SUSPENDED}
            for index, address in self._asleep.items()
        ]
        begun: list[int] = []
        for index in order:
            if begun and not has_time():
                break
            problems += self._begin(index, has_time)
            begun.append(index)
        found = self._finish([index for index in begun if index in self._gpus], has_time)
        left = [index for index in order if index not in begun or index in self._unread]
        self._next = left[0] if left else (self._next + 1) % max(count, 1)
        answer = {"gpus": [*found, *problems], "count": count, "is_partial": bool(left)}
        return {**self._versions, **answer}

    def _finish(self, indexes: list[int], has_time: Callable[[], bool]) -> list[dict[str, Any]]:
        """Read the rest of these GPUs, and give their answers."""
        for index in indexes:
            self._gpus[index].finish(has_time)
        self._unread = {index for index in indexes[1:] if not self._gpus[index].has_core}
        self._unread |= {index for index in indexes if not self._gpus[index].has_any}
        answers = {index: self._gpus[index].answer() for index in sorted({*indexes} - self._unread)}
        for index, answer in answers.items():
            if "problem" in answer:  # its handle and its facts are asked for again
                self._gpus.pop(index).close()
        return list(answers.values())

    def _forget(self) -> None:
        """Ask for every handle and every fact again: the number of GPUs has changed."""
        for known in self._gpus.values():
            known.close()
        self._gpus.clear()

    def _begin(self, index: int, has_time: Callable[[], bool]) -> list[dict[str, Any]]:
        """Begin the pass of one GPU; return the problem if it cannot be opened."""
        try:
            self._known(index).begin(has_time)
        except READ_ERRORS as error:
            return [{"index": index, "problem": reason_of(error)}]
        return []

    def _known(self, index: int) -> KnownGpu:
        """Get the GPU of this index; a handle that means another one by now is asked for again."""
        known = self._gpus.get(index)
        if known is not None and not is_same(known.card, known.identity):
            self._gpus.pop(index).close()
            known = None
        if known is None:
            handle = self._library.ask("nvmlDeviceGetHandleByIndex", index, place=index)
            known = KnownGpu(NvmlDevice(self._library, handle, index), self._switches)
            self._gpus[index] = known
        return known

    def _read_versions(self) -> dict[str, str | None]:
        try:
            cuda = cuda_version(self._library.ask("nvmlSystemGetCudaDriverVersion_v2"))
        except READ_ERRORS:
            cuda = None  # older drivers do not say it
        return {
            "driver_version": self._library.text("nvmlSystemGetDriverVersion"),
            "cuda_version": cuda,
        }
