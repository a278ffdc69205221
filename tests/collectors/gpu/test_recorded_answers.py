"""What real nvidia-smi printed beside its documents: columns, lists, tables and errors."""

import pytest

from exporter.collectors.gpu.backend import GpuProblem
from exporter.collectors.gpu.smi.fields import absence, number
from exporter.collectors.gpu.smi.output import (
    failed_handles,
    needs_names,
    parse_document,
    parse_list,
    reason_of_failure,
)
from tests.collectors.gpu.smi_documents import read
from tests.collectors.gpu.test_recorded_documents import FOLDER, MIB, gpu_of

REASONS = {
    "driver_not_loaded.txt": "driver_not_loaded",
    "gpu_lost.txt": "gpu_lost",
    "no_devices.txt": "no_devices",
    "version_mismatch.txt": "version_mismatch",
}
COLUMNS = {
    "memory.total [MiB]": ("memory_total_bytes", MIB),
    "memory.reserved [MiB]": ("memory_reserved_bytes", MIB),
    "memory.used [MiB]": ("memory_used_bytes", MIB),
    "memory.free [MiB]": ("memory_free_bytes", MIB),
    "temperature.gpu": ("temperature_celsius", 1),
    "temperature.gpu.tlimit": ("thermal_margin_celsius", 1),
    "temperature.memory": ("memory_temperature_celsius", 1),
    "enforced.power.limit [W]": ("power_limit_watts", 1),
    "pcie.link.gen.current": ("pcie_link_generation", 1),
    "pcie.link.width.max": ("pcie_link_width_max", 1),
}
"""Columns that were queried right after a document, and the field each must be."""

MOVED = {("h100_mig_590", "memory_temperature_celsius"): 1}
"""What was another value by then."""

WORDS = {
    "gb10_memory.csv": ["not_supported"] * 3 + [None] * 3,
    "h100_requires_reset.csv": [None, "reset_required", "reset_required", None],
    "mig_in_container.csv": [None, *["no_permission"] * 3],
}
"""Why each cell of a row is no value."""


def _row(name: str) -> dict[str, str]:
    heading, row = (FOLDER / name).read_text("utf-8").splitlines()
    return dict(zip(heading.split(", "), row.split(", "), strict=True))


def test_every_answer_is_tried() -> None:
    """An answer that is added is tried here."""
    compared = {f"{path.stem}.csv" for path in FOLDER.glob("*.xml")}
    others = {path.name for path in FOLDER.iterdir() if path.suffix != ".xml"} - compared
    assert others == {*REASONS, *WORDS, "h100_mig_590.list.txt", "h100x8_565_table.txt"}


@pytest.mark.parametrize("name", ["h100_mig_590", "l40s_595", "rtx_2080_super_595"])
def test_columns_agree_with_the_document(name: str) -> None:
    """What the same nvidia-smi printed as columns is what we read of its document."""
    gpu, row = gpu_of(name), _row(f"{name}.csv")
    assert row.keys() == COLUMNS.keys()
    for column, (field, unit) in COLUMNS.items():
        ours, told = getattr(gpu, field), number(row[column])
        if told is None:
            assert (ours, absence(row[column])) == (None, "not_supported"), column
        else:
            assert ours == (told - MOVED.get((name, field), 0)) * unit, column


@pytest.mark.parametrize(("name", "reasons"), WORDS.items(), ids=WORDS)
def test_words_in_place_of_a_value_are_reasons(name: str, reasons: list[str | None]) -> None:
    """A cell that has no value says why, as the elements of a document do."""
    assert [absence(cell) for cell in _row(name).values()] == reasons


def test_the_list_names_the_mig_devices_of_the_document() -> None:
    """Profile and UUID of each, which the document does not tell."""
    names = parse_list((FOLDER / "h100_mig_590.list.txt").read_text("utf-8"))
    document = read((FOLDER / "h100_mig_590.xml").read_text("utf-8"))
    (gpu,) = parse_document(document, names=names).gpus
    assert [(mig.profile, mig.gpu_instance) for mig in gpu.mig_instances or ()] == [
        ("3g.40gb", 2),
        ("2g.20gb", 3),
        ("1g.10gb", 9),
        ("1g.10gb", 10),
    ]
    assert needs_names(document, {})
    assert not needs_names(document, names)
    (unnamed,) = parse_document(document).gpus
    told = {(mig.profile, mig.mig_uuid) for mig in unnamed.mig_instances or ()}
    assert told == {("unknown", "")}


@pytest.mark.parametrize(("name", "reason"), REASONS.items(), ids=REASONS)
def test_errors_have_their_words(name: str, reason: str) -> None:
    """A sentence is told from the others, whatever was printed before it."""
    assert reason_of_failure(255, (FOLDER / name).read_text("utf-8")) == reason


def test_the_lost_gpu_is_known_by_place_and_address() -> None:
    """So that the others are asked for again without it."""
    assert list(failed_handles((FOLDER / "gpu_lost.txt").read_text("utf-8"))) == [
        GpuProblem("gpu_lost", index=1, pci_bus_id="0000:0a:00.0")
    ]


def test_what_is_no_document_is_no_gpu() -> None:
    """Tables, columns, lists and errors, whole or cut off: no GPU, no error."""
    for path in (path for path in FOLDER.iterdir() if path.suffix != ".xml"):
        text = path.read_text("utf-8")
        for end in range(0, len(text) + 1, 11):
            assert parse_document(read(text[:end])).gpus == ()
