"""Who gets a place where all are taken, and who loses his."""

from collections import Counter
from dataclasses import dataclass
from random import Random

import pytest

from exporter.web.server.admission import MAX_REGULARS, Admission, Clients


@dataclass(eq=False)
class _Connection:
    admission: Admission
    peer: str = "10.0.0.1"
    unsent_bytes: int = 0
    has_ended: bool = False

    def end(self) -> None:
        self.has_ended = True
        self.admission.ended(self)


def _admitted(admission: Admission, peer: str = "10.0.0.1") -> _Connection:
    connection = _Connection(admission, peer)
    assert admission.admit(connection)
    return connection


def test_as_many_are_ended_as_hold_too_much() -> None:
    """One more slow client may be the end of several: what is unsent is within its bound after."""
    admission = Admission(10, max_unsent_bytes=100)
    slow = [_admitted(admission) for _ in range(4)]
    for connection in slow[:3]:
        admission.became_slow(connection)
    for connection in slow[:3]:
        connection.unsent_bytes = 60
    admission.became_slow(slow[3])
    assert [connection.has_ended for connection in slow] == [True, True, False, False]


def test_as_much_as_the_bound_may_be_unsent() -> None:
    """To the byte: nobody is ended for it."""
    admission = Admission(10, max_unsent_bytes=100)
    slow = [_admitted(admission) for _ in range(2)]
    for connection in slow:
        connection.unsent_bytes = 50
        admission.became_slow(connection)
    assert not any(connection.has_ended for connection in slow)


@pytest.mark.parametrize("order", [("idle", "arriving", "slow"), ("arriving", "slow"), ("slow",)])
def test_the_idle_go_first_then_the_unfinished_then_the_deaf(order: tuple[str, ...]) -> None:
    """Who is being served keeps his place."""
    admission = Admission(4, 100)
    states = {"busy": _admitted(admission)}
    for name in reversed(order):
        states[name] = _admitted(admission)
        getattr(admission, f"became_{name}")(states[name])
    for _ in range(4 - len(states)):
        admission.became_busy(_admitted(admission))
    assert admission.admit(_Connection(admission, "10.0.0.2"))
    assert [name for name, each in states.items() if each.has_ended] == [order[0]]


def test_the_address_with_most_connections_pays() -> None:
    """One connection of somebody else is left alone, though it is idle longest."""
    admission = Admission(4, 100)
    other, *greedy = [_admitted(admission, peer) for peer in ("a", "b", "b", "b")]
    for connection in (other, *greedy):
        admission.became_idle(connection)
    _admitted(admission, "c")
    assert [connection.has_ended for connection in (other, *greedy)] == [False, True, False, False]
    assert admission.refused == 0


def test_regular_clients_go_last_and_are_a_few() -> None:
    """Scrapers keep their places before everybody else; the latest few addresses are known."""
    admission = Admission(3, 100)
    clients = [_admitted(admission, peer) for peer in ("scraper", "scraper", "x")]
    for connection in clients:
        admission.became_idle(connection)
    admission.is_regular("scraper")
    _admitted(admission, "y")
    assert [connection.has_ended for connection in clients] == [False, False, True]
    for number in range(MAX_REGULARS):
        admission.is_regular(str(number))
    admission.became_idle(_admitted(admission, "0"))
    assert [connection.has_ended for connection in clients] == [True, False, True]


def test_a_scraper_that_comes_again_is_the_latest() -> None:
    """Other addresses do not push it out of the few that are known."""
    admission = Admission(2, 100)
    for peer in ("scraper", *map(str, range(MAX_REGULARS - 1)), "scraper", "one more"):
        admission.is_regular(peer)
    scraper, other = _admitted(admission, "scraper"), _admitted(admission, "0")
    admission.became_idle(scraper)
    admission.became_idle(other)
    _admitted(admission, "x")
    assert [scraper.has_ended, other.has_ended] == [False, True]


def test_a_client_changes_its_group_whole() -> None:
    """One that turned slow is not unfinished any more; one that caught up is idle."""
    admission = Admission(2, 100)
    first, second = _admitted(admission), _admitted(admission)
    admission.became_arriving(first)
    admission.became_slow(first)
    admission.became_arriving(second)
    third = _admitted(admission, "10.0.0.2")
    assert (first.has_ended, second.has_ended) == (False, True)
    admission.became_arriving(third)
    admission.caught_up(first)
    refused = admission.refused
    _admitted(admission, "10.0.0.2")
    assert (first.has_ended, third.has_ended) == (True, False)
    assert admission.refused == refused  # an idle one costs nobody an answer
    admission.became_idle(third)
    third.end()
    third.has_ended = False
    for number in range(2):
        admission.admit(_Connection(admission, f"10.0.1.{number}"))
    assert not third.has_ended


@pytest.mark.parametrize("seed", range(5))
def test_the_greediest_address_is_known_after_any_coming_and_going(seed: int) -> None:
    """The oldest client of an address with as many clients as none has more of."""
    random = Random(seed)  # noqa: S311 - no secret
    clients: Clients[_Connection] = Clients()
    left: list[_Connection] = []
    for _ in range(500):
        if left and random.random() < 0.5:
            gone = left.pop(random.randrange(len(left)))
            assert clients.discard(gone)
            assert not clients.discard(gone)
        else:
            left.append(_Connection(Admission(1, 1), random.choice("abcdef")))
            clients.add(left[-1])
        assert list(clients) == left
        oldest, counts = clients.oldest_of_greediest(), Counter(each.peer for each in left)
        assert (oldest is None) == (not left)
        if oldest is not None:
            assert counts[oldest.peer] == max(counts.values())
            assert oldest is next(each for each in left if each.peer == oldest.peer)
