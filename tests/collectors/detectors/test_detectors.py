"""The detectors with their rules: what becomes a fault, what explains it, what it never does."""

import logging
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from exporter.blocking import CallBlocking
from exporter.collectors.detectors.detectors import Detectors
from exporter.collectors.detectors.learned import VERSION, SavedDetectors, decode, to_text
from exporter.collectors.detectors.past import REFIT_SECS, AnomalyDetector
from exporter.collectors.detectors.siblings import SiblingDetector
from exporter.collectors.detectors.values import GpuAnomaly, SiblingDeviation, Unusual, unusual_of
from exporter.collectors.everything import KINDS, rule_book
from exporter.config import DetectorsConfig as Settings
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Fault, FaultState, Subject
from exporter.rule_runner import RuleRunner
from exporter.state import MISFITS, parse
from tests.collectors.detectors.readings import IDLE, NodeOfGpus, node, uuid
from tests.fakes.source_context import call_now
from tests.test_rule_runner import config, judging

T = TypeVar("T")
MINUTE = 4
GPU = Subject("gpu", "gpu", uuid(0), "GPU 0")
BOTH = Settings(siblings=True, anomaly=True)
THROTTLED = (("hw_thermal_slowdown", 1), ("hw_slowdown", 1), ("hw_power_brake_slowdown", 0))


def detecting() -> RuleEngine:
    """The rules with both detectors."""
    detectors = Detectors(SiblingDetector(), AnomalyDetector())
    return RuleEngine(rule_book(), KINDS, lambda: 0.0, "", detect=detectors.see)


def after(engine: RuleEngine, gpus: NodeOfGpus, looks: int) -> Conclusions:
    """What is concluded after so many readings."""
    for _ in range(looks - 1):
        engine.conclude(gpus.snapshot())
    return engine.conclude(gpus.snapshot())


def of(conclusions: Conclusions, rule: str) -> list[Fault]:
    """The active faults of one rule."""
    return [fault for fault in conclusions.active if fault.rule == rule]


def unusual(concluded: Conclusions) -> Unusual:
    """What the detectors found."""
    found = unusual_of(concluded)
    assert found is not None
    return found


def test_a_slow_sibling_is_a_fault_that_never_makes_the_node_unhealthy() -> None:
    """After some minutes one GPU has a fault; node and GPU stay fit for work."""
    engine, gpus = detecting(), node()
    after(engine, gpus, 10 * MINUTE)
    gpus.set(3, temperature_celsius=82.0)
    gpus.set(0, nvlink_profile_bytes_per_second=None)
    concluded = after(engine, gpus, 25 * MINUTE)
    (fault,) = of(concluded, "gpu_unlike_siblings")
    assert (fault.subject.hw_id, fault.severity, fault.status) == (uuid(3), "info", "ok")
    assert "temperature" in fault.summary
    assert concluded.is_healthy
    assert {status for _, status in concluded.statuses} == {"ok"}


def test_it_is_a_warning_where_all_wait_for_the_slowest() -> None:
    """The node is healthy all the same; the fault ends a while after the GPU is like the others."""
    engine, gpus = detecting(), node()
    gpus.set(3, clock_hertz=(("sm", 1.6e9),))
    concluded = after(engine, gpus, 25 * MINUTE)
    (fault,) = of(concluded, "gpu_unlike_siblings")
    assert (fault.severity, fault.status) == ("warning", "degraded")
    assert concluded.is_healthy
    gpus.set(3, clock_hertz=(("sm", 1.98e9),))
    assert not of(after(engine, gpus, 25 * MINUTE), "gpu_unlike_siblings")


def test_any_score_leaves_the_node_healthy() -> None:
    """The worst that both detectors can say of every GPU is no critical fault."""
    worst = Unusual(
        tuple(
            SiblingDeviation(uuid(place), (("sm_clock", -10.0),), is_synchronous=True)
            for place in range(8)
        ),
        tuple(GpuAnomaly(uuid(place), 50.0, is_change=True) for place in range(8)),
    )
    engine = RuleEngine(rule_book(), KINDS, lambda: 0.0, "", detect=lambda _, __: worst)
    concluded = after(engine, node(), 70 * MINUTE)
    for rule in ("gpu_unlike_siblings", "gpu_unlike_itself"):
        assert len([one for one in of(concluded, rule) if one.subject.kind == "gpu"]) == 8
    assert concluded.is_healthy
    assert not [fault for fault in concluded.active if fault.severity == "critical"]


def test_what_explains_it_is_its_cause() -> None:
    """A GPU is unlike its siblings as it is throttled, its link narrow, its memory corrected."""
    engine, gpus = detecting(), node()
    for place in range(8):
        gpus.set(place, pcie_link_width=16, pcie_link_width_max=16, pcie_link_generation=5)
        gpus.set(place, pcie_link_generation_max=5)
    gpus.set(3, clock_hertz=(("sm", 1.6e9),), throttle_active=THROTTLED)
    gpus.set(4, pcie_link_width=4, pcie_profile_bytes_per_second=(("receive", 0.1e9),))
    gpus.set(5, activity_ratio=(("sm", 0.2),))
    for errors in range(0, 50 * MINUTE, 2):
        gpus.set(5, ecc_errors_total=(("corrected", "volatile", errors),))
        concluded = engine.conclude(gpus.snapshot())
    causes = {it.subject.hw_id: it.causes[-1].rule for it in of(concluded, "gpu_unlike_siblings")}
    assert causes == {
        uuid(3): "gpu_thermal_throttle",
        uuid(4): "gpu_pcie_link_degraded",
        uuid(5): "gpu_ecc_corrected_rate",
    }


def test_gpus_with_a_fault_are_not_learned_from() -> None:
    """What a throttled GPU reports goes into no window and no usual place."""
    siblings, anomaly = SiblingDetector(), AnomalyDetector()
    engine = RuleEngine(
        rule_book(), KINDS, lambda: 0.0, "", detect=Detectors(siblings, anomaly).see
    )
    gpus = node()
    gpus.set(3, temperature_celsius=63.0, throttle_active=THROTTLED)
    after(engine, gpus, 5 * MINUTE)
    hot = sum(point[2] == 0.63 for point in anomaly.learned["H100"].window)
    secs = siblings.usual[uuid(3), "temperature"].secs
    after(engine, gpus, 30 * MINUTE)
    assert hot <= 5  # collections of the minute after which the rule holds
    assert sum(point[2] == 0.63 for point in anomaly.learned["H100"].window) == hot
    assert siblings.usual[uuid(3), "temperature"].secs == secs
    assert siblings.usual[uuid(4), "temperature"].secs > secs


def faults_of(rule: str, subject: Subject, severity: str, since: float) -> Conclusions:
    """Conclusions with one active fault."""
    active = FaultState.ACTIVE
    return Conclusions(
        (Fault(rule, subject, severity, active, since, None, 0.9, "", "watch", "", "degraded"),)
    )


@pytest.mark.parametrize(
    ("rule", "subject", "severity", "age", "learned"),
    [
        ("gpu_overheat", GPU, "warning", 60.0, {1}),
        ("gpu_app_fault", GPU, "info", 60.0, {0, 1}),
        ("gpu_unlike_itself", GPU, "info", 60.0, {1}),
        ("gpu_unlike_siblings", GPU, "warning", 90_000.0, {0, 1}),
        ("fan_stopped", Subject("fan", "fan", "f", "FAN1"), "warning", 60.0, set()),
        (
            "filesystem_full",
            Subject("filesystem", "logical_disk", "/", "/"),
            "warning",
            60.0,
            {0, 1},
        ),
    ],
)
def test_whose_readings_are_learned(
    rule: str, subject: Subject, severity: str, age: float, learned: set[int]
) -> None:
    """None of a broken GPU or chassis; what is merely unusual is usual after a day."""
    anomaly, gpus = AnomalyDetector(), node(2, "")
    gpus.set(0, temperature_celsius=40.0)
    gpus.set(1, temperature_celsius=41.0)
    seen = gpus.snapshot()
    before = faults_of(rule, subject, severity, seen.taken_at - age)
    Detectors(None, anomaly).see(seen, before)
    heats = {0: 0.4, 1: 0.41}
    assert {p[2] for p in anomaly.learned["H100"].window} == {heats[place] for place in learned}


def test_detectors_that_break_cost_themselves(caplog: pytest.LogCaptureFixture) -> None:
    """The rules go on without them, and it is logged once."""

    def breaks(_: Snapshot, __: Conclusions | None) -> Unusual:
        raise ZeroDivisionError

    engine = RuleEngine(rule_book(), KINDS, lambda: 0.0, "", detect=breaks)
    with caplog.at_level(logging.ERROR):
        concluded = after(engine, node(), 3)
    assert concluded.is_healthy
    assert unusual_of(concluded) is None
    assert len(caplog.records) == 1


def running(folder: Path, boot: str = "boot-1", call: CallBlocking = call_now) -> RuleRunner:
    """The judge of a program that keeps its state here."""
    made = config(folder, detectors=BOTH)
    (folder / "proc/sys/kernel/random/boot_id").write_text(f"{boot}\n")
    return judging(made, call)


async def run(runner: RuleRunner, gpus: NodeOfGpus, looks: int, secs: float) -> Conclusions:
    """Let the runner conclude so many times, with its fits and files written."""
    concluded = Conclusions()
    for _ in range(looks):
        concluded = await runner.conclude(gpus.snapshot(secs))
        await runner.close()
        while runner._fitting is not None and not runner._fitting.done():
            await runner._fitting
    return concluded


async def test_what_was_learned_is_kept_over_a_restart(tmp_path: Path) -> None:
    """With a state directory the next process of this boot scores at once, after a reboot anew."""
    gpus = node(2, "", IDLE)
    concluded = await run(running(tmp_path), gpus, 1000, 60.0)
    assert [model.is_ready for model in unusual(concluded).models] == [True]
    found = unusual(await run(running(tmp_path), gpus, 1, 60.0))
    assert [model.is_ready for model in found.models] == [True]
    assert len(found.anomalies) == 2
    found = unusual(await run(running(tmp_path, "boot-2"), gpus, 1, 60.0))
    assert [model.is_ready for model in found.models] == [False]


async def test_a_fit_that_breaks_costs_no_conclusions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the next collection is judged as ever."""

    def breaking(function: Callable[[], T]) -> Awaitable[T]:
        if getattr(function, "__name__", "") == "advance":
            raise ZeroDivisionError
        return call_now(function)

    runner = running(tmp_path, call=breaking)
    concluded = await run(runner, node(), 2, 15.0)
    assert unusual(concluded).siblings
    assert {record.message for record in caplog.records if record.levelname == "ERROR"} == {
        "training of the detectors failed"
    }


@cache
def kept_text() -> str:
    """What two detectors that have learned leave behind."""
    anomaly, siblings = AnomalyDetector(), SiblingDetector()
    detectors = Detectors(siblings, anomaly)
    gpus = node()
    for _ in range(int(REFIT_SECS / 60) + 10):
        detectors.see(gpus.snapshot(60.0), None)
    while anomaly.fitting.advance(1000):
        pass
    return to_text(SavedDetectors(siblings.usual, anomaly.learned), "boot-1")


def test_the_state_is_taken_over_whole_and_small() -> None:
    """What is written is read back; it is some tens of kilobytes."""
    text = kept_text()
    assert len(text) < 100_000
    kept = parse(text, "boot-1", VERSION, decode)
    assert kept is not None
    assert to_text(kept, "boot-1") == text


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"usual":[["GPU-0"', '"usual":[[0,"GPU-0"'),
        ('"window":[[', '"window":[["x",'),
        ('"mixture":[[', '"mixture":[[-'),
        ('"mixture":[[1.0,[', '"mixture":[[1.0,[3,'),
        ('"models":{', '"models":{"x":1,'),
        ("]]]]", "],[1.0]]]]"),
    ],
)
def test_a_state_of_another_shape_is_refused(found: str, instead: str) -> None:
    """A file that cannot be understood is set aside, and learning begins anew."""
    text = kept_text()
    assert found in text
    with pytest.raises(MISFITS):
        parse(text.replace(found, instead, 1), "boot-1", VERSION, decode)
