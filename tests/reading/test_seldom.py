"""What is read seldom is kept for some looks, and read again after them."""

from collections.abc import Iterator

from exporter.reading.seldom import LOOKS, MOST, Seldom


def values() -> Iterator[int | None]:
    """Another value for each time that is read."""
    yield from range(100, 100 + 2 * MOST)


def test_a_value_serves_so_many_looks() -> None:
    """It may be as old as that, and no older."""
    kept: Seldom[int] = Seldom()
    read = values()
    seen = [kept.get("a", lambda: next(read)) for _ in range(2 * LOOKS + 1)]
    assert seen == [100] * LOOKS + [101] * LOOKS + [102]


def test_keys_have_values_of_their_own() -> None:
    """A process that got the pid of another has another key."""
    kept: Seldom[int] = Seldom()
    read = values()
    seen = [kept.get((7, started), lambda: next(read)) for started in (1, 2, 1)]
    assert seen == [100, 101, 100]


def test_what_cannot_be_read_is_tried_at_each_look() -> None:
    """A file that comes later is read when it is there."""
    kept: Seldom[int] = Seldom()
    read = iter((None, None, 5, 6))
    assert [kept.get("a", lambda: next(read)) for _ in range(4)] == [None, None, 5, 5]


def test_other_hardware_is_read_anew() -> None:
    """Nothing of before is shown as its own."""
    kept: Seldom[int] = Seldom()
    read = values()
    assert kept.get("a", lambda: next(read)) == 100
    kept.clear()
    assert kept.get("a", lambda: next(read)) == 101


def test_it_does_not_grow() -> None:
    """Processes come and go for ever."""
    kept: Seldom[int] = Seldom()
    read = values()
    for key in range(MOST + 1):
        kept.get(key, lambda: next(read))
    assert kept.get(0, lambda: next(read)) == 100 + MOST + 1
