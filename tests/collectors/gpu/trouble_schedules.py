"""Random troubles of GPUs and of their library, by a seed: what begins when, and until when."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

CALLS_OF_A_GPU = ("nvmlDeviceGetUUID", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetPowerUsage")
CALLS_OF_ALL = ("nvmlInit", "nvmlDeviceGetCount")
SCENARIO_KEYS = {name: name for name in CALLS_OF_A_GPU} | {
    "nvmlDeviceGetHandleByIndex": "handle",
    "nvmlInit": "init",
    "nvmlDeviceGetCount": "count",
}
SCENARIO_WORDS = {"hang": "hang", "crash": "segv", "slow": "sleep 0.4"}
KINDS = ("hang", "crash", "slow")
HEALING_SECS = 60.0
"""After so long without trouble every value is fresh again."""


@dataclass(frozen=True, slots=True)
class Step:
    """One GPU, or the library where `place` is None, has this trouble from then until then."""

    begin: float
    end: float
    place: int | None
    kind: str
    call: str

    @property
    def line(self) -> str:
        """The trouble as a line of the fake library's scenario."""
        card = "" if self.place is None else f"device.{self.place}."
        return f"{card}{SCENARIO_KEYS[self.call]} = {SCENARIO_WORDS[self.kind]}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """All troubles of one run; nothing is wrong from `healed_at` on."""

    seed: int
    gpus: int
    interval_secs: float
    has_smi: bool
    steps: tuple[Step, ...]

    def shortened(self, share: float) -> "Schedule":
        """The same troubles in this share of the time, with a reading each second."""
        steps = (replace(it, begin=it.begin * share, end=it.end * share) for it in self.steps)
        return replace(self, interval_secs=1.0, steps=tuple(steps))

    def moments(self) -> Iterator[tuple[float, tuple[str, ...]]]:
        """When something begins or ends, and what the scenario of the fake library says then."""
        for moment in sorted({at for step in self.steps for at in (step.begin, step.end)}):
            yield moment, tuple(it.line for it in self.steps if it.begin <= moment < it.end)

    @property
    def healed_at(self) -> float:
        """When the last trouble ends."""
        return max(step.end for step in self.steps)

    def __str__(self) -> str:
        lines = [
            f"{step.begin:6.1f} to {step.end:6.1f} s: {step.kind} in {step.call}@{step.place}"
            for step in self.steps
        ]
        head = f"seed {self.seed}: {self.gpus} GPUs, every {self.interval_secs:g} s, "
        return "\n  ".join((f"{head}nvidia-smi: {self.has_smi}", *lines))


def schedule(seed: int) -> Schedule:
    """The schedule of this seed."""
    chance = random.Random(seed)  # noqa: S311 - the same troubles in every run
    gpus = chance.randint(1, 8)
    steps: list[Step] = []
    for _ in range(chance.randint(1, 6)):
        begin = chance.uniform(5, 120)
        kind = chance.choice(KINDS)
        end = begin + chance.choice((3, 8, 20, 50)) * chance.uniform(0.5, 1.5)
        if chance.random() < 0.2:
            steps.append(Step(begin, end, None, kind, chance.choice(CALLS_OF_ALL)))
            continue
        call = chance.choice(CALLS_OF_A_GPU)
        places = chance.sample(range(gpus), chance.choice((1, 1, 2, gpus)) if gpus > 1 else 1)
        steps += [Step(begin, end, place, kind, call) for place in places]
    has_smi = chance.random() < 0.5
    return Schedule(seed, gpus, chance.choice((1.0, 5.0, 15.0)), has_smi, tuple(steps))
