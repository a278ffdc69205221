"""Names, labels, types and JSON fields that others rely on: they stay as written here."""

import json
from pathlib import Path

import pytest

PAGES = Path(__file__).parent / "pages"

GPU = ("node", "gpu_index", "gpu_name", "gpu_uuid")
CONTRACT: dict[str, tuple[str, tuple[str, ...]]] = {
    "hw_node_info": ("gauge", ("node", "os", "os_version", "kernel", "cpu_model")),
    "hw_node_uptime_seconds": ("gauge", ("node",)),
    "hw_cpu_cores": ("gauge", ("node",)),
    "hw_cpu_threads": ("gauge", ("node",)),
    "hw_cpu_usage_percent": ("gauge", ("node",)),
    "hw_cpu_used_cores": ("gauge", ("node",)),
    "hw_memory_total_bytes": ("gauge", ("node",)),
    "hw_memory_used_bytes": ("gauge", ("node",)),
    "hw_memory_available_bytes": ("gauge", ("node",)),
    "hw_memory_usage_percent": ("gauge", ("node",)),
    "hw_gpu_count": ("gauge", ("node",)),
    "hw_gpu_used_count": ("gauge", ("node",)),
    "hw_gpu_type_count": ("gauge", ("node", "gpu_type")),
    "hw_gpu_memory_total_bytes": ("gauge", GPU),
    "hw_gpu_memory_used_bytes": ("gauge", GPU),
    "hw_gpu_memory_free_bytes": ("gauge", GPU),
    "hw_gpu_utilization_percent": ("gauge", GPU),
    "hw_gpu_temperature_celsius": ("gauge", GPU),
    "hw_gpu_power_draw_watts": ("gauge", GPU),
    "hw_gpu_power_limit_watts": ("gauge", GPU),
    "hw_gpu_nvml_up": ("gauge", ("node",)),
    "hw_gpu_backend_info": (
        "gauge",
        ("node", "backend", "reason", "driver_version", "cuda_version"),
    ),
    "hw_gpu_data_age_seconds": ("gauge", GPU),
    "hw_gpu_data_stale": ("gauge", GPU),
    "hw_gpu_up": ("gauge", GPU),
}
NEEDS_TWO_COLLECTIONS = {"hw_cpu_usage_percent", "hw_cpu_used_cores"}
NEEDS_A_GPU = {name for name in CONTRACT if name.startswith("hw_gpu_")} - {"hw_gpu_backend_info"}

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


def _families(page: str) -> dict[str, tuple[str, list[str]]]:
    """Type and sample lines of each family, by name."""
    families: dict[str, tuple[str, list[str]]] = {}
    for line in (PAGES / f"{page}.prom").read_text("utf-8").splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            families[name] = (kind, [])
        elif not line.startswith("#"):
            families[line.partition("{")[0]][1].append(line)
    return families


def _label_names(line: str) -> tuple[str, ...]:
    """The names of the labels of a sample, in the order of the wire."""
    names, inside, name, previous = [], False, "", ""
    for char in line.partition("{")[2]:
        if char == '"' and previous != "\\":
            if not inside:
                names.append(name.strip("=,"))
            inside, name = not inside, ""
        elif not inside:
            if char == "}":
                break
            name += char
        previous = "" if previous == "\\" else char
    return tuple(names)


@pytest.mark.parametrize("name", CONTRACT)
def test_a_family_keeps_its_name_type_and_labels(name: str) -> None:
    """Where all is well, every family of the contract is on the page with its labels in order."""
    page = "cpu_only" if name in NEEDS_TWO_COLLECTIONS else "gpus_by_nvml"
    kind, labels = CONTRACT[name]
    found_kind, lines = _families(page)[name]
    assert found_kind == kind
    assert lines
    assert {_label_names(line) for line in lines} == {labels}


def test_a_cpu_node_has_no_gpu_family_but_the_backend() -> None:
    """It says that there is no driver, and nothing about GPUs that are not there."""
    families = _families("cpu_only")
    assert not NEEDS_A_GPU & families.keys()
    assert 'backend="none",reason="no_driver"' in families["hw_gpu_backend_info"][1][0]


def test_when_the_cache_has_expired_nothing_but_the_loss_is_said() -> None:
    """No value, no age and no staleness of a GPU that nobody can read; each one is down."""
    families = _families("cache_expired")
    per_gpu = {name for name, (_, labels) in CONTRACT.items() if labels == GPU}
    assert per_gpu & families.keys() == {"hw_gpu_up"}
    assert [line[-2:] for line in families["hw_gpu_up"][1]] == [" 0"] * 2


def test_a_driver_that_is_gone_takes_its_gpus_along() -> None:
    """An unloaded driver is not a fault: the node is a CPU node again."""
    assert not NEEDS_A_GPU & _families("driver_gone").keys()


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
