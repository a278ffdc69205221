"""GPUs beside what their model did before: what was never so is scored, news of a job are not."""

from copy import deepcopy
from functools import cache
from random import Random

import pytest

from exporter.collectors.detectors.past import MAX_MODELS, MAX_SCORE, WINDOW, AnomalyDetector
from exporter.collectors.detectors.signals import NewReadings
from exporter.collectors.detectors.values import GpuAnomaly
from tests.collectors.detectors.readings import GIB, IDLE, NodeOfGpus, node, uuid

HOUR = 60
"""Readings in an hour of the node below: one a minute."""


class Watch:
    """A detector that looks at a node once a minute; each GPU moves a little."""

    def __init__(self, gpus: NodeOfGpus, detector: AnomalyDetector | None = None) -> None:
        self.node = gpus
        self.detector = detector or AnomalyDetector()
        self._new = NewReadings()
        self._chance = Random(1)  # noqa: S311 - the same in every run

    def see(self, looks: int, *, jitter: bool = True) -> dict[str, GpuAnomaly]:
        """What is found about each GPU after so many readings, with every fit finished."""
        found: tuple[GpuAnomaly, ...] = ()
        still = [dict(fields) for fields in self.node.fields]
        for _ in range(looks):
            for place, fields in enumerate(still if jitter else ()):
                self.node.set(
                    place,
                    power_draw_watts=fields["power_draw_watts"] + self._chance.gauss(0, 10),
                    temperature_celsius=fields["temperature_celsius"] + self._chance.gauss(0, 1),
                )
            found = self.detector.see(self._new.of(self.node.snapshot(60.0)), frozenset())
            while self.detector.fitting.advance(1000):
                pass
        for place, fields in enumerate(still):
            self.node.set(place, **fields)
        return {row.gpu_uuid: row for row in found}


@cache
def _day() -> Watch:
    watch = Watch(node(4))
    watch.see(24 * HOUR)
    return watch


@pytest.fixture(name="learned")
def fixture_learned() -> Watch:
    """A detector that has seen a day of the same training on four GPUs."""
    return deepcopy(_day())


def test_nothing_is_said_before_enough_was_seen() -> None:
    """Half a day is learned first; until then there is no score, and the model is not ready."""
    watch = Watch(node(4))
    assert watch.see(11 * HOUR) == {}
    assert [model.is_ready for model in watch.detector.models()] == [False]
    found = watch.see(2 * HOUR)
    assert sorted(found) == [uuid(place) for place in range(4)]
    assert [(m.gpu_name, m.is_ready) for m in watch.detector.models()] == [("H100", True)]


def test_what_was_always_so_has_no_score(learned: Watch) -> None:
    """Scores of usual readings are near zero on every GPU."""
    assert max(row.score for row in learned.see(HOUR).values()) < 1


@pytest.mark.parametrize(
    "fields",
    [{"temperature_celsius": 85.0}, {"power_draw_watts": 350.0}],
    ids=["hotter at the same power", "half the power at the same heat"],
)
def test_what_never_was_so_is_scored(learned: Watch, fields: dict[str, float]) -> None:
    """One GPU that changes in the middle of its work is a change, and only that one."""
    learned.node.set(2, **fields)
    found = learned.see(HOUR // 2)
    assert found[uuid(2)].score > 8
    assert found[uuid(2)].is_change
    assert all(found[uuid(place)].score < 1 for place in (0, 1, 3))


def test_a_score_is_bounded(learned: Watch) -> None:
    """However impossible a reading is, its score is fifty."""
    learned.node.set(0, temperature_celsius=250.0)
    assert learned.see(2 * HOUR)[uuid(0)].score == pytest.approx(MAX_SCORE, abs=0.1)


def test_a_new_job_is_no_change(learned: Watch) -> None:
    """Work that was never seen has a score, but the GPU is not said to have changed."""
    learned.node.workloads = [("another",)] * 4
    for place in range(4):
        learned.node.set(place, memory_used_bytes=70 * GIB, power_draw_watts=300.0)
    found = learned.see(HOUR)
    assert found[uuid(0)].score > 8
    assert not any(row.is_change for row in found.values())


def test_other_memory_is_other_work(learned: Watch) -> None:
    """The same container that loads another model begins a course of its own."""
    learned.node.set(1, memory_used_bytes=75 * GIB, power_draw_watts=200.0)
    found = learned.see(HOUR)
    assert found[uuid(1)].score > 8
    assert not found[uuid(1)].is_change


def test_what_all_siblings_do_is_no_change(learned: Watch) -> None:
    """Where every GPU of a job changes at once, it is the job or the air."""
    for place in range(4):
        learned.node.set(place, temperature_celsius=80.0)
    found = learned.see(HOUR // 2)
    assert all(row.score > 8 for row in found.values())
    assert not any(row.is_change for row in found.values())


def test_without_workloads_nobody_knows_what_changed(learned: Watch) -> None:
    """The score is shown, and whether it is a change is not said."""
    learned.node.known_workloads = False
    learned.node.set(0, temperature_celsius=85.0)
    found = learned.see(HOUR)
    assert found[uuid(0)].score > 8
    assert found[uuid(0)].is_change is None


def test_constant_idle_is_learned_as_that() -> None:
    """Readings that never change have no covariance: no error, and work is far from them."""
    watch = Watch(node(2, "", IDLE))
    found = watch.see(14 * HOUR, jitter=False)
    assert all(row.score < 1 for row in found.values())
    watch.node.set(0, temperature_celsius=60.0)
    assert watch.see(HOUR, jitter=False)[uuid(0)].score > 8


@pytest.mark.slow
def test_a_slow_drift_of_all_becomes_usual() -> None:
    """Summer comes: five degrees in ten days raise no score that matters."""
    watch = Watch(node(2))
    watch.see(24 * HOUR)
    for day in range(10):
        for place in range(2):
            watch.node.set(place, temperature_celsius=60.0 + 0.5 * day)
        found = watch.see(24 * HOUR)
        assert all(row.score < 4 for row in found.values()), day


def test_readings_of_broken_gpus_are_not_learned() -> None:
    """A window full of a fault would make the fault usual."""
    gpus = node(2)
    gpus.set(0, temperature_celsius=90.0)
    detector, new = AnomalyDetector(), NewReadings()
    for _ in range(100):
        detector.see(new.of(gpus.snapshot(60.0)), {uuid(0)})
    window = detector.learned["H100"].window
    assert len(window) == 100
    assert {point[2] for point in window} == {0.6}


def test_nothing_is_fitted_to_a_few_readings() -> None:
    """GPUs that were broken for half a day since the start are not known yet, nor then."""
    gpus = node(2)
    detector, new = AnomalyDetector(), NewReadings()
    for minutes, broken in ((13 * HOUR, {uuid(0), uuid(1)}), (HOUR // 2, set())):
        for _ in range(minutes):
            assert not detector.see(new.of(gpus.snapshot(60.0)), broken)
            assert not detector.fitting.is_under_way
    for _ in range(HOUR):
        detector.see(new.of(gpus.snapshot(60.0)), set())
    assert detector.fitting.is_under_way


def test_the_window_is_bounded_and_spans_what_was_seen() -> None:
    """Of a week of readings a bounded random sample is kept, old and new."""
    watch = Watch(node(1))
    learned = watch.detector.learned
    for hour in range(100):
        watch.node.set(0, temperature_celsius=40.0 + hour / 5)
        watch.detector.see(watch._new.of(watch.node.snapshot(60.0)), frozenset())
        for _ in range(59):
            watch.detector.see(watch._new.of(watch.node.snapshot(60.0)), frozenset())
    window = learned["H100"].window
    assert len(window) == WINDOW
    heats = sorted(point[2] for point in window)
    assert heats[WINDOW // 2] == pytest.approx(0.5, abs=0.02)
    assert heats[0] < 0.42
    assert heats[-1] > 0.58


def test_a_fit_is_done_in_parts(learned: Watch) -> None:
    """Until its last step the model before it is used; each step is small."""
    before = learned.detector.learned["H100"].mixture
    new = NewReadings()
    learned.node.now += 13 * 3600
    learned.detector.see(new.of(learned.node.snapshot(60.0)), frozenset())
    steps = 0
    while learned.detector.fitting.advance(1):
        steps += 1
        if learned.detector.fitting.is_under_way:
            assert learned.detector.learned["H100"].mixture is before
    assert steps > 50
    assert learned.detector.learned["H100"].mixture is not before
    assert not learned.detector.fitting.advance(1)


def test_models_are_bounded() -> None:
    """Names that a driver makes up cost no more than sixteen windows."""
    detector = AnomalyDetector()
    for number in range(40):
        gpus = node(1)
        gpus.name = f"H100 {number}"
        detector.see(NewReadings().of(gpus.snapshot()), frozenset())
    assert len(detector.learned) == MAX_MODELS


def test_a_gpu_that_does_not_say_its_power_has_no_score(learned: Watch) -> None:
    """Absent is not zero."""
    learned.node.fields[0]["power_draw_watts"] = None
    assert uuid(0) not in learned.see(1, jitter=False)
