"""Catalogue entries of NVIDIA's error codes: Xid, SXid and NVLink5 rules."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from exporter.collectors.gpu.words import UNKNOWN
from exporter.record import dataclass
from exporter.toml import read_shipped

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class XidEntry:
    """One Xid code: what it says, how bad it is by default, and what to do.

    `severity` is info, warning or critical; `sympathetic` codes follow from another event;
    `scope` is what is lost (process, gpu, link, node); `disagreement` tells where public sources
    differ.
    """

    code: int
    name: str
    meaning: str
    origin: str
    severity: str
    sympathetic: bool
    action: str
    scope: str
    source: str
    note: str
    disagreement: str


@dataclass(frozen=True, slots=True)
class SxidEntry:
    """One SXid code of a switch.

    `fatality` is harmless, corrected, non_fatal, fatal_port, fatal_fabric or host; a word in the
    kernel line is to be trusted before it.
    """

    code: int
    name: str
    meaning: str
    fatality: str
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class Bits:
    """A test of one 32-bit word: the bits under the mask are exactly these."""

    mask: int
    value: int

    def fit(self, word: int) -> bool:
        """Tell whether the word passes."""
        return word & self.mask == self.value


@dataclass(frozen=True, slots=True)
class Nvlink5Rule:
    """One sub-rule of Xid 144 to 150, in both layouts of the first word.

    `v1` is for drivers before R575, `v2` for R575 and newer; an empty `status` means any. The
    promoted forms are those in which the driver raised the error to fatal.
    """

    xid: int
    units: tuple[str, ...]
    condition: str
    severity: str  # non_fatal, link_fatal, gpu_fatal
    fatal: bool
    action: str
    investigate: str
    origin: str
    v1: Bits
    v2: Bits
    status: tuple[int, ...]
    note: str
    promoted_v1: Bits | None = None
    promoted_v2: Bits | None = None
    promoted_action: str | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All tables of codes."""

    xids: Mapping[int, XidEntry]
    sxids: Mapping[int, SxidEntry]
    nvlink5: tuple[Nvlink5Rule, ...]

    def xid(self, code: int) -> XidEntry:
        """Return the entry of this Xid; an entry of origin unknown where the table has none."""
        return self.xids.get(code) or XidEntry(
            code=code,
            name=UNKNOWN,
            meaning=f"Xid {code} is not in the table of this version",
            origin=UNKNOWN,
            severity="info",
            sympathetic=False,
            action="none",
            scope=UNKNOWN,
            source="none",
            note="",
            disagreement="",
        )


def by_code(kind: Callable[..., T], table: Mapping[str, Any]) -> Mapping[int, T]:
    """Return the entries of the table; raise ValueError or TypeError on a malformed one."""
    return MappingProxyType({int(code): kind(code=int(code), **row) for code, row in table.items()})


def parse_nvlink5(table: Mapping[str, Any]) -> tuple[Nvlink5Rule, ...]:
    """Return the NVLink5 sub-rules of the table; raise KeyError or TypeError if malformed."""
    return tuple(_nvlink5_rule(row) for row in table["rules"])


def _nvlink5_rule(row: Mapping[str, Any]) -> Nvlink5Rule:
    lists = {name: tuple(row[name]) for name in ("units", "status")}
    words = ("v1", "v2", "promoted_v1", "promoted_v2")
    bits = {name: Bits(*row[name]) for name in words if name in row}
    return Nvlink5Rule(**{**row, **lists, **bits})


@cache
def shipped_catalogue() -> Catalogue:
    """Return the tables beside this file, parsed at the first call."""
    here = Path(__file__).parent
    return Catalogue(
        xids=by_code(XidEntry, read_shipped(here / "xid.toml")),
        sxids=by_code(SxidEntry, read_shipped(here / "sxid.toml")),
        nvlink5=parse_nvlink5(read_shipped(here / "nvlink5.toml")),
    )
