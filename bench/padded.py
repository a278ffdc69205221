"""The program with made-up families behind its own, to measure pages of a given length.

`BENCH_SERIES` series in families of fifty, with the labels of a GPU.
"""

import os

from exporter.__main__ import main
from exporter.collector import Collectors
from exporter.exposition.family import Family, MetricType, Sample
from exporter.model.snapshot import Snapshot

SERIES_PER_FAMILY = 50
LABELS = ("gpu_index", "gpu_name", "gpu_uuid")


def families(series: int) -> tuple[Family, ...]:
    """Families that hold so many series together; their values change with every snapshot."""
    counts = [SERIES_PER_FAMILY] * (series // SERIES_PER_FAMILY)
    if series % SERIES_PER_FAMILY:
        counts.append(series % SERIES_PER_FAMILY)
    return tuple(_family(number, count) for number, count in enumerate(counts))


def _family(number: int, count: int) -> Family:
    labels = [
        (str(index), "NVIDIA H100 80GB HBM3", f"GPU-5a1c0d3e-7b42-4c19-9d10-{index:012d}")
        for index in range(count)
    ]

    def samples(snapshot: Snapshot) -> list[Sample]:
        return [(each, snapshot.sequence * 1.5 + row) for row, each in enumerate(labels)]

    return Family(
        f"hw_bench_{number}_ratio", "Made up, to be many.", MetricType.GAUGE, LABELS, samples
    )


def pad(series: int) -> None:
    """Let every page end with so many made-up series."""
    made_up, ours = families(series), Collectors.families_of

    def padded(collectors: Collectors, snapshot: Snapshot) -> tuple[Family, ...]:
        return (*ours(collectors, snapshot), *made_up)

    Collectors.families_of = padded  # type: ignore[method-assign,assignment] # the program has no such option


if __name__ == "__main__":
    pad(int(os.environ["BENCH_SERIES"]))
    main()
