"""What fields were: counters that fall, gaps, and how much is kept."""

import math

import pytest

from exporter.faults.timeseries import BUCKETS, MAX_SERIES, History, Series

KEY = ("gpu", "u0")


def series(*samples: tuple[float, float], window: float = 600.0) -> Series:
    """A series of these samples of time and value."""
    made = Series(window)
    for now, value in samples:
        made.take(now, value)
    return made


def test_one_sample_says_nothing_about_a_rise() -> None:
    """A counter seen once has neither a rate nor an increase, but a maximum."""
    one = series((0.0, 500.0))
    assert one.over("increase", 60.0, 0.0) is None
    assert one.over("rate", 60.0, 0.0) is None
    assert one.over("max_over", 60.0, 0.0) == 500.0


def test_a_counter_that_falls_was_reset_and_did_not_rise() -> None:
    """A reset adds nothing, what is counted after it does."""
    reset = series((0.0, 100.0), (15.0, 105.0), (30.0, 0.0), (45.0, 3.0))
    assert reset.over("increase", 60.0, 45.0) == 8.0


def test_a_value_that_was_not_said_now_makes_the_window_unknown() -> None:
    """Old samples alone do not speak for the present."""
    stale = series((0.0, 1.0), (15.0, 2.0))
    assert stale.over("increase", 60.0, 30.0) is None


def test_a_rise_during_a_gap_is_seen_after_it() -> None:
    """Samples that are missing lose nothing that was counted meanwhile."""
    gap = series((0.0, 1.0), (15.0, 2.0), (300.0, 50.0))
    assert gap.over("increase", 600.0, 300.0) == 49.0


@pytest.mark.parametrize("function", ["increase", "rate", "changes", "max_over"])
@pytest.mark.parametrize("secs", [20.0, 60.0, 600.0])
def test_moments_that_are_noted_are_samples(function: str, secs: float) -> None:
    """Whoever asks finds the series as if the value had been added at each of them."""
    counted = [0.0, 0.0, 0.0, 4.0, *[5.0] * 40, 9.0, 9.0, 2.0, 2.0]
    looks: list[float] = []
    noting, adding = Series(600.0), Series(600.0)
    for number, value in enumerate(counted):
        now = 15.0 * number
        adding.take(now, value)
        if number and value == counted[number - 1]:
            looks.append(now)
        else:
            looks = []
            noting.take(now, value, looks)
        if number % 3 == 0:
            assert noting.over(function, secs, now) == adding.over(function, secs, now)
            assert noting.same_until(function, secs, now) == adding.same_until(function, secs, now)


def test_a_long_window_keeps_its_sums_with_few_steps() -> None:
    """A day of samples is kept in some thirty steps, and the increase stays right."""
    day = series(*((15.0 * n, float(n)) for n in range(5760)), window=86_400.0)
    assert BUCKETS <= len(day._steps()) <= BUCKETS + 2
    assert day.over("increase", 86_400.0, 15.0 * 5759) == pytest.approx(5759, abs=200)
    assert day.over("max_over", 86_400.0, 15.0 * 5759) == 5759.0


def test_a_value_that_becomes_text_and_back_changes_and_does_not_rise() -> None:
    """Words and numbers are compared as they are; only from number to number something rises."""
    made = Series(600.0)
    for now, value in ((0.0, "good"), (15.0, 5.0), (30.0, 7.0), (45.0, "good"), (60.0, "good")):
        made.take(now, value)
    assert made.over("changes", 600.0, 60.0) == 3.0
    assert made.over("increase", 600.0, 60.0) == 2.0


def test_no_more_series_are_kept_than_there_is_room_for() -> None:
    """Where there is no room a field has no series, and those that have one go on."""
    history = History()
    for at in (0.0, 15.0):
        for number in range(MAX_SERIES + 1):
            history.take(KEY, str(number), 60.0, at, at)
    found = [history.series(KEY, str(number), 60.0) for number in (0, MAX_SERIES - 1, MAX_SERIES)]
    assert [each and each.over("increase", 60.0, 15.0) for each in found] == [15.0, 15.0, None]


def test_what_is_unknown_is_no_sample() -> None:
    """A field that was never said has no series; one that is not said any more gets no sample."""
    history = History()
    history.take(KEY, "errors", 60.0, 0.0, None)
    assert history.series(KEY, "errors", 60.0) is None
    for now, value in ((15.0, 1.0), (30.0, 2.0), (45.0, None)):
        history.take(KEY, "errors", 60.0, now, value)
    errors = history.series(KEY, "errors", 60.0)
    assert errors is not None
    assert not errors.is_of(45.0)


def test_samples_of_one_step_are_one() -> None:
    """A thirtieth of the window: a look back that is shorter sees the whole step."""
    assert series((0.0, 9.0), (9.9, 1.0), window=300.0).over("max_over", 5.0, 9.9) == 9.0
    assert series((0.0, 9.0), (10.0, 1.0), window=300.0).over("max_over", 5.0, 10.0) == 1.0
    apart = series((0.0, 9.0), (60.0, 1.0))
    assert apart.over("max_over", 60.0, 60.0) == 9.0
    assert apart.over("max_over", 59.0, 60.0) == 1.0


def test_the_highest_of_a_step_is_kept_and_its_last_counts() -> None:
    """A peak between two looks of one step is seen; what rose within it is counted."""
    made = series((0.0, 1.0), (3.0, 7.0), (6.0, 2.0), (20.0, 3.0), window=300.0)
    assert made.over("max_over", 300.0, 20.0) == 7.0
    assert made.over("changes", 300.0, 20.0) == 3.0
    assert made.over("increase", 300.0, 20.0) == 7.0
    assert made.over("increase", 14.0, 20.0) == 1.0
    assert made.over("changes", 14.0, 20.0) == 1.0
    assert made.over("rate", 300.0, 20.0) == pytest.approx(7 / 20)


def test_steps_before_the_window_are_dropped() -> None:
    """Thirty-two are kept: those of the window, one before it and the one that is filled."""
    samples = [(0.0, 99.0), *((10.0 * n, 1.0) for n in range(1, 32))]
    assert series(*samples, window=300.0).over("max_over", 1e6, 310.0) == 99.0
    assert series(*samples, (320.0, 1.0), window=300.0).over("max_over", 1e6, 320.0) == 1.0


def test_a_series_without_samples_says_nothing() -> None:
    """Neither is it of any moment."""
    assert not Series(60.0).is_of(0.0)
    assert Series(60.0).over("max_over", 60.0, 0.0) is None


def test_what_stays_is_remembered_with_its_samples() -> None:
    """Also when others go."""
    other = ("gpu", "u1")
    history = History()
    for key in (KEY, other):
        history.take(key, "errors", 60.0, 0.0, 5.0)
    history.keep_only({KEY})
    assert history.series(other, "errors", 60.0) is None
    kept = history.series(KEY, "errors", 60.0)
    assert kept is not None
    history.take(other, "errors", 60.0, 15.0, 5.0)
    history.keep_only({KEY})
    assert history.series(KEY, "errors", 60.0) is kept


@pytest.mark.parametrize(
    ("samples", "now", "until"),
    [
        (((0.0, 1.0), (15.0, 1.0)), 15.0, math.inf),
        (((0.0, 1.0),), 0.0, -math.inf),  # the second sample makes an increase of it
        (((0.0, 1.0), (15.0, 2.0)), 15.0, 60.0),  # then the window begins after the first sample
        (((0.0, 1.0), (15.0, 2.0)), 30.0, math.inf),  # unknown, until there is a value again
        (tuple((15.0 * n, float(n > 0)) for n in range(90)), 15.0 * 89, math.inf),
    ],
)
@pytest.mark.parametrize("function", ["max_over", "increase", "changes"])
def test_a_window_stays_as_it_is_until_a_step_of_it_has_passed(
    samples: tuple[tuple[float, float], ...], now: float, until: float, function: str
) -> None:
    """Time alone changes only a window in which the value has changed."""
    assert series(*samples).same_until(function, 60.0, now) == pytest.approx(until)


def test_a_rate_falls_with_time() -> None:
    """For as long as a rise is in the window."""
    assert series((0.0, 1.0), (15.0, 1.0)).same_until("rate", 60.0, 15.0) == math.inf
    assert series((0.0, 1.0), (15.0, 2.0)).same_until("rate", 60.0, 15.0) == -math.inf


@pytest.mark.parametrize("function", ["max_over", "increase", "changes"])
@pytest.mark.parametrize("secs", [40.0, 300.0])
def test_a_window_is_the_same_for_as_long_as_it_says(function: str, secs: float) -> None:
    """At each second of a value that has changed and then stays."""
    made = series((0.0, 5.0), (7.0, 9.0), (12.0, 4.0), (31.0, 4.0), (55.0, 6.0), window=secs)
    seen, until = made.over(function, secs, 55.0), made.same_until(function, secs, 55.0)
    for now in map(float, range(56, 500)):
        made.take(now, 6.0)
        if now > until:
            seen, until = made.over(function, secs, now), made.same_until(function, secs, now)
        assert made.over(function, secs, now) == seen
    assert until == math.inf
