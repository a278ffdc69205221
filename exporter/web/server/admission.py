"""Admission: limits the clients, and chooses which client is closed for a new one.

A client goes through three stages, each with its own limit: waiting for its first bytes
(`acceptor.py`), TLS handshake, requests (both in `guard.py`). In each stage, the address with the
most clients loses a client first.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Generic, Protocol, TypeVar

from exporter.record import dataclass

MAX_REGULARS = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one server; times in seconds.

    `max_unsent_bytes` is for all answers that clients are slow to take, `max_arriving_bytes` for
    all incomplete requests; a client that has sent less than `fair_request_bytes` is not closed for
    clients that sent more.
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


class HasAddress(Protocol):
    """A client of which the address is known."""

    peer: str


class Connection(HasAddress, Protocol):
    """A client whose requests are answered."""

    @property
    def unsent_bytes(self) -> int:
        """Return the number of bytes of answers that the kernel has not taken yet."""
        ...

    def end(self) -> None:
        """Close the connection at once and free its place."""
        ...


K = TypeVar("K", bound=HasAddress)


class Clients(Generic[K]):
    """Clients by age, counted by address.

    Finding the address with the most clients takes constant time.
    """

    def __init__(self) -> None:
        self._all: dict[K, None] = {}
        self._of_address: dict[str, dict[K, None]] = {}
        self._with_count: dict[int, dict[str, None]] = {}
        self._most = 0

    def __len__(self) -> int:
        """Return the number of clients."""
        return len(self._all)

    def __iter__(self) -> Iterator[K]:
        """Iterate over the clients, the oldest first."""
        return iter(self._all)

    def add(self, client: K) -> None:
        """Add a client as the newest; it must not be in the collection."""
        self._all[client] = None
        clients = self._of_address.setdefault(client.peer, {})
        clients[client] = None
        self._count(client.peer, len(clients) - 1, len(clients))
        self._most = max(self._most, len(clients))

    def discard(self, client: K) -> bool:
        """Remove a client; return whether it was in the collection."""
        if client not in self._all:
            return False
        del self._all[client]
        clients = self._of_address[client.peer]
        del clients[client]
        self._count(client.peer, len(clients) + 1, len(clients))
        if not clients:
            del self._of_address[client.peer]
        if self._most not in self._with_count:
            self._most = len(clients)
        return True

    def greediest(self) -> str | None:
        """Return an address with the most clients; None without clients."""
        return next(iter(self._with_count[self._most]), None) if self._all else None

    def oldest_of_greediest(self) -> K | None:
        """Return the oldest client of the address that has the most; None without clients."""
        address = self.greediest()
        return None if address is None else next(iter(self._of_address[address]))

    def _count(self, address: str, before: int, now: int) -> None:
        """Move the address from the group with `before` clients to that with `now` clients."""
        if before:
            same = self._with_count[before]
            del same[address]
            if not same:
                del self._with_count[before]
        if now:
            self._with_count.setdefault(now, {})[address] = None


class Admission:
    """Admits connections, and ends others for them.

    When all places are taken, a new client gets the place of the connection that is idle longest,
    else of one with an incomplete request, else of a slow reader: first of the address with the
    most connections, last of a scraper or kubelet. `refused` counts clients closed because of a
    limit, in any stage, idle connections left out.
    """

    def __init__(self, most: int, max_unsent_bytes: int) -> None:
        self._most = most
        self._max_unsent_bytes = max_unsent_bytes
        self._admitted: Clients[Connection] = Clients()
        self._regulars: dict[str, None] = {}
        # In the order of entering the state.
        self._idle: dict[Connection, None] = {}
        self._arriving: dict[Connection, None] = {}
        self._slow: dict[Connection, None] = {}
        self.refused = 0

    def __len__(self) -> int:
        """Return the number of places taken."""
        return len(self._admitted)

    def admit(self, connection: Connection) -> bool:
        """Take a place for the connection; return False if there is none."""
        if len(self) >= self._most:
            victim = self._victim()
            self.refused += victim not in self._idle
            if victim is None:
                return False
            victim.end()
        self._admitted.add(connection)
        return True

    def ended(self, connection: Connection) -> None:
        """Free the place of the connection."""
        self._admitted.discard(connection)
        self.became_busy(connection)
        self._slow.pop(connection, None)

    def is_regular(self, peer: str) -> None:
        """Remember the address of a scraper or a kubelet: its connections are ended last."""
        self._regulars.pop(peer, None)
        self._regulars[peer] = None
        if len(self._regulars) > MAX_REGULARS:
            del self._regulars[next(iter(self._regulars))]

    def became_idle(self, connection: Connection) -> None:
        """Note that the connection waits for its next request."""
        self.became_busy(connection)
        self._idle[connection] = None

    def became_arriving(self, connection: Connection) -> None:
        """Note that a request has begun to arrive on the connection."""
        self.became_busy(connection)
        self._arriving[connection] = None

    def became_busy(self, connection: Connection) -> None:
        """Note that a whole request has arrived and is being answered."""
        self._idle.pop(connection, None)
        self._arriving.pop(connection, None)

    def became_slow(self, connection: Connection) -> None:
        """Note that a client is slow; end the slowest clients above the limit of unsent bytes."""
        self.became_busy(connection)
        self._slow[connection] = None
        unsent = sum(slow.unsent_bytes for slow in self._slow)
        while unsent > self._max_unsent_bytes:
            slowest = next(iter(self._slow))
            unsent -= slowest.unsent_bytes
            slowest.end()

    def caught_up(self, connection: Connection) -> None:
        """Note that the client has taken every byte that was sent."""
        self._slow.pop(connection, None)
        self.became_idle(connection)

    def _victim(self) -> Connection | None:
        """Return the connection to end for a new client; None if all are being served."""
        greediest = self._admitted.greediest()
        found = chain(
            self._with_peer(lambda peer: peer == greediest and peer not in self._regulars),
            self._with_peer(lambda peer: peer not in self._regulars),
            self._with_peer(lambda _: True),
        )
        return next(found, None)

    def _with_peer(self, is_meant: Callable[[str], bool]) -> Iterator[Connection]:
        """Yield the connections that may be ended, of the wanted addresses."""
        for group in (self._idle, self._arriving, self._slow):
            yield from (each for each in group if is_meant(each.peer))
