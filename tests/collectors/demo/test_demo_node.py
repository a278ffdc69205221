"""The simulated node: the same for the same seed, and its incidents begin and end."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from exporter.collectors.demo.node import DemoNode, event
from exporter.collectors.demo.script import (
    BURST_SECS,
    CYCLE_SECS,
    ECC_BURST,
    FELL_OFF,
    INCIDENTS,
    LINK_ERRORS,
    OVERHEATING,
    SLOW_DISK,
    DemoIncident,
    at,
)
from exporter.collectors.gpu.nvml import parse_answer
from exporter.collectors.gpu.validation import drop_implausible
from exporter.collectors.gpu.values import Gpu
from exporter.decode import decode
from exporter.probes.protocol import decode_line, encode_line

BY_NAME = {incident.name: incident for incident in INCIDENTS}


def _after(secs: float, seed: int = 1) -> DemoNode:
    node = DemoNode(8, seed, speed=1.0)
    node.advance_to(secs)
    return node


def _gpu(node: DemoNode, index: int) -> Gpu:
    return next(gpu for gpu in parse_answer(_spoken(node)).gpus if gpu.index == index)


def _spoken(node: DemoNode) -> dict[str, Any]:
    """The answer as it comes over the line."""
    return decode_line(encode_line({"id": 1, **node.answer()}))


def test_the_same_seed_shows_the_same_node() -> None:
    """However often it is asked on the way, the same second of the same seed is the same."""
    at_once, step_by_step = _after(700), DemoNode(8, 1, speed=1.0)
    xids = [event(xid) for moment in range(0, 701, 7) for xid in step_by_step.advance_to(moment)]
    assert json.dumps(at_once.answer()) == json.dumps(step_by_step.answer())
    assert [xid["xid"] for xid in xids] == [48, 63]
    assert json.dumps(_after(700, seed=2).answer()) != json.dumps(at_once.answer())


@pytest.mark.parametrize("gpus", [1, 2, 8, 16])
def test_every_value_is_one_a_gpu_can_have(gpus: int) -> None:
    """Nothing that it says is refused, at any time of the script."""
    node = DemoNode(gpus, 3, speed=60.0)
    for moment in range(0, CYCLE_SECS + 200, 97):
        node.advance_to(moment)
        for entry in _spoken(node)["gpus"]:
            gpu, misfits = decode(Gpu, entry)
            assert misfits == ()
            assert drop_implausible(gpu)[1] == ()


def _is_hot(node: DemoNode) -> bool:
    gpu = _gpu(node, 2)
    margin, limits = gpu.thermal_margin_celsius, dict(gpu.throttle_active or ())
    return margin is not None and margin <= 2 and limits["sw_thermal_slowdown"] == 1


def _waits_for_reset(node: DemoNode) -> bool:
    gpu = _gpu(node, 1)
    return gpu.row_remap_pending is True and gpu.recovery_action == "reset"


def _is_lost(node: DemoNode) -> bool:
    return [problem.index for problem in parse_answer(_spoken(node)).problems] == [5]


def _has_bad_link(node: DemoNode) -> bool:
    before = dict(_gpu(node, 3).nvlink_errors_total or ())
    later = _after(node.now.secs + 10)
    return dict(_gpu(later, 3).nvlink_errors_total or ())["crc_flit"] > before["crc_flit"]


def _is_stalled(node: DemoNode) -> bool:
    return all(one.is_waiting and one.percent == 0 for one in node.cards[0].running)


@pytest.mark.parametrize(
    ("name", "shows_after_secs", "shows"),
    [
        (OVERHEATING, 200, _is_hot),
        (ECC_BURST, BURST_SECS + 1, _waits_for_reset),
        (FELL_OFF, 0, _is_lost),
        (LINK_ERRORS, 5, _has_bad_link),
        (SLOW_DISK, 1, _is_stalled),
    ],
)
def test_every_incident_begins_shows_and_ends(
    name: str, shows_after_secs: int, shows: Callable[[DemoNode], bool]
) -> None:
    """Before it there is nothing of it, then it can be seen, and it clears by itself."""
    incident: DemoIncident = BY_NAME[name]
    assert not shows(_after(incident.starts - 20))
    assert shows(_after(incident.starts + shows_after_secs))
    assert not shows(_after(incident.ends + 60))


def test_incidents_do_not_overlap_and_come_again() -> None:
    """One thing at a time goes wrong, so that each can be recognised, and it all begins again."""
    for secs in range(CYCLE_SECS):
        assert len(at(secs).lasting) <= 1
        assert at(secs).lasting == replace(at(secs + CYCLE_SECS), secs=secs).lasting


def test_memory_errors_are_corrected_then_not_then_repaired() -> None:
    """A few corrected errors, one that cannot be, a row that waits for its reset."""
    starts = BY_NAME[ECC_BURST].starts
    before, during = _gpu(_after(starts - 1), 1), _gpu(_after(starts + BURST_SECS // 2), 1)
    broken, repaired = _gpu(_after(starts + BURST_SECS), 1), _gpu(_after(starts + 340), 1)
    assert _ecc(before) == {"corrected": 0, "uncorrected": 0}
    assert _ecc(during)["corrected"] == 3
    assert _ecc(broken)["uncorrected"] == 1
    assert dict(broken.remapped_rows_total or ())["uncorrected"] == 1
    assert repaired.row_remap_pending is False
    assert _ecc(repaired) == {"corrected": 0, "uncorrected": 0}


def _ecc(gpu: Gpu) -> dict[str, float]:
    rows = gpu.ecc_errors_total or ()
    return {kind: count for kind, counter, count in rows if counter == "volatile"}


def test_energy_is_power_over_real_time() -> None:
    """A script that runs faster wears no more energy: counters count the seconds of the clock."""
    slow, fast = DemoNode(1, 1, speed=1.0), DemoNode(1, 1, speed=10.0)
    slow.advance_to(499)
    fast.advance_to(499)
    slow_joules, fast_joules = (_gpu(node, 0).energy_joules_total or 0 for node in (slow, fast))
    assert slow_joules == pytest.approx(10 * fast_joules, rel=1e-6)
    assert 500 * 70 < slow_joules < 500 * 700
