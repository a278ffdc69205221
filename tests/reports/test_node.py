"""The JSON documents: what is unknown is null, and the text is always JSON."""

import json
from typing import Any

import pytest

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.memory.values import Memory
from exporter.collectors.node.values import Host
from exporter.model.reading import Missing
from exporter.model.snapshot import Outcome, SourceReport
from exporter.reports.node import flat_metrics, inventory
from exporter.web.answer import to_json
from tests.web.serving import snapshot

HOST = Host("host-1", "Debian", "12", "6.1.0", "Example CPU", uptime_secs=77.9)
CPU = Cpu(cores=4, threads=8, usage_percent=12.34567, used_cores=0.98765)
MEMORY = Memory(total_bytes=1000, available_bytes=750)
GPU = Gpu(
    index=1,
    uuid="GPU-1",
    name="Example GPU",
    memory_total_bytes=80 * 1024**3,
    memory_used_bytes=2 * 1024**2 - 1,
    power_draw_watts=71.25,
)


def _gpus(*states: GpuState) -> dict[type, object]:
    return {Gpus: Gpus(GpuBackend("nvml", "ok", "550.1", "12.4", nvml_up=True), states)}


def test_the_flat_object_of_a_whole_node() -> None:
    """The fields that older readers know, with their types and in their units."""
    document = flat_metrics(snapshot(readings={Host: HOST, Cpu: CPU, Memory: MEMORY}))
    assert to_json(document).decode() == (
        '{"cpu_usage": 12.346, "memory_total": 1000, "memory_used": 250,'
        ' "memory_usage_percent": 25.0, "hostname": "host-1", "os_name": "Debian",'
        ' "os_version": "12", "uptime": 77}'
    )


def test_what_was_not_read_is_null() -> None:
    """A node of which nothing could be read has nulls, «unknown» and its name; never a zero."""
    document = flat_metrics(snapshot("node-7"))
    assert document == {
        "cpu_usage": None,
        "memory_total": None,
        "memory_used": None,
        "memory_usage_percent": None,
        "hostname": "node-7",
        "os_name": "unknown",
        "os_version": "unknown",
        "uptime": None,
    }
    zeros = [name for name, value in inventory(snapshot(), 1000.0).items() if value == 0]
    assert zeros == ["gpu_count", "gpu_used_count", "age_secs"]


def test_a_card_says_what_it_knows() -> None:
    """Memory is whole MiB, watts keep their fraction, and what was not said is null."""
    states = GpuState(GPU, read_boottime=990.0, up=True)
    document = inventory(snapshot(readings=_gpus(states)), 1000.0)
    assert document["gpu_devices"] == [
        {
            "index": 1,
            "name": "Example GPU",
            "uuid": "GPU-1",
            "memory_total_mb": 81920,
            "memory_used_mb": 1,
            "memory_free_mb": None,
            "utilization_percent": None,
            "temperature_celsius": None,
            "power_draw_watts": 71,
            "power_limit_watts": None,
        }
    ]
    assert document["gpu_type_counts"] == {"Example GPU": 1}
    assert document["gpu_status"][0]["age_secs"] == 10.0
    assert document["gpu_status"][0]["power_draw_watts"] == 71.25
    assert document["driver"]["version"] == "550.1"


def test_sources_say_how_they_ended() -> None:
    """A source that failed is named with its reason, and so is each field it left out."""
    gaps = (Missing("sda size", "gone"),)
    report = SourceReport("disk", Outcome.FAILED, 0.1, reason="no such file", missing=gaps)
    document = inventory(snapshot(reports=(report,)), 1000.0)
    assert document["sources"] == {
        "disk": {"outcome": "failed", "reason": "no such file", "missing": {"sda size": "gone"}}
    }


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), -float("inf"), [float("nan")], {"a": (1.5, float("inf"))}],
    ids=str,
)
def test_json_has_no_nan(value: Any) -> None:
    """A number that is none becomes null, wherever it stands."""
    text = to_json({"well": 1.5, "not": value}).decode()
    assert not {"NaN", "Infinity"} & set(text.replace("-", " ").replace(",", " ").split())
    assert "nan" not in text.lower()
    assert "inf" not in text.lower()
    assert json.loads(text)["well"] == 1.5


def test_json_survives_any_text() -> None:
    """Text that no encoding can carry does not fail the document."""
    assert json.loads(to_json({"name": "a\udcffb\x00\n\u2028"}))["name"] == "a?b\x00\n\u2028"
