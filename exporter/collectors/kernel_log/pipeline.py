"""The pipeline from records to events and counters: trust, matching, assembly, history."""

import math
import re
from collections import deque
from collections.abc import Callable, Iterable
from types import MappingProxyType

from exporter.collectors.kernel_log.checkpoint import Position, Saved
from exporter.collectors.kernel_log.counters import MAX_EVENTS, Counters
from exporter.collectors.kernel_log.multiline import (
    Message,
    MultilineAssembler,
    Repeats,
    UnnamedExceptions,
)
from exporter.collectors.kernel_log.pattern import Role
from exporter.collectors.kernel_log.record import Record
from exporter.collectors.kernel_log.table import MAX_LINES, Table
from exporter.collectors.kernel_log.user_words import possible_kinds
from exporter.collectors.kernel_log.values import KERNEL_LOG
from exporter.faults.events.store import ENDED, ENDS
from exporter.model.event import Event
from exporter.model.label import clean_text
from exporter.record import replace

LINE_BREAK = " / "
"""Stands between the lines of a message in the text of its event."""

_OWN_BREAK = re.compile(r"(?<! ) +/(?= )")
"""What a line itself, or a name in it that a tenant chose, has of a break."""

MAX_RAW_BYTES = 512
"""Evidence kept of the lines of one event."""

CLOCK_DRIFT_SECS = 1.0
"""The clock of prints may be this far from ours before it is set right."""

CUT_SECS = 10.0
"""The rest of an interrupted message comes within this time: its process may have to wait."""

UNMARKED_SECS = 1.0
"""The same where records are lost, or where syslog(2) does not say which are a rest."""

NAME_FOLLOWS = b"cpuset="
CUT = re.compile(
    rb"(?:oom-kill:constraint=|.{1,15}: [^/]*mode:0x)[^/]*nodemask=[^ /]*,cpuset=|,cpuset="
    rb"|(?!.*: renamed from).{0,15} cpuset=",
    re.DOTALL,
)
"""What the kernel printed before the name of a control group (cpuset_print_current_mems_allowed).

The name, which a tenant may choose, is a print of its own (pr_cont_cgroup_name): when another
processor prints before it, the name begins a record. A path or the name of an interface is no such
end.
"""

REST_OF_CUT = b"mems_allowed="
"""What the kernel prints after the name; the message is complete then."""

USER_RECORD = "user_record"
FRAGMENT = "fragment"
FOREIGN = "foreign"
AMBIGUOUS = "ambiguous"
MALFORMED = "malformed"
TOO_LONG = "too_long"


class PrintClock:
    """From the stamps of prints to the time of day.

    The kernel stamps prints with a clock that does not count suspended time and that drifts by
    parts in a million; a record that is read as it appears shows by how much.
    """

    def __init__(self, wall: Callable[[], float], boottime: Callable[[], float]) -> None:
        self._wall = wall
        self._boottime = boottime
        self._behind_secs = 0.0

    def moment(self, stamp: float) -> tuple[float, float]:
        """Return wall clock and boot time of a stamp, in seconds."""
        boottime = stamp + self._behind_secs
        return self._wall() - self._boottime() + boottime, boottime

    def learn(self, stamp: float) -> None:
        """Take note that a record with this stamp appeared just now."""
        behind_secs = self._boottime() - stamp
        if abs(behind_secs - self._behind_secs) > CLOCK_DRIFT_SECS:
            self._behind_secs = behind_secs


class Pipeline:
    """Takes records in the order of the log and keeps the counters.

    With `saved`, records that an earlier process of this boot had read are history: their events
    are kept once all of them were read, with the last numbers of then, but not counted again.
    """

    def __init__(
        self,
        clock: PrintClock,
        *,
        accept_user_records: bool,
        saved: Saved | None = None,
        table: Table | None = None,
        source: str = KERNEL_LOG,
    ) -> None:
        self.counters = Counters() if saved is None else saved.counters
        self.position: Position | None = None if saved is None else saved.position
        self._clock = clock
        self._accept_user_records = accept_user_records
        self.table = table or Table()
        self._source = source
        self._assembler = MultilineAssembler()
        self._unnamed = UnnamedExceptions()
        self._repeats = Repeats()
        self._history_until = self.position
        self._history: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._next_is_new = False
        self._cut_until = -math.inf
        self.counters.first_new_number = self.counters.number + 1

    @property
    def is_in_history(self) -> bool:
        """Whether what was taken so far had all been read by an earlier process."""
        return self._history_until is not None

    @property
    def is_holding(self) -> bool:
        """Whether a message may still get further lines."""
        return self._assembler.is_holding or self._unnamed.is_holding

    def take(self, record: Record) -> None:
        """Read one record of the log."""
        until = self._history_until
        if until is not None and not until.covers(record.sequence, record.stamp):
            self.end_history()
        if self._history_until is None:
            if self._next_is_new:
                self._next_is_new = False
                self._clock.learn(record.stamp)
            self._note_position(record)
            self.counters.records += 1
            if record.is_from_user and not self._accept_user_records:
                self.counters.rejected[USER_RECORD] += 1
                return
        elif record.is_from_user and not self._accept_user_records:
            return
        is_fragment = self._is_fragment(record)
        if self.is_holding:  # lines that mean nothing may leave no rest to settle in
            self._finish(self._assembler.finished_by(record.stamp))
            self._keep(self._unnamed.finished_by(record.stamp))
        if self.table.may_match(record.body):
            self._look_at(record, is_fragment=is_fragment)

    def reject(self, reason: str) -> None:
        """Count something that was read and is no record."""
        self.counters.rejected[reason] += 1

    def lose(self, count: int) -> None:
        """Count records that were overwritten before they could be read."""
        self.counters.lost += count

    def settle(self) -> None:
        """Finish the messages that were held for further lines."""
        self._finish(self._assembler.finish())
        self._keep(self._unnamed.release())

    def caught_up(self) -> None:
        """Take note that the log has been read to its end: the next record will be a new one."""
        self.end_history()
        self._next_is_new = True

    def end_history(self) -> None:
        """Mark that what follows was not read by an earlier process."""
        if self._history_until is None:
            return
        self.settle()
        self._history_until = None
        first = self.counters.number - len(self._history) + 1
        for number, event in enumerate(self._history, first):
            self.counters.keep(replace(event, number=number))
        self._history.clear()

    def _is_fragment(self, record: Record) -> bool:
        """Tell whether this may be the rest of an interrupted message, a name that a tenant chose.

        /dev/kmsg marks such records, but also each line of the NVIDIA driver, which prints all as
        continuations (nv_printf, kernel-open/nvidia/os-interface.c). So a marked record is a rest
        only after a message that was cut, or where that message may have been lost.
        """
        is_marked, until = record.is_continuation, self._cut_until
        is_syslog = record.sequence is None
        if record.body.endswith(NAME_FOLLOWS) and CUT.fullmatch(record.body):
            self._cut_until = record.stamp + (UNMARKED_SECS if is_syslog else CUT_SECS)
        elif is_marked and not is_syslog and REST_OF_CUT in record.body:
            self._cut_until = -math.inf
        return is_marked and record.stamp < until

    def _note_position(self, record: Record) -> None:
        before = self.position
        if before is not None and before.sequence is not None and record.sequence is not None:
            lost = max(0, record.sequence - before.sequence - 1)
            self.counters.lost += lost
            if lost:
                self._cut_until = max(self._cut_until, record.stamp + UNMARKED_SECS)
        self.position = Position(record.sequence, record.stamp)

    def _look_at(self, record: Record, *, is_fragment: bool) -> None:
        text, is_one_print = record.text(), record.sequence is not None
        try:
            matches = tuple(self.table.matches(text, is_one_print=is_one_print))
        except (KeyError, ValueError):  # a line of the operator lacks what its `convert` reads
            self._reject_new(MALFORMED)
            return
        if matches and is_fragment:
            self._reject_new(FRAGMENT)
        elif matches:
            kinds = possible_kinds([text] if is_one_print else text.split("\n"))
            if kinds is None or all(match.row.kind in kinds for match in matches):
                for match in matches:
                    self._finish(self._assembler.take(match, record.stamp))
            else:
                self._reject_new(FOREIGN)
        if not is_one_print and "\n" in text:
            known = sum(self.table.match(line) is not None for line in text.split("\n")[:MAX_LINES])
            self._reject_new(AMBIGUOUS, max(0, known - len(matches)))

    def _reject_new(self, reason: str, count: int = 1) -> None:
        """Count matches that are not believed, but not again those of the history."""
        if count and self._history_until is None:
            self.counters.rejected[reason] += count

    def _finish(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._keep(self._unnamed.take(message))

    def _keep(self, messages: Iterable[Message]) -> None:
        is_new = self._history_until is None
        for message in messages:
            if message.row.role is Role.DROPPED:
                count = message.fields.get("count", "")
                self.counters.suppressed += (int(count) if count.isdecimal() else 1) * is_new
                continue
            if self._repeats.is_repeat(message):
                continue
            event = self._event(message)
            if not is_new:
                self._history.append(event)
                continue
            self.counters.number += 1
            self.counters.keep(replace(event, number=self.counters.number))
            if message.row.role is not Role.ENDED:
                self.counters.count(event)

    def _event(self, message: Message) -> Event:
        at, boottime = self._clock.moment(message.stamp)
        fields = message.fields
        if message.row.role is Role.ENDED:
            part = {ENDS: message.row.same} if message.row.same else {}
            fields = {**fields, ENDED: "yes", **part}
        entity_type, entity_id = message.row.about(fields)
        pid = fields.get("pid", "")
        return Event(
            at=at,
            boottime=boottime,
            type=self.table.kinds[message.row.kind].type,
            kind=message.row.kind,
            entity_type=entity_type,
            entity_id=entity_id,
            source=self._source,
            fields=MappingProxyType(fields),
            pid=int(pid) if pid.isdecimal() else None,
            raw=_raw(message.lines),
        )


def _raw(lines: list[str]) -> str:
    """Return the lines of a message as evidence, at most 512 bytes of them."""
    text = clean_text(LINE_BREAK.join(_OWN_BREAK.sub("/", line) for line in lines), MAX_RAW_BYTES)
    return text.encode()[:MAX_RAW_BYTES].decode("utf-8", "ignore")
