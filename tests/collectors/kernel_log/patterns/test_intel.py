"""Lines of Intel's drivers about cards."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event

GPU = ("gpu", "0000:8c:00.0")
XE = "xe 0000:8c:00.0: [drm] "

CASES: tuple[Case, ...] = (
    (
        "gpu_ring_timeout",
        GPU,
        {"ring": "ccs", "name": "llama-server", "pid": "4712"},
        (
            XE + "Tile0: GT0: Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=9",
            XE + "Tile0: GT0: Timedout job: seqno=2693, lrc_seqno=2693, guc_id=9, flags=0x20 in "
            "llama-server [4712]",
            XE + "Xe device coredump has been created",
        ),
    ),
    (
        "gpu_ring_timeout",
        GPU,
        {"ring": "12:1", "name": "trainer"},
        "i915 0000:8c:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in trainer [3210]",
    ),
    (
        "gpu_reset_failed",
        GPU,
        {"result": "-ETIMEDOUT", "state": "wedged"},
        (
            XE + "*ERROR* Tile0: GT0: reset failed (-ETIMEDOUT)",
            XE + "*ERROR* CRITICAL: Xe has declared device 0000:8c:00.0 as wedged.\n"
            "IOCTLs and executions are blocked. Only a rebind may clear the failure",
        ),
    ),
    ("gpu_probe_failed", GPU, {"error": "-5"}, "xe: probe of 0000:8c:00.0 failed with error -5"),
    (
        "gpu_probe_failed",
        GPU,
        {"error": "-110"},
        "xe 0000:8c:00.0: probe with driver xe failed with error -110",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_a_line_about_a_card_is_one_event(case: Case) -> None:
    """Work that did not end, a reset that failed and a start that failed name the card."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dffffb, in gnome-shell [3210]",
        "xe 0000:00:02.0: [drm] GT0: Engine reset: engine_class=bcs, logical_mask: 0x2, guc_id=0",
        XE + "Tile0: GT0: reset queued",
        XE + "Tile0: GT0: reset done",
        XE + "Xe device coredump has been created",
        "i915 0000:8c:00.0: [drm] GPU error state saved to /sys/class/drm/card1/error",
    ],
)
def test_other_words_of_these_drivers_are_no_event(line: str) -> None:
    """The graphics of a processor, and what was done about a hang, say nothing."""
    assert events_of(line) == ()
