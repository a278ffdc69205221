"""The interface of a source."""

from typing import Protocol, TypeAlias, runtime_checkable

from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot


class SourceAbsent(Exception):
    """What the source reads is not on this node; the message says what was looked for."""


class SourceFailed(Exception):
    """The source is there and could not be read; the message says why in one sentence."""


class Source(Protocol):
    """One place that readings come from.

    `read` gives the reading, or raises SourceAbsent or SourceFailed; anything else it raises is
    a bug that costs this source its reading and nothing more. The collector calls it again only
    when the call before has ended, and reports it stuck after `deadline_secs`.
    """

    @property
    def name(self) -> str:
        """The value of the label `source`, unique in the list of sources."""
        ...

    @property
    def deadline_secs(self) -> float:
        """Seconds after which a read that has not ended is reported as stuck."""
        ...

    async def read(self) -> Reading[object]:
        """Read the hardware once."""
        ...

    async def close(self) -> None:
        """Let go of processes, files and sockets, within half a second."""
        ...


@runtime_checkable
class Follower(Protocol):
    """A source that looks closer at what another has just seen: read after all sources.

    The same promises as those of a Source; it is read again whenever `follows` is.
    """

    @property
    def name(self) -> str:
        """The value of the label `source`, unique in the list of sources."""
        ...

    @property
    def follows(self) -> type:
        """The type of the reading that it looks closer at."""
        ...

    @property
    def deadline_secs(self) -> float:
        """Seconds after which a read that has not ended is reported as stuck."""
        ...

    async def read_after(self, seen: Snapshot) -> Reading[object]:
        """Look closer; `seen` holds what the sources read in the same collection."""
        ...

    async def close(self) -> None:
        """Let go of processes, files and sockets, within half a second."""
        ...


@runtime_checkable
class Releasable(Protocol):
    """A source that holds hardware which others may want for a while."""

    def release(self) -> None:
        """Hold nothing from two seconds from now on at the latest, for a limited time."""
        ...

    def resume(self) -> None:
        """Read again, now."""
        ...


@runtime_checkable
class Reloadable(Protocol):
    """A source whose files of the operator can be read again."""

    name: str

    def reload(self, renewed: object) -> None:
        """Take the settings of the same source that was built anew."""
        ...


AnySource: TypeAlias = Source | Follower
