"""What a probe reported last."""

import math

from exporter.collectors.external_probes.kept_series import MAX_SERIES, KeptSeries
from exporter.collectors.external_probes.values import ProbeMetric, ProbeValue
from exporter.exposition.family import Histogram


def _metric(number: int, buckets: int = 0) -> ProbeMetric:
    bounds = [*range(buckets - 1), math.inf]
    value = Histogram(tuple((float(bound), 1) for bound in bounds), 1.0) if buckets else 1.0
    return ProbeMetric("hw_npu_seconds", "gauge", "", (("n", str(number)),), value)


def test_each_bucket_takes_room() -> None:
    """A histogram of eight buckets is ten series, and it may grow only where there is room."""
    kept = KeptSeries()
    assert [kept.keep(_metric(n, 8)) for n in range(MAX_SERIES // 10 + 1)].count(False) == 1
    assert len(kept.metrics) == MAX_SERIES // 10
    assert not kept.keep(_metric(0, 9))
    assert kept.keep(_metric(0, 8))
    assert kept.keep(_metric(0, 7))
    assert kept.keep(ProbeValue("transport.bw", "eth0", 1.0))
    assert not kept.keep(ProbeValue("transport.bw", "eth1", 1.0))
    assert kept.keep(ProbeValue("transport.bw", "eth0", 2.0))
    assert kept.values == (ProbeValue("transport.bw", "eth0", 2.0),)


def test_what_is_dropped_gives_its_room_back() -> None:
    """Once, however often it is dropped."""
    kept = KeptSeries()
    assert all(kept.keep(_metric(n)) for n in range(MAX_SERIES))
    for _ in range(2):
        kept.drop("hw_npu_seconds", (("n", "7"),))
    assert kept.keep(_metric(7))
    assert not kept.keep(_metric(MAX_SERIES))
