"""The metrics page: rendered once per snapshot, with current ages added at each scrape."""

import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Protocol

from exporter.exposition.family import Family
from exporter.exposition.render import NO_BLOCKS, Blocks, Format, Rendered, render
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass, replace

LIVE_REUSE_SECS = 0.1
"""Scrapes within this time get the same bytes; ages stay right to the second."""

GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
RAW_DEFLATE = -15
END_OF_OPENMETRICS = b"# EOF\n"


@dataclass(frozen=True, slots=True)
class Moment:
    """Values known only at the scrape.

    `series` and `dropped` are of the page itself; `requests` counts answers by path and code,
    `pushes` requests to the OTLP receiver by outcome.
    """

    boottime: float  # seconds since boot, suspended time included
    version: str = ""
    python: str = ""
    series: int = 0
    dropped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    requests: Mapping[tuple[str, int], int] = field(default_factory=lambda: MappingProxyType({}))
    refused_connections: int = 0
    failed_handshakes: int | None = None  # None while connections are not encrypted
    last_reload_successful: bool | None = None  # None without files of certificates and tokens
    dropped_log_lines: int = 0
    is_reloaded: bool = True  # whether the last reload of the configuration succeeded
    reloaded_at: float | None = None  # seconds since the epoch
    pushes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


class Families(Protocol):
    """The exported families."""

    def families_of(self, snapshot: Snapshot, /) -> Iterable[Family]:
        """Return the families of a snapshot."""
        ...

    def live_families(self, moment: Moment, /) -> Iterable[Family]:
        """Return the families that are computed at the scrape."""
        ...


class Pages:
    """The pages of the latest snapshot in every format, each rendered at its first request."""

    def __init__(
        self,
        families: Families,
        boottime: Callable[[], float],
        moment: Callable[[float], Moment],
        is_exported: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """Take the families; `is_exported` tells by name which are on the pages."""
        self._families = families
        self._is_exported = is_exported
        self._boottime = boottime
        self._moment = moment
        self._snapshot: Snapshot | None = None
        self._blocks: dict[Format, Blocks] = {}
        self._fixed: dict[Format, Rendered] = {}
        self._packed: dict[Format, tuple[bytes, int]] = {}
        self._ready: dict[tuple[Format, bool], bytes] = {}
        self._ready_until = 0.0  # untested: nothing is ready before the first body
        self._expires_at = 0.0
        self._asked: set[tuple[Format, bool]] = set()
        self._dropped: Counter[str] = Counter()

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot of the pages."""
        self._snapshot = snapshot
        self._expires_at = snapshot.next_expiry()
        self._fixed.clear()
        self._packed.clear()
        self._ready.clear()

    def warm(self) -> None:
        """Render the formats requested of the last snapshot, so that no scrape waits for them."""
        asked, self._asked = self._asked, set()
        for form, gzipped in asked:
            fixed = self._fixed_part(form)
            if gzipped:
                self._pack(form, fixed.body)

    def body(self, form: Format, *, gzipped: bool) -> bytes | None:
        """Return the present bytes of the page; None before the first snapshot."""
        if self._snapshot is None:
            return None
        now = self._boottime()
        if now >= self._expires_at and (shown := self._snapshot.at(now)) is not self._snapshot:
            self.publish(shown)
        if now >= self._ready_until:
            self._ready.clear()
            self._ready_until = now + LIVE_REUSE_SECS
        key = (form, gzipped)
        self._asked.add(key)
        if key not in self._ready:
            moment = self._moment(now)
            self._ready[key] = self._gzipped(form, moment) if gzipped else self._plain(form, moment)
        return self._ready[key]

    def shown(self) -> tuple[Snapshot, list[Family]] | None:
        """Return the snapshot and the families of the page now; None before the first snapshot."""
        if self.body(Format.TEXT, gzipped=False) is None or self._snapshot is None:
            return None
        live = self._live_families(Format.TEXT, self._moment(self._boottime()))
        return self._snapshot, [*self._chosen(self._families.families_of(self._snapshot)), *live]

    def _plain(self, form: Format, moment: Moment) -> bytes:
        return self._fixed_part(form).body + self._live_part(form, moment)

    def _gzipped(self, form: Format, moment: Moment) -> bytes:
        """Return one gzip member: a cached part, and live lines packed at each scrape."""
        fixed = self._fixed_part(form).body
        packed, checksum = self._pack(form, fixed)
        live = self._live_part(form, moment)
        packer = zlib.compressobj(wbits=RAW_DEFLATE)
        tail = packer.compress(live) + packer.flush()
        size = (len(fixed) + len(live)) & 0xFFFFFFFF
        return GZIP_HEADER + packed + tail + struct.pack("<II", zlib.crc32(live, checksum), size)

    def _pack(self, form: Format, fixed: bytes) -> tuple[bytes, int]:
        if form not in self._packed:
            packer = zlib.compressobj(wbits=RAW_DEFLATE)
            packed = packer.compress(fixed) + packer.flush(zlib.Z_FULL_FLUSH)
            self._packed[form] = (packed, zlib.crc32(fixed))
        return self._packed[form]

    def _fixed_part(self, form: Format) -> Rendered:
        if form not in self._fixed and self._snapshot is not None:
            families = self._families.families_of(self._snapshot)
            known = self._blocks.get(form, NO_BLOCKS)
            rendered = render(self._chosen(families), self._snapshot, form, known)
            self._blocks[form] = rendered.blocks
            if not self._fixed:
                self._dropped.update(dict(rendered.dropped))
            self._fixed[form] = rendered
        return self._fixed[form]

    def _chosen(self, families: Iterable[Family]) -> Iterable[Family]:
        return (family for family in families if self._is_exported(family.name))

    def _live_part(self, form: Format, moment: Moment) -> bytes:
        if self._snapshot is None:
            return b""
        live = render(self._live_families(form, moment), self._snapshot, form)
        return live.body + (END_OF_OPENMETRICS if form is Format.OPENMETRICS else b"")

    def _live_families(self, form: Format, moment: Moment) -> Iterable[Family]:
        full = replace(moment, series=self._fixed[form].series, dropped=dict(self._dropped))
        return self._chosen(self._families.live_families(full))
