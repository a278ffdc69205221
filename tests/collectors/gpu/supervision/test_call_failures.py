"""Which calls are switched off by their crashes."""

from exporter.collectors.gpu.supervision.call_failures import (
    RETRY_SECS,
    DisabledCalls,
    call_and_place,
)


def test_a_breadcrumb_names_call_and_gpu() -> None:
    """Without a place it is a call of the library as a whole."""
    assert call_and_place("nvmlInit") == ("nvmlInit", None)
    assert call_and_place("nvmlDeviceGetFieldValues(ecc)@12") == (
        "nvmlDeviceGetFieldValues(ecc)",
        12,
    )
    assert call_and_place("nvmlDeviceGetName@x") == ("nvmlDeviceGetName", None)


def test_the_third_crash_on_a_gpu_switches_the_call_off_there() -> None:
    """On two GPUs it is off everywhere."""
    calls = DisabledCalls(lambda: 0.0)
    assert [calls.note_crash("power@3") for _ in range(3)] == [None, None, "power@3"]
    assert calls.crumbs == ("power@3",)
    assert [calls.note_crash("power@5") for _ in range(3)] == [None, None, "power"]
    assert set(calls.crumbs) == {"power@3", "power@5", "power"}


def test_a_call_is_tried_again_after_a_while() -> None:
    """Then one more crash is enough."""
    now = 0.0
    calls = DisabledCalls(lambda: now)
    for _ in range(3):
        calls.note_crash("power@3")
    now = RETRY_SECS - 1
    assert calls.crumbs
    now = RETRY_SECS + 1
    assert calls.crumbs == ()
    assert calls.note_crash("power@3") == "power@3"
    calls.clear()
    assert calls.crumbs == ()
    assert calls.note_crash("power@3") is None  # it is counted anew


def test_a_call_that_everything_needs_is_never_switched_off() -> None:
    """Neither on a GPU nor on all; that it crashes again and again is known."""
    calls = DisabledCalls(lambda: 0.0, vital={"count"})
    for crumb in ("count", "count@1", "count@2"):
        assert not calls.is_repeated(crumb)
        assert [calls.note_crash(crumb) for _ in range(9)] == [None] * 9
        assert calls.is_repeated(crumb)
    assert calls.crumbs == ()
