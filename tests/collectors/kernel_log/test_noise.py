"""A hundred thousand lines that mean nothing."""

import random
from pathlib import Path

import pytest

from tests.collectors.kernel_log.feeding import pipeline, record

pytestmark = pytest.mark.slow

TEMPLATES = Path(__file__).with_name("noise.txt").read_text("utf-8").splitlines()
"""Lines that real kernels write when nothing is wrong; `{n}` and the like vary."""

COMMS = ("trainer", "python3", "kworker/3:1", "nvidia-smi", "a: b", "Xid", "segfault", "oom-killer")


def noise(seed: int, count: int) -> list[str]:
    """So many lines, with names and numbers that vary."""
    chance = random.Random(seed)  # noqa: S311 - test data
    return [_filled(chance.choice(TEMPLATES), chance) for _ in range(count)]


def _filled(template: str, chance: random.Random) -> str:
    parts = {
        "{n}": str(chance.randrange(1, 100_000)),
        "{hex}": f"{chance.getrandbits(48):x}",
        "{pci}": f"0000:{chance.randrange(256):02x}:{chance.randrange(32):02x}.0",
        "{if}": chance.choice(("eth0", "ens1f0np0", "cali192c173bf63", "veth12ab", "ib0")),
        "{disk}": chance.choice(("sda1", "nvme0n1p1", "dm-0", "md127")),
        "{comm}": chance.choice(COMMS),
    }
    for name, value in parts.items():
        template = template.replace(name, value)
    return template


def test_a_hundred_thousand_unrelated_lines_give_no_event() -> None:
    """Nothing that a healthy node writes is taken for a fault."""
    taker = pipeline()
    for number, line in enumerate(noise(seed=1, count=100_000)):
        taker.take(record(line, sequence=number, stamp=number / 1000))
    taker.settle()
    assert taker.counters.ring.events() == ()
    assert (taker.counters.records, taker.counters.lost, taker.counters.suppressed) == (
        100_000,
        0,
        0,
    )
