"""Documents of real nvidia-smi: what is read from each, and that nothing is invented."""

from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.gpu.backend import GpuAnswer
from exporter.collectors.gpu.smi.output import parse_document
from exporter.collectors.gpu.values import Gpu
from exporter.toml import tomllib
from tests.collectors.gpu.smi_documents import read

FOLDER = Path(__file__).resolve().parents[2] / "captures/nvidia_smi"
MIB = 1024 * 1024
FACTS = tomllib.loads(Path(__file__).with_name("recorded_facts.toml").read_text("utf-8"))


def answer_of(name: str) -> GpuAnswer:
    """What is read from one document."""
    document = read((FOLDER / f"{name}.xml").read_text("utf-8"))
    assert document.is_whole
    return parse_document(document)


def gpu_of(name: str) -> Gpu:
    """The one GPU of a document."""
    (gpu,) = answer_of(name).gpus
    return gpu


def test_every_document_is_tried() -> None:
    """A document that is added has facts here."""
    assert {path.stem for path in FOLDER.glob("*.xml")} == FACTS.keys()


@pytest.mark.parametrize(("name", "facts"), FACTS.items(), ids=FACTS)
def test_facts_of_each_board(name: str, facts: dict[str, Any]) -> None:
    """Values as they were printed, absences as absences, and nothing implausible."""
    gpu = gpu_of(name)
    absent = facts.get("absent", ())
    assert [field for field in absent if getattr(gpu, field) is not None] == []
    wanted = {field: _rows(value) for field, value in facts.items() if field != "absent"}
    assert {field: getattr(gpu, field) for field in wanted} == wanted
    answer = answer_of(name)
    assert (answer.rejected, answer.problems) == ({}, ())
    assert len(gpu.throttle_active or ()) == 9


def _rows(value: Any) -> Any:
    """A value as a field has it, whose rows are tuples."""
    return tuple(map(_rows, value)) if isinstance(value, list) else value


def test_processes_of_each_board() -> None:
    """By kind, with their memory and their instance."""
    told = {
        name: [(p.kind, (p.used_memory_bytes or 0) // MIB, p.gpu_instance) for p in found]
        for name in FACTS
        if (found := gpu_of(name).processes)
    }
    assert told["h100_mig_590"] == [
        ("compute", 2296, 2),
        ("compute", 1272, 2),
        ("compute", 7484, 2),
    ]
    assert told["t4_515"] == [("graphics", 22, None), ("compute", 1005, None)]
    assert [kind for kind, _, _ in told["rtx_2080_super_595"]] == [
        "graphics",
        "graphics",
        "compute",
        "compute",
    ]


@pytest.mark.parametrize("name", FACTS)
def test_a_document_cut_anywhere_gives_the_whole_gpu_or_none(name: str) -> None:
    """Thirty places, and each gives what is true or nothing."""
    text = (FOLDER / f"{name}.xml").read_text("utf-8")
    gpus = parse_document(read(text)).gpus
    for place in range(0, len(text), max(1, len(text) // 30)):
        assert parse_document(read(text[:place])).gpus in ((), gpus)
