"""What the source of traced calls says of ranks."""

import pytest

from exporter.collectors.ebpf.calls import numbers_of
from exporter.collectors.ebpf.traced_calls import TracedCallsSource
from tests.collectors.ebpf.batches import batch
from tests.fakes.source_context import source_context

REDUCE = numbers_of(("nccl",))["ncclAllReduce"]
SECOND = 1_000_000_000


def test_waiting_is_timed_by_the_clock_that_goes_on_in_suspend() -> None:
    """The kernel times calls since boot; a clock that stands still would be behind for ever."""
    now = 9000.0
    source = TracedCallsSource(source_context(boottime=lambda: now))
    since = 8976 * SECOND
    source._take(batch(**{"in": {f"100,100,{REDUCE}": [since, 1600]}}))
    (found,) = source._judged
    assert found.waiting_secs == pytest.approx(24.0)
    source._miss()
    assert not source._judged  # nobody counts now: what was found is old
