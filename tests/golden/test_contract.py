"""What is said of a node without GPUs, and the JSON fields that others rely on."""

import json
from collections import defaultdict

import pytest

from tests.golden.openmetrics import PAGES

VALUES = {
    *("hw_gpu_memory_used_bytes", "hw_gpu_utilization_percent", "hw_gpu_temperature_celsius"),
    *("hw_gpu_power_draw_watts", "hw_gpu_data_age_seconds", "hw_gpu_data_stale", "hw_gpu_up"),
}
"""What is said of a GPU as long as anybody reads it."""

NODE_FIELDS: list[tuple[str, type]] = [
    ("hostname", str),
    ("node", str),
    ("os_name", str),
    ("os_version", str),
    ("kernel_version", str),
    ("uptime_secs", int),
    ("cpu_cores", int),
    ("cpu_threads", int),
    ("cpu_model", str),
    ("cpu_usage_percent", float),
    ("cpu_used_cores", float),
    ("memory_total_bytes", int),
    ("memory_used_bytes", int),
    ("memory_available_bytes", int),
    ("memory_usage_percent", float),
    ("gpu_count", int),
    ("gpu_used_count", int),
    ("gpu_devices", list),
    ("gpu_type_counts", dict),
]
GPU_FIELDS = [
    ("index", int),
    ("name", str),
    ("uuid", str),
    ("memory_total_mb", int),
    ("memory_used_mb", int),
    ("memory_free_mb", int),
    ("utilization_percent", int),
    ("temperature_celsius", int),
    ("power_draw_watts", int),
    ("power_limit_watts", int),
]


def _families(page: str) -> dict[str, list[str]]:
    """The sample lines of each family, by name."""
    families: defaultdict[str, list[str]] = defaultdict(list)
    for line in (PAGES / f"{page}.prom").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            families[line.partition("{")[0]].append(line)
    return families


def _of_gpus(page: str) -> set[str]:
    return {name for name in _families(page) if name.startswith("hw_gpu_")}


def test_a_cpu_node_has_no_gpu_family_but_the_backend() -> None:
    """It says that there is no driver, and nothing about GPUs that are not there."""
    assert _of_gpus("cpu_only") == {"hw_gpu_backend_info"}
    (backend,) = _families("cpu_only")["hw_gpu_backend_info"]
    assert 'backend="none",reason="no_driver"' in backend


def test_when_the_cache_has_expired_nothing_but_the_loss_is_said() -> None:
    """No value, no age and no staleness of a GPU that nobody can read; each one is down."""
    assert _families("gpus_by_nvml").keys() >= VALUES
    assert VALUES & _of_gpus("cache_expired") == {"hw_gpu_up"}
    assert [line[-2:] for line in _families("cache_expired")["hw_gpu_up"]] == [" 0"] * 2


def test_a_driver_that_is_gone_takes_its_gpus_along() -> None:
    """An unloaded driver is not a fault: the node is a CPU node again."""
    assert _of_gpus("driver_gone") == {"hw_gpu_backend_info"}


@pytest.mark.parametrize("page", ["gpus_by_nvml", "gpus_by_nvidia_smi", "cpu_only", "driver_gone"])
def test_the_inventory_keeps_its_fields(page: str) -> None:
    """`/node` begins with the fields that existing readers know, in order and of their types."""
    document = json.loads((PAGES / f"{page}.json").read_text("utf-8"))
    assert list(document)[: len(NODE_FIELDS)] == [name for name, _ in NODE_FIELDS]
    for name, kind in NODE_FIELDS:
        assert isinstance(document[name], kind) or (kind is float and document[name] is None), name
    for device in document["gpu_devices"]:
        assert list(device) == [name for name, _ in GPU_FIELDS]
        for name, kind in GPU_FIELDS:
            assert type(device[name]) is kind or (kind is int and device[name] is None), name
    assert document["gpu_count"] == len(document["gpu_devices"])
