"""GPUs suspended by runtime power management, as the kernel reports it: no call wakes one."""

import os

NVIDIA = "0x10de"
GPU_CLASSES = ("0x0300", "0x0302")
"""PCI classes of display and 3D controllers, without the last byte."""


class PowerStates:
    """Which GPUs are suspended, from `power/runtime_status` of the kernel's PCI devices.

    The library would wake a GPU before it could say that it sleeps. It numbers GPUs by address:
    where the kernel knows as many of them as the library, the n-th is the n-th.
    """

    def __init__(self, sys_root: str | os.PathLike[str]) -> None:
        self._folder = os.path.join(sys_root, "bus/pci/devices")
        self._addresses: tuple[str, ...] = ()

    def look(self) -> None:
        """Find the GPUs among the devices anew."""
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            names = []  # no PCI bus here: then nothing is known to sleep
        self._addresses = tuple(name for name in names if self._is_gpu(name))

    def asleep(self, count: int) -> dict[int, str]:
        """List suspended GPUs by index with their addresses, of as many as the library counts."""
        if len(self._addresses) != count:
            return {}  # some are hidden from us: nobody can tell which is which
        return {
            index: address
            for index, address in enumerate(self._addresses)
            if self._word(address, "power/runtime_status") == "suspended"
        }

    def _is_gpu(self, name: str) -> bool:
        is_one = self._word(name, "vendor") == NVIDIA
        is_whole = not os.path.lexists(f"{self._folder}/{name}/physfn")  # no virtual function
        return is_one and is_whole and self._word(name, "class")[:6] in GPU_CLASSES

    def _word(self, name: str, file: str) -> str:
        try:
            with open(f"{self._folder}/{name}/{file}", "rb") as opened:
                return opened.read().decode("ascii", "replace").strip()
        except OSError:
            return ""
