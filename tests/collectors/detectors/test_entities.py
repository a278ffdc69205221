"""The fields of a GPU that the detectors give it."""

from dataclasses import replace

from exporter.collectors.detectors.entities import found_unusual
from exporter.collectors.detectors.values import GpuAnomaly, SiblingDeviation, Unusual


def test_what_is_unusual_is_said_of_its_gpu_only() -> None:
    """The distance of each signal, the furthest of them, and how unlikely its readings are."""
    away = SiblingDeviation("GPU-0", (("power", -4.0), ("clock", 2.0)), is_synchronous=True)
    score = GpuAnomaly("GPU-0", 12.0, is_change=False)
    found = Unusual(
        siblings=(away, replace(away, gpu_uuid="GPU-1", by_signal=(("power", 9.0),))),
        anomalies=(score, replace(score, gpu_uuid="GPU-1", score=99.0)),
    )
    assert found_unusual("GPU-0", found) == {
        "sibling_deviation[power]": -4.0,
        "sibling_deviation[clock]": 2.0,
        "sibling_signal": "power",
        "sibling_deviation_furthest": 4.0,
        "siblings_synchronous": True,
        "anomaly_score": 12.0,
        "anomaly_is_change": False,
    }
    assert found_unusual("GPU-2", found) == {}
