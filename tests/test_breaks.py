"""The breaks that no test saw once: each can still be made."""

from bench.breaks import breaks, unfit


def test_each_break_fits_today_s_code() -> None:
    """A break whose text is gone proves nothing any more: it is made again where the code went."""
    found = [*breaks([])]
    assert len(found) >= 57
    assert {each.name: why for each in found if (why := unfit(each))} == {}
