"""The detectors with their rules on a simulated node: what `make bench-faults` counts."""

import pytest

from bench.unusual.incidents import FIRST_DAY, KINDS, incidents
from bench.unusual.jobs import DAY, GPUS, jobs
from bench.unusual.scoring import Alarm, Outcome, judged


@pytest.mark.slow
def test_incidents_are_found_and_nothing_else_is_said() -> None:
    """A second workload and a slow sibling, beside days of healthy work on eight GPUs."""
    outcome = judged(7, 4.3)
    assert [label.kind for label in outcome.labels] == ["noisy_neighbour", "slow_sibling"]
    assert outcome.found() == outcome.labels
    assert outcome.false() == []


def test_the_same_seed_gives_the_same_node() -> None:
    """Figures of a seed can be had again; another seed is another node."""
    planned = jobs(7, 15)
    assert jobs(7, 15) == planned
    assert incidents(7, 15, planned) == incidents(7, 15, planned)
    assert jobs(8, 15) != planned


@pytest.mark.parametrize("seed", range(1, 20))
def test_labels_are_of_working_gpus(seed: int) -> None:
    """Each incident begins while its GPU works, on one GPU at a time, after days of learning."""
    planned = jobs(seed, 15)
    labels = incidents(seed, 15, planned)
    assert len(labels) >= len(KINDS)
    for label in labels:
        assert label.begins >= FIRST_DAY * DAY
        working = [job for job in planned if job.begins <= label.begins < job.ends]
        (job,) = [job for job in working if label.gpu in job.gpus]
        assert label.kind != "slow_sibling" or len(job.gpus) >= GPUS // 2
    ends = [0.0, *(label.ends for label in labels)]
    assert all(label.begins >= end for label, end in zip(labels, ends, strict=False))


def test_what_is_found_and_what_is_false() -> None:
    """A fault of the right GPU in time is right, an hour after the end too; any other is false."""
    planned = jobs(1, 15)
    (label, *_) = incidents(1, 15, planned)
    other = (label.gpu + 1) % GPUS
    early = Alarm("gpu_unlike_siblings", label.gpu, label.begins - 60)
    wrong = Alarm("gpu_unlike_siblings", other, label.begins + 60)
    late = Alarm("gpu_unlike_siblings", label.gpu, label.ends + 60)
    outcome = Outcome([label], DAY, [early, wrong, late])
    assert outcome.found() == []
    assert outcome.false() == [early, wrong]
    outcome.alarms.append(Alarm("gpu_unlike_itself", label.gpu, label.begins + 60))
    assert outcome.found() == [label]
