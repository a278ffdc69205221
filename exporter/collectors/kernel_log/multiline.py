"""Assembles multi-line messages to events, and drops repeated messages."""

from collections.abc import Iterator, Mapping
from dataclasses import field

from exporter.collectors.kernel_log.pattern import LinePattern, Role
from exporter.collectors.kernel_log.table import Match
from exporter.record import dataclass

JOIN_SECS = 1.0
"""Lines further apart do not belong to one message."""

NAMED_SECS = 0.2
"""The driver prints the lines of one exception closer together than this."""

MAX_UNNAMED = 512
"""Lines that wait for the name of their process, of all GPUs; a GPU prints two for each SM."""

MAX_LISTED = 8
"""Error bits of one message that are kept."""

MAX_RECENT = 256
"""Messages remembered to tell repetitions."""

LISTED_FIELDS = frozenset({"error"})
"""Fields that several lines of one message say: the names of error bits."""


@dataclass(slots=True)
class Message:
    """One message of the kernel: its row, what its lines said, and the lines themselves."""

    row: LinePattern
    fields: dict[str, str]
    stamp: float  # seconds since boot, by the kernel's clock for prints
    lines: list[str]

    def add(self, match: Match) -> None:
        """Take in a further line."""
        for name, value in match.fields.items():
            known = self.fields.get(name)
            if name in LISTED_FIELDS and known is not None:
                value = f"{known},{value}" if known.count(",") < MAX_LISTED - 1 else known  # noqa: PLW2901 - the list so far is the value
            self.fields[name] = value
        self.lines.append(match.line)

    def takes(self, match: Match) -> bool:
        """Tell whether the line belongs to this message."""
        row = match.row
        mine, its = self.fields.get(row.same), match.fields.get(row.same)
        if mine is not None and its is not None and mine != its:
            return False
        return not row.once or row.once not in self.fields


@dataclass(slots=True)
class UnnamedExceptions:
    """Holds lines of Xid 13 without a process until the driver names it, with the last of them.

    From driver 580 on only the line with the channel does, not those with the place on the GPU
    (tests/captures/kernel_log/h200_app_errors.kmsg).
    """

    _held: list[Message] = field(default_factory=list)

    @property
    def is_holding(self) -> bool:
        """Whether a line waits."""
        return bool(self._held)

    def take(self, message: Message) -> Iterator[Message]:
        """Yield the messages that wait no longer after `message`, in the order of the log."""
        if len(self._held) >= MAX_UNNAMED:
            yield from self.release()
        yield from self.finished_by(message.stamp)
        if message.row.kind != "xid" or message.fields.get("code") != "13":
            yield message
            return
        if "pid" not in message.fields:
            self._held.append(message)
            return
        process = {name: it for name, it in message.fields.items() if name in ("pid", "name")}
        held, self._held = self._held, []
        for one in held:
            if _is_of_one_part(one, message):
                one.fields.pop("anonymous", None)  # rows of an operator do not say it
                one.fields.update(process)
                yield one
            else:
                self._held.append(one)
        yield message

    def finished_by(self, stamp: float) -> Iterator[Message]:
        """Yield the lines that were printed too long before `stamp` to be named by another line."""
        if self._held and stamp - self._held[-1].stamp > NAMED_SECS:
            yield from self.release()

    def release(self) -> Iterator[Message]:
        """Yield the lines that waited, without a process."""
        held, self._held = self._held, []
        yield from held


def _is_of_one_part(one: Message, other: Message) -> bool:
    """Tell whether both are about the same GPU, and the same MIG instance of the GPU."""
    return all(one.fields.get(name) == other.fields.get(name) for name in ("pci", "gi", "ci"))


@dataclass(slots=True)
class MultilineAssembler:
    """Holds at most one unfinished message of each kind."""

    _open: dict[str, Message] = field(default_factory=dict)

    @property
    def is_holding(self) -> bool:
        """Whether a message may still get further lines."""
        return bool(self._open)

    def take(self, match: Match, stamp: float) -> Iterator[Message]:
        """Yield the messages that are finished now that this line was read."""
        yield from self.finished_by(stamp)
        name, role = match.row.opens or match.row.kind, match.row.role
        if role in (Role.WHOLE, Role.ENDED, Role.DROPPED):
            yield Message(match.row, match.fields, stamp, [match.line])
            return
        message = self._open.get(name)
        if message is not None and role is not Role.START and message.takes(match):
            message.add(match)
        elif role is not Role.CONTINUATION:
            row = match.row
            if message is not None:
                if message.row.opens and role is Role.JOIN:
                    row = message.row  # a further record below the same head
                yield from self._close(name)
            self._open[name] = Message(row, match.fields, stamp, [match.line])

    def finish(self) -> Iterator[Message]:
        """Yield all messages that were held, finished as they are."""
        for name in list(self._open):
            yield from self._close(name)

    def finished_by(self, stamp: float) -> Iterator[Message]:
        """Yield the messages that began too long before `stamp` to get a line printed then."""
        if self._open:
            for name, message in list(self._open.items()):
                if abs(stamp - message.stamp) > JOIN_SECS:
                    yield from self._close(name)

    def _close(self, name: str) -> Iterator[Message]:
        message = self._open.pop(name)
        if not message.row.needs or message.row.needs in message.fields:
            yield message


class Repeats:
    """Tells a message that says again what another one just said."""

    def __init__(self, max_recent: int = MAX_RECENT) -> None:
        self._max_recent = max_recent
        self._last: dict[tuple[str, ...], float] = {}

    def is_repeat(self, message: Message) -> bool:
        """Tell whether this repeats what was printed a moment before; remembers the message."""
        same = same_thing(message.row.kind, message.fields)
        if same is None:
            return False
        key, within_secs = same
        last = self._last.get(key)
        begins = message.row.kind == "driver_loaded" and "version" not in message.fields
        if last is None or begins or abs(message.stamp - last) > within_secs:
            self._remember(key, message.stamp)
            return False
        # An Xid is always counted: the driver reports it on its other ways too.
        return message.row.kind != "xid"

    def _remember(self, key: tuple[str, ...], stamp: float) -> None:
        if len(self._last) >= self._max_recent:
            del self._last[next(iter(self._last))]
        self._last.pop(key, None)
        self._last[key] = stamp


REPEATED: Mapping[str, tuple[tuple[str, ...], float]] = {
    "sxid": (("pci", "code", "link"), 1.0),
    "kernel_oops": ((), 1.0),
    "fs_shutdown": (("device",), 1.0),
    "oom_kill": (("pid",), 1.0),
    "gpu_lost": (("pci",), 5.0),
    "driver_loaded": ((), 60.0),
}
"""Kinds whose messages repeat each other: their fields that are equal then, and the seconds.

The driver says at the end of a load, too, that it was loaded, with its version.
"""


def same_thing(kind: str, fields: Mapping[str, str]) -> tuple[tuple[str, ...], float] | None:
    """Return the key that repeats of a message share, and for how many seconds; None for none."""
    if kind == "xid" and fields.get("code") == "79":
        kind = "gpu_lost"
    if kind not in REPEATED or (kind == "oom_kill" and "pid" not in fields):
        return None
    names, within_secs = REPEATED[kind]
    return (kind, *(fields.get(name, "") for name in names)), within_secs
