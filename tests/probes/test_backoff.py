"""The pause before a program is started again."""

from exporter.probes.backoff import Backoff


def test_the_pause_before_a_start_doubles_up_to_a_minute() -> None:
    """Nothing crashes more often than once a minute for long; a good answer forgets it all."""
    backoff = Backoff(first_secs=0.0)
    assert [backoff.next_secs() for _ in range(9)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    backoff.reset()
    assert backoff.next_secs() == 0
    assert [Backoff().next_secs() for _ in range(2)] == [1, 1]
    short = Backoff(longest_secs=3)
    assert [short.next_secs() for _ in range(4)] == [1, 2, 3, 3]
