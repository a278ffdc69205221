"""Five hundred names that want to break the page: each stays in its label."""

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.collectors.everything import FAMILIES
from exporter.collectors.gpu.nvml import parse_answer
from exporter.collectors.gpu.values import GpuBackend, Gpus, GpuState
from exporter.exposition.render import Format, render
from exporter.model.label import clean_text
from exporter.model.snapshot import Snapshot
from tests.hostile import hostile_names


def _page(names: list[str], form: Format) -> str:
    """The page of a node with so many GPUs, named like this by their probe."""
    entries = [
        {"index": index, "uuid": f"GPU-{index}", "name": name, "temperature_celsius": index % 90}
        for index, name in enumerate(names)
    ]
    gpus = parse_answer({"gpus": entries}).gpus
    states = tuple(GpuState(gpu, 0.0) for gpu in gpus)
    reading = Gpus(GpuBackend("nvml", "ok"), states)
    return render(FAMILIES, Snapshot("n", 1, 0.0, 0.0, 0.0, {Gpus: reading}), form).body.decode()


@pytest.mark.parametrize("form", list(Format))
def test_each_name_stays_in_its_label(form: Format) -> None:
    """Both parsers find every series once, with the cleaned name and the value of its GPU."""
    names = hostile_names(500)
    page = _page(names, form)
    parse = parse_text if form is Format.TEXT else parse_openmetrics
    text = page if form is Format.TEXT or page.endswith("# EOF\n") else page + "# EOF\n"
    families = {family.name: family.samples for family in parse(text)}
    heat = families["hw_gpu_temperature_celsius"]
    assert [(s.labels["gpu_uuid"], s.labels["gpu_name"], s.value) for s in heat] == [
        (f"GPU-{index}", clean_text(name) or s.labels["gpu_name"], index % 90)
        for (index, name), s in zip(enumerate(names), heat, strict=True)
    ]
    harmless = _page([f"H{index}" for index in range(500)], form)
    types = families.pop("hw_gpu_type_count")
    assert sum(sample.value for sample in types) == 500
    assert _lines_of_gpus(page) == _lines_of_gpus(harmless)


def _lines_of_gpus(page: str) -> int:
    """The number of lines but those of models, since some hostile names are one model."""
    return sum(not line.startswith("hw_gpu_type_") for line in page.splitlines())
