"""Recordings of nvidia-smi on real machines, where the variable FIELD_DATA_DIR leads to them."""

import os
import re
from pathlib import Path

import pytest

from exporter.model.gpu import Gpu
from exporter.sources.gpu.smi_fields import absence, number
from exporter.sources.gpu.smi_output import parse_document, parse_list, reason_of_failure
from tests.sources.gpu.smi_documents import read
from tests.sources.gpu.smi_log import xml_of_log

KINDS = ("smi_captures", "smi_csv", "smi_errors", "smi_q", "smi_table", "smi_xml")
REASONS = {
    "driver_not_loaded": "driver_not_loaded",
    "gpu1_lost": "gpu_lost",
    "no_devices": "no_devices",
    "version_mismatch": "version_mismatch",
}
CUTS = 200
MIB = 1024 * 1024
QUERIED = {
    "memory.total": ("memory_total_bytes", MIB),
    "memory.used": ("memory_used_bytes", MIB),
    "memory.free": ("memory_free_bytes", MIB),
    "memory.reserved": ("memory_reserved_bytes", MIB),
    "temperature.gpu": ("temperature_celsius", 1),
    "temperature.memory": ("memory_temperature_celsius", 1),
    "temperature.gpu.tlimit": ("thermal_margin_celsius", 1),
    "enforced.power.limit": ("power_limit_watts", 1),
    "pcie.link.gen.current": ("pcie_link_generation", 1),
    "pcie.link.width.max": ("pcie_link_width_max", 1),
}
"""Columns of the recorded queries, and the field each must be."""

MOVING = {
    "memory.used": 2**34,
    "memory.free": 2**34,
    "temperature.gpu": 8,
    "temperature.memory": 8,
    "temperature.gpu.tlimit": 8,
    "pcie.link.gen.current": 4,
}
"""How far a value may have moved between two programs of one recording."""


@pytest.fixture(scope="module")
def recordings() -> list[Path]:
    """All recorded texts of nvidia-smi."""
    folder = os.environ.get("FIELD_DATA_DIR")
    if not folder:
        pytest.skip("FIELD_DATA_DIR with recordings of nvidia-smi is not set")
    found = sorted(path for kind in KINDS for path in Path(folder, kind).glob("*"))
    if not found:
        pytest.skip("FIELD_DATA_DIR has no recordings of nvidia-smi")
    return found


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _documents(path: Path) -> list[str]:
    """The documents of a recording; those recorded as text written as the document they were."""
    text = _text(path)
    if path.suffix == ".xml":
        return [text]
    logs = re.findall(r"=+NVSMI LOG=+\n(.*?)(?:\n#####|\Z)", text, re.DOTALL)
    return [xml_of_log(log) for log in logs]


def _queries(path: Path) -> list[dict[str, str]]:
    """The first row of each recorded query of GPUs, by column name."""
    found = re.findall(r"--query-gpu=\S+ --format=csv\n#+\n(.*?)\n(.*?)\n", _text(path))
    headings = (
        [re.sub(r" \[.*\]$", "", name) for name in heading.split(", ")] for heading, _ in found
    )
    return [
        dict(zip(names, row.split(", "), strict=True))
        for names, (_, row) in zip(headings, found, strict=True)
    ]  # fmt: skip


def test_recorded_documents_are_read(recordings: list[Path]) -> None:
    """Every document gives GPUs with the values that every board reports."""
    found = 0
    for path in recordings:
        for text in _documents(path):
            document = read(text)
            assert document.is_whole, (path.name, document.problem)
            answer = parse_document(document, names=parse_list(_text(path)))
            assert answer.gpus, path.name
            assert not answer.rejected, (path.name, answer.rejected)
            assert not answer.problems, path.name
            assert answer.driver_version
            for gpu in answer.gpus:
                _assert_core(gpu, path)
                found += 1
    assert found >= 9


def _assert_core(gpu: Gpu, path: Path) -> None:
    core = (gpu.architecture, gpu.pci_bus_id, gpu.memory_total_bytes, gpu.temperature_celsius)
    assert None not in core, path.name
    assert gpu.processes is not None, path.name
    assert gpu.throttle_active is not None, path.name
    assert len(gpu.throttle_active) == 9, path.name
    garbage = [name for name in Gpu.__dataclass_fields__ if getattr(gpu, name) == ()]
    assert set(garbage) <= {"processes", "mig_instances"}, path.name


def test_recorded_queries_agree_with_the_documents(recordings: list[Path]) -> None:
    """What the same nvidia-smi printed as columns is what we read of its document."""
    compared = 0
    for path in recordings:
        rows = _queries(path)
        for row, text in zip(rows, _documents(path), strict=bool(rows)):
            (gpu,) = parse_document(read(text)).gpus
            for column, (field, unit) in QUERIED.items():
                told, ours = number(row[column]), getattr(gpu, field)
                if absence(row[column]) is not None:
                    assert ours is None, (path.name, column)
                    continue
                assert told is not None
                assert ours is not None, (path.name, column)
                assert abs(told * unit - ours) <= MOVING.get(column, 0), (path.name, column)
                compared += 1
    assert compared > 40


def test_errors_have_their_words(recordings: list[Path]) -> None:
    """Sentences that were recorded are told apart."""
    told = 0
    for path in recordings:
        for beginning, reason in REASONS.items():
            if path.name.startswith(beginning):
                assert reason_of_failure(255, _text(path)) == reason
                told += 1
    assert told == len(REASONS)


def test_recordings_cut_anywhere_invent_nothing(recordings: list[Path]) -> None:
    """Tables, logs, errors, documents, whole and cut off: whole GPUs or none, and no error."""
    for path in recordings:
        for text in _documents(path) or [_text(path)[:40_000]]:
            gpus = parse_document(read(text)).gpus
            for place in range(0, len(text), max(1, len(text) // CUTS)):
                assert parse_document(read(text[:place])).gpus in ((), gpus)
