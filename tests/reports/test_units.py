"""Numbers and times as people read them."""

import pytest

from exporter.reports.units import moment

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("wall", "text"),
    [
        (NOW, "08:00:00Z"),
        (NOW - 86_399, "08:00:01Z"),
        (NOW - 86_400, "2027-01-14 08:00:00Z"),
        (NOW + 4, "08:00:04Z"),
        (NOW + 60, "2027-01-15 08:01:00Z"),
    ],
)
def test_a_time_has_its_date_where_the_day_may_be_mistaken(wall: float, text: str) -> None:
    """Within the last day, and where clocks differ by a moment, the time alone says when."""
    assert moment(wall, NOW) == text
