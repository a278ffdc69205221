"""Reading /dev/kmsg: one record for each read, without waiting.

EPIPE says that the ring was overwritten under the reader (the gap shows in the sequence numbers),
EINVAL that a record did not fit; both are passed over. A pipe or a file with the same text may
give several records for one read, and an end.
"""

import errno
from collections.abc import Callable
from enum import Enum

from exporter.sources.kernel_log.pipeline import MALFORMED, TOO_LONG, Pipeline
from exporter.sources.kernel_log.record import parse_kmsg, split_kmsg

READ_BYTES = 16384
"""More than the longest record with all its escapes."""


class Pumped(Enum):
    """How a turn of reading ended."""

    MORE = "more"  # the limit was met; there may be more
    DRAINED = "drained"  # nothing new now
    ENDED = "ended"  # a pipe without writers, or the end of a file


class KmsgReader:
    """Hands the records of an open descriptor to the pipeline.

    `read` gives the bytes of one read, raises BlockingIOError when there is nothing new, and
    gives no bytes at an end.
    """

    def __init__(self, read: Callable[[], bytes], pipeline: Pipeline) -> None:
        self._read = read
        self._pipeline = pipeline
        self._rest = b""
        self._taken = 0

    def pump(self, limit: int) -> Pumped:
        """Take about `limit` records; raises OSError when the device cannot be read any more."""
        self._taken = 0
        while self._taken < limit:
            self._taken += 1
            try:
                data = self._read()
            except BlockingIOError:
                self._take_rest()
                return Pumped.DRAINED
            except OSError as error:
                self._pass_over(error)
                continue
            if not data:
                self._take_rest()
                return Pumped.ENDED
            self._take(data)
        return Pumped.MORE

    def _take(self, data: bytes) -> None:
        if self._rest:
            if parse_kmsg(data) is not None and parse_kmsg(self._rest) is not None:
                self._take_rest()  # a record without a line feed at its end
            data, self._rest = self._rest + data, b""
        records, self._rest = split_kmsg(data)
        self._taken += max(0, len(records) - 1)
        for piece in records:
            self._take_record(piece)
        if len(self._rest) > READ_BYTES:
            self._rest = b""
            self._pipeline.reject(TOO_LONG)

    def _take_rest(self) -> None:
        if self._rest:
            rest, self._rest = self._rest, b""
            self._take_record(rest)

    def _take_record(self, data: bytes) -> None:
        record = parse_kmsg(data)
        if record is None:
            self._pipeline.reject(MALFORMED)
        else:
            self._pipeline.take(record)

    def _pass_over(self, error: OSError) -> None:
        if error.errno == errno.EINVAL:
            self._pipeline.reject(TOO_LONG)
        elif error.errno not in (errno.EPIPE, errno.EINTR):
            raise error
