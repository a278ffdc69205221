"""GPUs beside their siblings: who stays away is seen, who pauses, differs or idles is not."""

from collections.abc import Callable

import pytest

from exporter.collectors.detectors.siblings import MAX_DEVIATION, MAX_USUAL, SiblingDetector
from exporter.collectors.detectors.signals import NewReadings
from exporter.collectors.detectors.values import SiblingDeviation
from exporter.collectors.workloads.values import GpuShare, Workload
from tests.collectors.detectors.readings import IDLE, TRAINER, NodeOfGpus, node, uuid

MINUTE = 4


class Watch:
    """A detector that looks at a node again and again."""

    def __init__(self, gpus: NodeOfGpus, detector: SiblingDetector | None = None) -> None:
        self.node = gpus
        self.detector = detector or SiblingDetector()
        self._new = NewReadings()

    def see(
        self, looks: int, faulty: frozenset[str] = frozenset(), before: Callable[[], object] = int
    ) -> dict[str, SiblingDeviation]:
        """What is found about each GPU after so many readings."""
        found: tuple[SiblingDeviation, ...] = ()
        for _ in range(looks):
            before()
            found = self.detector.see(self._new.of(self.node.snapshot()), faulty)
        return {row.gpu_uuid: row for row in found}


def away(found: dict[str, SiblingDeviation], place: int) -> dict[str, float]:
    """The deviations of one GPU by signal."""
    return dict(found[uuid(place)].by_signal)


@pytest.mark.parametrize(
    ("fields", "signal", "sign"),
    [
        ({"clock_hertz": (("sm", 1.5e9),)}, "sm_clock", -1),
        ({"power_draw_watts": 350.0, "temperature_celsius": 45.5}, "power", -1),
        ({"temperature_celsius": 82.0}, "temperature", 1),
        ({"activity_ratio": (("sm", 0.3),)}, "sm_activity", -1),
        ({"pcie_profile_bytes_per_second": (("receive", 0.02e9),)}, "pcie", -1),
        ({"nvlink_profile_bytes_per_second": (("receive", 5e9),)}, "nvlink", -1),
    ],
)
def test_one_that_stays_away_is_seen_by_its_signal(
    fields: dict[str, object], signal: str, sign: int
) -> None:
    """Within some minutes the signal of one GPU is beyond 4 and all else is near 0."""
    gpus = node()
    watch = Watch(gpus)
    watch.see(10 * MINUTE)
    gpus.set(3, **fields)
    found = watch.see(10 * MINUTE)
    assert sign * away(found, 3)[signal] > 4
    assert found[uuid(3)].furthest[0] == signal
    others = [value for place in (0, 1, 7) for value in away(found, place).values()]
    assert max(map(abs, others)) < 0.5


def test_a_deviation_is_bounded() -> None:
    """However far away a GPU is, it is ten deviations away."""
    gpus = node()
    gpus.set(0, temperature_celsius=200.0, clock_hertz=(("sm", 0.0),), power_draw_watts=230.0)
    found = away(Watch(gpus).see(60 * MINUTE), 0)
    assert all(abs(value) <= MAX_DEVIATION for value in found.values())
    assert found["temperature"] == pytest.approx(MAX_DEVIATION, abs=0.1)


def test_few_siblings_say_nothing() -> None:
    """Three GPUs are not compared; those of other workloads not by what these ask of them."""
    assert Watch(node(3)).see(MINUTE) == {}
    apart = node()
    apart.workloads = [(f"job-{place // 3}",) for place in range(8)]
    unknown = node()
    unknown.known_workloads = False
    for gpus in (apart, node(workload=""), unknown):
        found = Watch(gpus).see(MINUTE)
        names = {name for row in found.values() for name, _ in row.by_signal}
        assert names - {"other_workloads"} == {"temperature"}
        assert not any(row.is_synchronous for row in found.values())


def test_cooling_is_compared_whatever_gpus_do() -> None:
    """A GPU that works alone is hotter for its watts than those that do other work."""
    gpus = node()
    gpus.workloads = [(f"job-{place}",) for place in range(8)]
    for place in range(8):
        watts = 300.0 + 50.0 * place
        gpus.set(place, power_draw_watts=watts, temperature_celsius=25.0 + 0.055 * watts)
    watch = Watch(gpus)
    found = watch.see(30 * MINUTE)
    assert max(abs(away(found, place)["temperature"]) for place in range(8)) < 1
    gpus.set(2, temperature_celsius=25.0 + 0.075 * 400.0)
    assert away(watch.see(15 * MINUTE), 2)["temperature"] > 4


@pytest.mark.parametrize("workload", [TRAINER, ""], ids=["at work", "at rest"])
def test_another_power_limit_is_seen_before_it_binds(workload: str) -> None:
    """It counts as the board has it, not as it is used, nor by whom."""
    gpus = node(workload=workload)
    for place in range(8):
        gpus.set(place, power_limit_watts=700.0, power_draw_watts=300.0)
    gpus.set(5, power_limit_watts=500.0)
    assert away(Watch(gpus).see(15 * MINUTE), 5)["power_limit"] < -4


def with_neighbour(*names: str, percent: float | None = 30.0) -> NodeOfGpus:
    """GPUs that work alone; others with these names come to the third."""
    gpus = node()
    gpus.workloads = [(f"job-{place}/main",) for place in range(8)]
    gpus.workloads[2] += names
    gpus.sm_percents = {f"job-{place}/main": 60.0 for place in range(8)}
    if percent is not None:
        gpus.sm_percents |= dict.fromkeys(names, percent)
    return gpus


def test_another_workload_on_the_gpu_is_seen_by_its_time() -> None:
    """On a node whose GPUs each have one workload, a second that computes is unusual."""
    found = Watch(with_neighbour("noise")).see(15 * MINUTE)
    assert away(found, 2)["other_workloads"] > 4
    assert found[uuid(2)].furthest[0] == "other_workloads"
    assert away(found, 3)["other_workloads"] == 0


@pytest.mark.parametrize(
    "gpus",
    [
        with_neighbour("notebook", percent=2.0),
        with_neighbour("job-2/metrics"),
    ],
    ids=["it only holds memory", "a container of the same pod"],
)
def test_not_every_neighbour_is_unusual(gpus: NodeOfGpus) -> None:
    """What takes no time, or belongs to the same pod, takes nothing from anybody."""
    assert abs(away(Watch(gpus).see(15 * MINUTE), 2)["other_workloads"]) < 1.5


def test_who_shares_a_gpu_on_purpose_is_not_compared() -> None:
    """Nor where the driver does not say how much time a workload has."""
    shared = with_neighbour("noise")
    shared.shares = (GpuShare(uuid(2), "time_slicing", 2),)
    for gpus in (shared, with_neighbour("noise", percent=None)):
        found = away(Watch(gpus).see(15 * MINUTE), 2)
        assert "temperature" in found
        assert "other_workloads" not in found


def test_where_every_gpu_is_shared_nobody_is_unlike() -> None:
    """Neighbours that come and go everywhere are how this node is used."""
    gpus = with_neighbour()
    for place in range(8):
        gpus.workloads[place] += (f"second-{place}",)
        gpus.sm_percents[f"second-{place}"] = 5.0 * place
    found = Watch(gpus).see(15 * MINUTE)
    assert max(abs(away(found, place)["other_workloads"]) for place in range(8)) < 2


def test_a_common_pause_is_no_comparison() -> None:
    """While all wait for data no work is compared; after some minutes none of it is shown."""
    gpus = node()
    watch = Watch(gpus)
    assert watch.see(MINUTE)
    for place in range(8):
        gpus.set(place, **IDLE)
    gpus.set(2, clock_hertz=(("sm", 1.98e9),))
    assert max(map(abs, away(watch.see(2), 2).values())) < 0.5
    assert {*away(watch.see(10 * MINUTE), 2)} == {"other_workloads"}


def test_what_is_always_so_is_not_unusual() -> None:
    """A GPU in the warm air of another is always hotter; more than usual is seen all the same."""
    gpus = node()
    for place in range(8):
        gpus.set(place, temperature_celsius=58.0 + 4.0 * (place % 2))
    watch = Watch(gpus)
    watch.see(4 * 60 * MINUTE)
    assert abs(away(watch.see(1), 1)["temperature"]) < 0.5
    gpus.set(1, temperature_celsius=74.0)
    assert away(watch.see(15 * MINUTE), 1)["temperature"] > 4


@pytest.mark.slow
def test_a_slow_drift_is_seen_before_it_is_usual() -> None:
    """A GPU that gets half a degree hotter each hour is seen within a day and a half."""
    gpus = node()
    watch = Watch(gpus)
    watch.see(24 * 60)
    for hour in range(36):
        gpus.set(5, temperature_celsius=60.0 + 0.5 * hour)
        found = watch.see(60 * MINUTE)
        if away(found, 5)["temperature"] > 4:
            break
    assert away(found, 5)["temperature"] > 4


def test_a_slow_gpu_is_seen_from_the_first_day() -> None:
    """Its place is not learned while it is far away, nor while it has a fault."""
    gpus = node()
    gpus.set(0, clock_hertz=(("sm", 1.4e9),))
    watch = Watch(gpus)
    assert away(watch.see(24 * 60 * MINUTE), 0)["sm_clock"] < -4
    hot = node()
    hot.set(0, temperature_celsius=62.0)
    learned = Watch(hot)
    learned.see(60 * MINUTE, frozenset({uuid(0)}))
    assert learned.detector.usual[uuid(0), "temperature"].secs == 0
    assert learned.detector.usual[uuid(1), "temperature"].secs > 0


def test_gpus_that_are_never_alike_are_not_unusual() -> None:
    """Where all siblings differ as much, the one at the end is no further away than others."""
    gpus = node()
    for place in range(8):
        gpus.set(place, activity_ratio=(("sm", 0.1 + 0.12 * place),))
    found = Watch(gpus).see(15 * MINUTE)
    assert max(abs(away(found, place)["sm_activity"]) for place in range(8)) < 2


def test_another_workload_begins_anew() -> None:
    """What was far away in one job is not said of the next."""
    gpus = node()
    gpus.set(0, clock_hertz=(("sm", 1.4e9),))
    watch = Watch(gpus)
    assert away(watch.see(15 * MINUTE), 0)["sm_clock"] < -4
    gpus.set(0, clock_hertz=(("sm", 1.98e9),))
    gpus.workloads = [("next",)] * 8
    assert abs(away(watch.see(1), 0)["sm_clock"]) < 0.5


def test_a_neighbour_does_not_hide_its_victim() -> None:
    """A GPU that a second workload shares stays with its siblings."""
    gpus = node()
    gpus.workloads[6] = ("trainer", "neighbour")
    gpus.set(6, activity_ratio=(("sm", 0.3),))
    assert away(Watch(gpus).see(15 * MINUTE), 6)["sm_activity"] < -4


def test_who_waits_for_each_other_is_known_by_nvlink() -> None:
    """GPUs that all send over NVLink are synchronous; one that does not shows that they are not."""
    gpus = node()
    assert Watch(gpus).see(1)[uuid(0)].is_synchronous
    gpus.set(0, nvlink_profile_bytes_per_second=(("receive", 0.0),))
    assert not Watch(gpus).see(1)[uuid(1)].is_synchronous


def test_collectives_show_who_waits_for_each_other() -> None:
    """Where NCCL calls of the workload are traced no NVLink is needed."""
    gpus = node()
    for place in range(8):
        gpus.set(place, nvlink_profile_bytes_per_second=None)
    readings = NewReadings().of(gpus.snapshot())
    (found, *_) = SiblingDetector().see(readings, (), {Workload("ml", "trainer", "main")})
    assert found.is_synchronous
    (found, *_) = SiblingDetector().see(readings, (), {Workload("ml", "another", "main")})
    assert not found.is_synchronous


def test_nvlink_counters_do_where_nothing_is_profiled() -> None:
    """Bytes in all become bytes per second between two readings; the first reading has none."""
    gpus = node()
    sent = 0

    def count() -> None:
        nonlocal sent
        sent += 15 * 10**9
        for place in range(8):
            gpus.set(
                place,
                nvlink_profile_bytes_per_second=None,
                nvlink_receive_bytes_total=sent,
                nvlink_transmit_bytes_total=sent,
            )

    watch = Watch(gpus)
    assert "nvlink" not in away(watch.see(1, before=count), 0)
    found = watch.see(1, before=count)
    assert "nvlink" in away(found, 0)
    assert found[uuid(0)].is_synchronous


@pytest.mark.parametrize(
    "state", [{"stale": True}, {"up": False}, {"expired": True}], ids=["stale", "lost", "expired"]
)
def test_what_was_not_read_is_not_compared(state: dict[str, bool]) -> None:
    """A GPU served from the cache says nothing about now."""
    gpus = node()
    watch = Watch(gpus)
    watch.see(MINUTE)
    gpus.states[4] = state
    watch.detector.forget({uuid(4)})
    assert sorted(watch.see(1)) == [uuid(place) for place in range(8) if place != 4]


def test_the_same_reading_counts_once() -> None:
    """A collection between two passes over the GPUs adds nothing."""
    gpus = node()
    new = NewReadings()
    once = gpus.snapshot()
    assert len(new.of(once)) == 8
    assert new.of(once) == []


def test_mig_devices_are_not_compared() -> None:
    """The power of a GPU in MIG mode is that of several tenants."""
    gpus = node()
    for place in range(8):
        gpus.set(place, mig_enabled=True)
    assert Watch(gpus).see(MINUTE) == {}


def test_gpus_that_come_and_go_cost_a_bounded_memory() -> None:
    """A thousand usual places are kept, whatever UUIDs a driver makes up."""
    detector = SiblingDetector()
    for number in range(60):
        gpus = node()
        gpus.fields = [dict(each) for each in gpus.fields]
        watch = Watch(gpus, detector)
        for row in watch._new.of(gpus.snapshot()):
            for place in range(8):
                detector._usual((f"{row.gpu.uuid}-{number}-{place}", "power"))
    assert len(detector.usual) <= MAX_USUAL
