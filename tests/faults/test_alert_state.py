"""The steps of one alert: what counts towards `for`, and how long doubt is borne."""

import pytest

from exporter.faults.alert_state import Alert, AlertState, Change

Look = tuple[float, "bool | None", "bool | None"]


def steps(*looks: Look, seen: float = 0.0, for_secs: float = 0.0) -> list[AlertState]:
    """The states of a new alert after each look: its time, whether it holds, whether it is over."""
    alert = Alert(seen, seen)
    found = []
    for now, when, clear in looks:
        alert.step(when, clear, now, for_secs, 30.0)
        found.append(alert.state)
    return found


INACTIVE, PENDING, ACTIVE = AlertState.INACTIVE, AlertState.PENDING, AlertState.ACTIVE
CLEARING, UNKNOWN = AlertState.CLEARING, AlertState.UNKNOWN


@pytest.mark.parametrize(
    ("looks", "states"),
    [
        (((60.0, True, False),), [ACTIVE]),
        (((59.0, True, False), (60.0, True, False)), [PENDING, ACTIVE]),
        (((30.0, True, False), (40.0, False, True)), [PENDING, INACTIVE]),
        (((300.0, None, None), (301.0, None, None)), [PENDING, INACTIVE]),
        (((301.0, None, None),), [INACTIVE]),
        (((200.0, None, None), (301.0, None, None)), [PENDING, INACTIVE]),
        (
            ((30.0, True, False), (40.0, None, None), (100.0, True, False), (130.0, True, False)),
            [PENDING, PENDING, PENDING, ACTIVE],
        ),
        (
            ((30.0, True, False), (45.0, None, None), (60.0, True, False)),  # a short pause counts
            [PENDING, PENDING, ACTIVE],
        ),
    ],
)
def test_what_waits_becomes_active_or_is_forgotten(
    looks: tuple[Look, ...], states: list[AlertState]
) -> None:
    """After a minute of looks that held; unknown for five minutes it is not waited for any more."""
    assert steps(*looks, for_secs=60.0) == states


@pytest.mark.parametrize(
    ("looks", "states"),
    [
        (((0.0, True, False), (5.0, False, False)), [ACTIVE, ACTIVE]),
        (((0.0, True, False), (5.0, True, True)), [ACTIVE, ACTIVE]),
        (((0.0, True, False), (5.0, True, None)), [ACTIVE, ACTIVE]),
        (((0.0, True, False), (5.0, False, True)), [ACTIVE, CLEARING]),
        (((0.0, True, False), (5.0, None, True)), [ACTIVE, CLEARING]),
        (((0.0, True, False), (5.0, False, None)), [ACTIVE, UNKNOWN]),
    ],
)
def test_what_is_active_stays_so_until_its_end_is_known(
    looks: tuple[Look, ...], states: list[AlertState]
) -> None:
    """An end that does not hold, or a condition that does, keep it; nothing known is doubt."""
    assert steps(*looks) == states


@pytest.mark.parametrize(
    ("unknown_until", "again_bad", "ends"),
    [(50.0, False, 60.0), (80.0, False, 80.0), (81.0, False, 121.0), (50.0, True, 90.0)],
)
def test_an_end_in_sight_is_kept_over_a_pause(
    unknown_until: float,
    again_bad: bool,  # noqa: FBT001 - one case
    ends: float,
) -> None:
    """A source that fails now and then keeps no fault for ever; what is bad again does."""
    alert = Alert(0.0, 0.0)
    alert.step(True, False, 10.0, 0.0, 40.0)  # noqa: FBT003 - one of three values
    alert.step(False, True, 20.0, 0.0, 40.0)  # noqa: FBT003 - as above
    alert.step(None, None, 30.0, 0.0, 40.0)
    if again_bad:
        alert.step(True, False, 40.0, 0.0, 40.0)  # noqa: FBT003 - as above
    looks = [unknown_until + 10.0 * number for number in range(6)]
    changes = {now: alert.step(False, True, now, 0.0, 40.0) for now in looks}  # noqa: FBT003
    assert next(now for now, change in changes.items() if change is Change.CLEARED) == ends


def test_a_clock_that_goes_back_adds_no_time() -> None:
    """Time counts from then on."""
    looks: tuple[Look, ...] = ((50.0, True, False), (110.0, True, False), (111.0, True, False))
    assert steps(*looks, seen=100.0, for_secs=61.0) == [PENDING, PENDING, ACTIVE]


def test_an_end_is_seen_when_it_begins() -> None:
    """While none is in sight, at the last look."""
    alert = Alert(0.0, 0.0)
    alert.step(True, False, 10.0, 0.0, 30.0)  # noqa: FBT003 - one of three values
    assert (alert.is_active, alert.end_seen) == (True, 10.0)
    assert alert.step(False, True, 20.0, 0.0, 30.0) is Change.NONE  # noqa: FBT003 - as above
    assert alert.end_seen == 20.0
    assert alert.step(False, True, 49.0, 0.0, 30.0) is Change.NONE  # noqa: FBT003 - as above
    assert (alert.end_seen, alert.seen) == (20.0, 49.0)
    assert alert.step(False, True, 50.0, 0.0, 30.0) is Change.CLEARED  # noqa: FBT003 - as above
