"""Intel cards as xe and i915 show them in sysfs, built in a folder; names of the kernel's ABI."""

from collections.abc import Mapping
from pathlib import Path

from tests.fakes.card_files import put_card
from tests.fakes.host_proc import file_texts

XE_CARD = file_texts("cards.toml")["xe"]
I915_CARD = file_texts("cards.toml")["i915"]


class IntelNode:
    """A sys root with cards of Intel."""

    def __init__(self, sys_root: Path) -> None:
        self.sys = sys_root
        (sys_root / "devices").mkdir(parents=True, exist_ok=True)
        (sys_root / "bus/pci/devices").mkdir(parents=True, exist_ok=True)

    def card(self, driver: str, address: str, files: Mapping[str, str]) -> None:
        """Add a card, or files of one."""
        put_card(self.sys, driver, address, files)
        (self.sys / "bus/pci/drivers" / driver / "bind").touch()
