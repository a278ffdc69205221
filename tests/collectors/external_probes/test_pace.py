"""How much of a probe's output is read in a second."""

from exporter.collectors.external_probes.pace import MAX_LINES, MAX_READ_BYTES, MAX_READ_LINES, Pace


class Clock:
    """Boot time, as a test sets it."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_so_many_lines_of_a_second_are_looked_at() -> None:
    """Further ones are not, until a second has passed; also when the clock was set back."""
    clock = Clock()
    pace = Pace(clock)
    assert [pace.takes_line() for _ in range(MAX_LINES + 1)].count(False) == 1
    clock.now += 0.99
    assert not pace.takes_line()
    clock.now += 0.01
    assert pace.takes_line()
    clock.now -= 500
    assert all(pace.takes_line() for _ in range(MAX_LINES))


def test_reading_pauses_for_the_rest_of_the_second() -> None:
    """By lines or by bytes, whatever comes first."""
    clock = Clock()
    pace = Pace(clock)
    assert pace.pause_secs(MAX_READ_BYTES) == 0.0
    clock.now += 0.25
    assert pace.pause_secs(1) == 0.75
    clock.now += 0.75
    assert pace.pause_secs(1) == 0.0
    for _ in range(MAX_READ_LINES + 1):
        pace.takes_line()
    assert pace.pause_secs(1) == 1.0
