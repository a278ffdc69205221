"""The interface of sources."""

from typing import Protocol, TypeAlias, runtime_checkable

from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot


class SourceAbsent(Exception):
    """The hardware or file of the source is not on this node; the message names it."""


class SourceFailed(Exception):
    """The source exists but could not be read; the message says why in one sentence."""


class _Named(Protocol):
    """What every source has."""

    @property
    def name(self) -> str:
        """The value of the label `source`, unique in the list of sources."""
        ...

    @property
    def deadline_secs(self) -> float:
        """Seconds after which a read that has not ended is reported as stuck."""
        ...

    async def close(self) -> None:
        """Close processes, files and sockets, within half a second."""
        ...


class Source(_Named, Protocol):
    """One source of readings.

    `read` returns the reading, or raises SourceAbsent or SourceFailed; any other exception is a bug
    that costs this source its reading and nothing more. The collector calls `read` again only when
    the last call has ended, and reports the source as stuck after `deadline_secs`.
    """

    async def read(self) -> Reading[object]:
        """Read the hardware once."""
        ...


@runtime_checkable
class Follower(_Named, Protocol):
    """A source that reads further details of another reading; read after all sources.

    It keeps the promises of a Source, and is read again whenever the source of `follows` is.
    """

    @property
    def follows(self) -> type:
        """The type of the reading that the follower depends on."""
        ...

    async def read_after(self, seen: Snapshot) -> Reading[object]:
        """Read the details; `seen` holds the readings of this collection."""
        ...


@runtime_checkable
class Releasable(Protocol):
    """A source that holds hardware which can be released for a limited time."""

    def release(self) -> None:
        """Release the hardware within two seconds, for a limited time."""
        ...

    def resume(self) -> None:
        """Read the hardware again from now on."""
        ...


AnySource: TypeAlias = Source | Follower
