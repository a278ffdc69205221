"""Documents of real nvidia-smi: what is read from each, and that nothing is invented."""

from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.gpu.backend import GpuAnswer
from exporter.collectors.gpu.smi.output import parse_document
from exporter.collectors.gpu.values import Gpu
from tests.collectors.gpu.smi_documents import read

FOLDER = Path(__file__).resolve().parents[2] / "captures/nvidia_smi"
MIB = 1024 * 1024
FACTS: dict[str, dict[str, Any]] = {
    "h100_mig_590": {
        "architecture": "Hopper",
        "memory_used_bytes": 11125 * MIB,
        "utilization_percent": None,
        "mig_enabled": True,
        "power_draw_watts": 432.21,
        "power_average_watts": 432.21,
        "thermal_margin_celsius": 24.0,
        "temperature_threshold_celsius": None,
        "pcie_replays_total": 9,
        "remapped_rows_total": None,
        "recovery_action": "none",
        "fabric_state": "completed",
        "gsp_enabled": True,
        "board_part_number": "692-2G520-0200-000",
    },
    "h200_580": {
        "architecture": "Hopper",
        "memory_used_bytes": 21619 * MIB,
        "utilization_percent": 100.0,
        "power_draw_watts": 693.08,
        "power_limit_watts": 700.0,
        "thermal_margin_celsius": 25.0,
        "memory_temperature_celsius": 52.0,
        "fabric_state": None,
        "nvlink_up": None,
        "recovery_action": "none",
        "gsp_enabled": True,
    },
    "l40s_595": {"architecture": "Ada", "ecc_enabled": True, "fabric_state": None},
    "rtx_2080_super_595": {
        "architecture": "Turing",
        "power_draw_watts": 98.55,
        "power_average_watts": None,
        "fan_speed_percent": (("0", 38.0),),
        "ecc_enabled": None,
        "ecc_errors_total": None,
        "memory_temperature_celsius": None,
        "performance_state": 2,
        "serial": None,
        "board_part_number": None,
    },
    "l4_565": {
        "memory_temperature_celsius": None,
        "row_remap_banks": (
            ("max", 96),
            ("high", 0),
            ("partial", 0),
            ("low", 0),
            ("none", 0),
        ),
        "sram_threshold_exceeded": False,
    },
    "a10g_535": {"power_draw_watts": 25.58, "row_remap_pending": False},
    "t4_515": {
        "power_draw_watts": 26.78,
        "power_limit_watts": 70.0,
        "ecc_errors_total": (
            ("corrected", "volatile", 0.0),
            ("uncorrected", "volatile", 0.0),
            ("corrected", "aggregate", 0.0),
            ("uncorrected", "aggregate", 0.0),
        ),
        "retired_pages_total": (("single_bit", 0), ("double_bit", 0)),
        "retired_pages_pending": False,
        "temperature_threshold_celsius": (
            ("shutdown", 96.0),
            ("slowdown", 93.0),
            ("max_operating", 85.0),
        ),
        "pcie_link_width": 8,
        "pcie_link_width_max": 16,
    },
}


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
    assert {field: getattr(gpu, field) for field in facts} == facts
    answer = answer_of(name)
    assert (answer.rejected, answer.problems) == ({}, ())
    assert len(gpu.throttle_active or ()) == 9


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
    """Three hundred places, and each gives what is true or nothing."""
    text = (FOLDER / f"{name}.xml").read_text("utf-8")
    gpus = parse_document(read(text)).gpus
    for place in range(0, len(text), max(1, len(text) // 300)):
        assert parse_document(read(text[:place])).gpus in ((), gpus)
