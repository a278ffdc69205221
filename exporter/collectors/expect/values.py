"""Parts of a node, and what of the expected parts is not there."""

from collections.abc import Mapping

from exporter.record import dataclass

WORDS: Mapping[str, tuple[str, str]] = {
    "gpu": ("GPU", "GPUs"),
    "nvlink": ("NVLink", "NVLinks"),
    "port": ("InfiniBand port", "InfiniBand ports"),
    "disk": ("disk", "disks"),
    "dimm": ("DIMM", "DIMMs"),
}
"""The kinds of parts, in the singular and the plural."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part: `slot` is its place, `detail` its model or size.

    `identity` tells the part from others where names of places may change at a boot.
    """

    kind: str
    slot: str
    detail: str = ""
    identity: str = ""

    @property
    def title(self) -> str:
        """Return the name for people: GPU 0000:18:00.0 (NVIDIA H100)."""
        slot = self.slot
        if self.kind == "nvlink":
            gpu, _, link = self.slot.rpartition("/")
            slot = f"{link} of GPU {gpu}"
        detail = f" ({self.detail})" if self.detail else ""
        return f"{WORDS[self.kind][0]} {slot}{detail}"


@dataclass(frozen=True, slots=True)
class Shortage:
    """One thing that is expected and not so: `missing` hardware, else hardware that differs."""

    kind: str
    slot: str
    text: str
    missing: bool = True


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected, and what of it is not there.

    `expected` counts the expectations; None where nothing is expected yet.
    """

    shortages: tuple[Shortage, ...]
    expected: int | None = None
