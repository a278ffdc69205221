"""Numbers: what the kernel writes is taken, everything else is not said."""

import pytest

from exporter.reading.sysfs import (
    parse_counter,
    parse_decimal,
    parse_integer,
)

NOT_NUMBERS = ["", " ", "x", "1x", "--1", "+1", "1e5", "0x10", "²", "١", "nan", "inf", "1_000"]


@pytest.mark.parametrize("word", [*NOT_NUMBERS, "-1", "1.5", str(2**64), "9" * 30])
def test_a_counter_is_digits_up_to_64_bits(word: str) -> None:
    """Negative, too large and anything not decimal is not said; it never becomes zero."""
    assert parse_counter(word) is None


def test_the_largest_counter_is_one() -> None:
    """A counter may be all ones, and may have a line end behind it."""
    assert parse_counter("18446744073709551615\n") == 2**64 - 1


@pytest.mark.parametrize("word", NOT_NUMBERS)
def test_a_signed_number_has_at_most_one_sign(word: str) -> None:
    """Temperatures below zero are numbers, words are not."""
    assert parse_integer(word) is None
    assert parse_integer("-5000") == -5000


@pytest.mark.parametrize("word", [*(w for w in NOT_NUMBERS if w != "1e5"), "-1", "9" * 30, "1.2.3"])
def test_a_decimal_is_finite_and_not_negative(word: str) -> None:
    """Neither nan nor infinity gets through."""
    assert parse_decimal(word) is None
    assert parse_decimal("12.50\n") == 12.5
