"""Connection slots: how many connections are served at once, and which clients get them."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Generic, Protocol, TypeVar

from exporter.record import dataclass

MAX_REGULARS = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one server; times in seconds.

    `max_unsent_bytes` is for all answers together that clients are slow to take,
    `max_arriving_bytes` for all requests together that have not arrived as a whole;
    nobody who has sent less than `fair_request_bytes` suffers from others that sent more.
    """

    max_connections: int
    request_timeout_secs: float
    keepalive_timeout_secs: float
    response_timeout_secs: float = 10.0
    max_header_bytes: int = 8190
    max_headers: int = 64
    max_unsent_bytes: int = 8 * 1024 * 1024
    max_arriving_bytes: int = 8 * 1024 * 1024
    fair_request_bytes: int = 16 * 1024
    max_handshakes: int = 64


class Connection(Protocol):
    """What has a place."""

    peer: str

    @property
    def unsent_bytes(self) -> int:
        """Return how much of our answers the kernel has not taken yet."""
        ...

    def end(self) -> None:
        """Close at once and give the place free."""
        ...


C = TypeVar("C", bound=Connection)


class Places(Generic[C]):
    """Admit connections, and end others for them.

    When all places are taken, a new client gets that of another: of the connection idle longest,
    else of one whose request is not complete, else of one that does not take its answer; first
    those of the address that has most connections, last those of a scraper or a kubelet.
    `refused` counts connections that were closed because too many were open; idle ones are not
    among them.
    """

    def __init__(self, most: int, max_unsent_bytes: int) -> None:
        self._most = most
        self._max_unsent_bytes = max_unsent_bytes
        self._of_peer: Counter[str] = Counter()
        self._regulars: dict[str, None] = {}
        # In the order in which they became so.
        self._idle: dict[C, None] = {}
        self._arriving: dict[C, None] = {}
        self._slow: dict[C, None] = {}
        self.refused = 0

    def __len__(self) -> int:
        """Return how many places are taken."""
        return self._of_peer.total()

    def admit(self, connection: C) -> bool:
        """Return whether there is a place for the connection, and take it."""
        if len(self) >= self._most:
            victim = self._victim()
            self.refused += victim not in self._idle
            if victim is None:
                return False
            victim.end()
        self._of_peer[connection.peer] += 1
        return True

    def ended(self, connection: C) -> None:
        """Give the place of the connection free."""
        self._of_peer[connection.peer] -= 1
        if not self._of_peer[connection.peer]:
            del self._of_peer[connection.peer]
        self.became_busy(connection)
        self._slow.pop(connection, None)

    def is_regular(self, peer: str) -> None:
        """Remember the address of a scraper or a kubelet: its connections are ended last."""
        self._regulars.pop(peer, None)
        self._regulars[peer] = None
        if len(self._regulars) > MAX_REGULARS:
            del self._regulars[next(iter(self._regulars))]

    def became_idle(self, connection: C) -> None:
        """Take down that the connection waits for its next request."""
        self.became_busy(connection)
        self._idle[connection] = None

    def became_arriving(self, connection: C) -> None:
        """Take down that a request has begun to arrive on the connection."""
        self.became_busy(connection)
        self._arriving[connection] = None

    def became_busy(self, connection: C) -> None:
        """Take down that a whole request is here and is answered."""
        self._idle.pop(connection, None)
        self._arriving.pop(connection, None)

    def became_slow(self, connection: C) -> None:
        """End connections whose clients take their answers slowly, if these are too many bytes."""
        self.became_busy(connection)
        self._slow[connection] = None
        unsent = sum(slow.unsent_bytes for slow in self._slow)
        while unsent > self._max_unsent_bytes:
            slowest = next(iter(self._slow))
            unsent -= slowest.unsent_bytes
            slowest.end()

    def caught_up(self, connection: C) -> None:
        """Take down that the client has taken what was sent."""
        self._slow.pop(connection, None)
        self.became_idle(connection)

    def _victim(self) -> C | None:
        """Return the connection whose place a new client gets; None when all are served now."""
        (greediest, _), *_ = self._of_peer.most_common(1)
        found = chain(
            self._those(lambda peer: peer == greediest and peer not in self._regulars),
            self._those(lambda peer: peer not in self._regulars),
            self._those(lambda _: True),
        )
        return next(found, None)

    def _those(self, is_meant: Callable[[str], bool]) -> Iterator[C]:
        for group in (self._idle, self._arriving, self._slow):
            yield from (each for each in group if is_meant(each.peer))
