"""Recordings of nvidia-smi on real machines, where the variable FIELD_DATA_DIR leads to them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.model.gpu import Gpu
from exporter.sources.gpu.smi_failures import reason_of_failure
from exporter.sources.gpu.smi_fields import COLUMNS, Column, absence
from exporter.sources.gpu.smi_output import APP_FIELDS, IDENTITY, NAME, parse_apps, parse_gpus

FIELDS = (*IDENTITY, *(column.query for column in COLUMNS), NAME)
KINDS = ("smi_captures", "smi_csv", "smi_errors", "smi_q", "smi_table", "smi_xml")
REASONS = {
    "driver_not_loaded": "driver_not_loaded",
    "gpu1_lost": "gpu_lost",
    "no_devices": "no_devices",
    "version_mismatch": "version_mismatch",
}
CUTS = 200


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


def _sections(text: str, query: str) -> Iterator[list[dict[str, str]]]:
    """The rows of each recorded query, by column name."""
    for section in re.findall(rf"--query-{query}=\S+ --format=csv\n#+\n(.*?)\n\n", text, re.DOTALL):
        heading, *rows = section.splitlines()
        names = [re.sub(r" \[.*\]$", "", name) for name in heading.split(", ")]
        yield [dict(zip(names, row.split(", "), strict=True)) for row in rows if row]


def _as_asked(rows: list[dict[str, str]], fields: tuple[str, ...]) -> str:
    """What the recorded nvidia-smi would have printed for our query."""
    lines = (", ".join(row.get(field, "[N/A]") for field in fields) for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _said(gpu: Gpu, column: Column) -> object:
    value = getattr(gpu, column.field)
    if column.labels and isinstance(value, tuple):
        return {(*row[:-1],): row[-1] for row in value}.get(column.labels)
    return value


def test_recorded_queries_say_what_was_recorded(recordings: list[Path]) -> None:
    """Every cell with a value is that value, every cell without is absent: never 0."""
    cells = 0
    for path in recordings:
        for rows in _sections(path.read_text("utf-8", "replace"), "gpu"):
            (gpu,) = parse_gpus(_as_asked(rows, FIELDS), FIELDS).gpus
            assert (gpu.name, gpu.uuid) == (rows[0]["name"], rows[0]["uuid"])
            for column in COLUMNS:
                cell, said = rows[0].get(column.query, "[N/A]"), _said(gpu, column)
                if absence(cell) is not None:
                    assert said is None, (path.name, column.query)
                elif column.field not in (
                    "utilization_percent",
                    "memory_controller_utilization_percent",
                ):
                    assert said is not None, (path.name, column.query, cell)
                    cells += 1
    assert cells > 100


def test_recorded_processes(recordings: list[Path]) -> None:
    """Each recorded process is there with its memory."""
    found = 0
    for path in recordings:
        for rows in _sections(path.read_text("utf-8", "replace"), "compute-apps"):
            for processes in parse_apps(_as_asked(rows, APP_FIELDS)).values():
                assert [str(p.pid) for p in processes or ()] == [row["pid"] for row in rows]
                assert all(process.used_memory_bytes for process in processes or ())
                found += len(processes or ())
    assert found


def test_errors_have_their_words(recordings: list[Path]) -> None:
    """Sentences that were recorded are told apart."""
    for path in recordings:
        for beginning, reason in REASONS.items():
            if path.name.startswith(beginning):
                assert reason_of_failure(255, path.read_text("utf-8", "replace")) == reason


def test_no_text_is_a_gpu_that_it_does_not_name(recordings: list[Path]) -> None:
    """Tables, logs, XML, errors, other queries, whole and cut off: no GPU, no error."""
    for path in recordings:
        text = path.read_bytes()[:40_000].decode("utf-8", "replace")
        for place in range(0, len(text), max(1, len(text) // CUTS)):
            assert not parse_gpus(text[: place + 1], FIELDS).gpus
            parse_apps(text[: place + 1])


def test_recorded_answers_cut_anywhere_invent_nothing(recordings: list[Path]) -> None:
    """An answer that breaks off gives whole GPUs or none."""
    for path in recordings:
        for rows in _sections(path.read_text("utf-8", "replace"), "gpu"):
            text = _as_asked(rows, FIELDS)
            whole = parse_gpus(text, FIELDS).gpus
            for place in range(0, len(text), max(1, len(text) // CUTS)):
                assert parse_gpus(text[:place], FIELDS).gpus in ((), whole)
