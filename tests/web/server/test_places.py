"""Who gets a place where all are taken, and who loses his."""

from dataclasses import dataclass, field

import pytest

from exporter.web.server.places import MAX_REGULARS, Places


@dataclass(eq=False)
class _Connection:
    places: "Places[_Connection]"
    peer: str = "10.0.0.1"
    unsent_bytes: int = 0
    has_ended: bool = False
    log: list[str] = field(default_factory=list)

    def end(self) -> None:
        self.has_ended = True
        self.places.ended(self)


def _admitted(places: Places[_Connection], peer: str = "10.0.0.1") -> _Connection:
    connection = _Connection(places, peer)
    assert places.admit(connection)
    return connection


def test_as_many_are_ended_as_hold_too_much() -> None:
    """One more slow client may be the end of several: what is unsent is within its bound after."""
    places: Places[_Connection] = Places(10, max_unsent_bytes=100)
    slow = [_admitted(places) for _ in range(4)]
    for connection in slow[:3]:
        places.became_slow(connection)
    for connection in slow[:3]:
        connection.unsent_bytes = 60
    places.became_slow(slow[3])
    assert [connection.has_ended for connection in slow] == [True, True, False, False]


def test_as_much_as_the_bound_may_be_unsent() -> None:
    """To the byte: nobody is ended for it."""
    places: Places[_Connection] = Places(10, max_unsent_bytes=100)
    slow = [_admitted(places) for _ in range(2)]
    for connection in slow:
        connection.unsent_bytes = 50
        places.became_slow(connection)
    assert not any(connection.has_ended for connection in slow)


@pytest.mark.parametrize("order", [("idle", "arriving", "slow"), ("arriving", "slow"), ("slow",)])
def test_the_idle_go_first_then_the_unfinished_then_the_deaf(order: tuple[str, ...]) -> None:
    """Who is being served keeps his place."""
    places: Places[_Connection] = Places(4, 100)
    states = {"busy": _admitted(places)}
    for name in reversed(order):
        states[name] = _admitted(places)
        getattr(places, f"became_{name}")(states[name])
    for _ in range(4 - len(states)):
        places.became_busy(_admitted(places))
    assert places.admit(_Connection(places, "10.0.0.2"))
    assert [name for name, each in states.items() if each.has_ended] == [order[0]]


def test_nobody_is_ended_while_all_are_served() -> None:
    """Then the new client is refused, and counted."""
    places: Places[_Connection] = Places(1, 100)
    served = _admitted(places)
    assert not places.admit(_Connection(places))
    assert not served.has_ended
    assert places.refused == 1
    assert len(places) == 1


def test_the_address_with_most_connections_pays() -> None:
    """One connection of somebody else is left alone, though it is idle longest."""
    places: Places[_Connection] = Places(4, 100)
    other, *greedy = [_admitted(places, peer) for peer in ("a", "b", "b", "b")]
    for connection in (other, *greedy):
        places.became_idle(connection)
    _admitted(places, "c")
    assert [connection.has_ended for connection in (other, *greedy)] == [False, True, False, False]
    assert places.refused == 0


def test_regular_clients_go_last_and_are_a_few() -> None:
    """Scrapers keep their places before everybody else; the latest few addresses are known."""
    places: Places[_Connection] = Places(3, 100)
    clients = [_admitted(places, peer) for peer in ("scraper", "scraper", "x")]
    for connection in clients:
        places.became_idle(connection)
    places.is_regular("scraper")
    _admitted(places, "y")
    assert [connection.has_ended for connection in clients] == [False, False, True]
    for number in range(MAX_REGULARS):
        places.is_regular(str(number))
    places.became_idle(_admitted(places, "0"))
    assert [connection.has_ended for connection in clients] == [True, False, True]


def test_a_scraper_that_comes_again_is_the_latest() -> None:
    """Other addresses do not push it out of the few that are known."""
    places: Places[_Connection] = Places(2, 100)
    for peer in ("scraper", *map(str, range(MAX_REGULARS - 1)), "scraper", "one more"):
        places.is_regular(peer)
    scraper, other = _admitted(places, "scraper"), _admitted(places, "0")
    places.became_idle(scraper)
    places.became_idle(other)
    _admitted(places, "x")
    assert [scraper.has_ended, other.has_ended] == [False, True]


def test_a_client_changes_its_group_whole() -> None:
    """One that turned slow is not unfinished any more; one that caught up is idle."""
    places: Places[_Connection] = Places(2, 100)
    first, second = _admitted(places), _admitted(places)
    places.became_arriving(first)
    places.became_slow(first)
    places.became_arriving(second)
    third = _admitted(places, "10.0.0.2")
    assert (first.has_ended, second.has_ended) == (False, True)
    places.became_arriving(third)
    places.caught_up(first)
    refused = places.refused
    _admitted(places, "10.0.0.2")
    assert (first.has_ended, third.has_ended) == (True, False)
    assert places.refused == refused  # an idle one costs nobody an answer
    places.became_idle(third)
    third.end()
    third.has_ended = False
    for number in range(2):
        places.admit(_Connection(places, f"10.0.1.{number}"))
    assert not third.has_ended
