"""What is read from the texts of nvidia-smi, and what is not."""

import pytest

from exporter.sources.gpu.smi_failures import lost_gpus, reason_of_failure
from exporter.sources.gpu.smi_fields import COLUMNS, absence, number, whole
from exporter.sources.gpu.smi_output import IDENTITY, NAME, architecture_of, parse_apps, parse_gpus

FIELDS = (*IDENTITY, "temperature.gpu", "power.draw", "memory.used", NAME)
ROW = "0, GPU-a, 550.1, 41, 71.25, 512, NVIDIA H100\n"
SPELLINGS = (
    "[N/A]",
    "N/A",
    "[Not Supported]",
    "[Unknown Error]",
    "[Insufficient Permissions]",
    "ERR!",
    "Unknown Error",
    "[Requested functionality has been deprecated]",
    "[No data]",
    "[Not Found]",
    "",
)


def test_a_row_becomes_a_gpu() -> None:
    """Numbers in base units, the name as it is."""
    (gpu,) = parse_gpus(ROW, FIELDS).gpus
    assert (gpu.index, gpu.uuid, gpu.name) == (0, "GPU-a", "NVIDIA H100")
    assert (gpu.temperature_celsius, gpu.power_draw_watts) == (41, 71.25)
    assert gpu.memory_used_bytes == 512 * 1024 * 1024


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.query))
def test_no_spelling_of_absence_is_a_value(column: object, spelling: str) -> None:
    """Whatever column it stands in: never 0, never a shift, always a reason."""
    fields = (*IDENTITY, *(each.query for each in COLUMNS), NAME)
    cells = {"index": "0", "uuid": "GPU-a", "driver_version": "550.1", NAME: "H100"}
    row = ", ".join(cells.get(name, spelling) for name in fields)
    answer = parse_gpus(row + "\n", fields)
    (gpu,) = answer.gpus
    field = column.field  # type: ignore[attr-defined] # parametrised with columns
    assert getattr(gpu, field) is None
    assert f"gpu0.{field}" in {missing.field for missing in answer.missing}


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("71.25", 71.25),
        ("71,25", 71.25),
        ("71.25 W", 71.25),
        ("100 %", 100),
        ("-3", -3),
        ("0", 0),
        ("1e400", None),
        ("nan", None),
        ("4 5", None),
        ("[N/A]", None),
        ("٤", None),
    ],
)
def test_numbers_of_cells(cell: str, value: float | None) -> None:
    """Units and decimal commas are tolerated, everything else is no number."""
    assert number(cell) == value


def test_a_decimal_comma_moves_no_column() -> None:
    """Columns are parted by a comma and a blank."""
    (gpu,) = parse_gpus(ROW.replace("71.25", "71,25"), FIELDS).gpus
    assert (gpu.power_draw_watts, gpu.name) == (71.25, "NVIDIA H100")


@pytest.mark.parametrize("name", ["A, B, C", 'say "hi"', "x" * 10000, "caf\ufffd", "a\0b"])
def test_a_hostile_name_moves_no_column(name: str) -> None:
    """The name is asked for last, so that whatever it holds shifts nothing."""
    (gpu,) = parse_gpus(ROW.replace("NVIDIA H100", name), FIELDS).gpus
    assert gpu.temperature_celsius == 41
    assert gpu.name == name.replace("\0", "")[:256]


def test_line_ends_of_windows() -> None:
    """CR LF is read as a line end."""
    assert parse_gpus(ROW.replace("\n", "\r\n"), FIELDS).gpus[0].name == "NVIDIA H100"


def test_a_line_that_was_cut_off_is_no_gpu() -> None:
    """Wherever the output ends, no GPU has half a name or another's value."""
    text = ROW + ROW.replace("0, GPU-a", "1, GPU-b")
    whole_gpus = {gpu.uuid: gpu for gpu in parse_gpus(text, FIELDS).gpus}
    for end in range(len(text)):
        for gpu in parse_gpus(text[:end], FIELDS).gpus:
            assert gpu == whole_gpus[gpu.uuid]


LOST = "Unable to determine the device handle for GPU"
SENTENCES: list[tuple[str, int | None, str | None]] = [
    ("1: 0000:0A:00.0: GPU is lost.  Reboot the system to recover it", 1, "0000:0a:00.0"),
    (" 0000:0A:00.0: Unknown Error", None, "0000:0a:00.0"),
    ("3: Unknown Error", 3, None),
    (" 00000000:CA:00.0: GPU is lost.", None, "0000:ca:00.0"),
]


@pytest.mark.parametrize(("line", "index", "bus"), SENTENCES)
def test_a_lost_gpu_is_named_by_a_sentence(line: str, index: int | None, bus: str | None) -> None:
    """Rows before it are good; the lost one is told apart by place or address."""
    answer = parse_gpus(f"{ROW}{LOST}{line}\n", FIELDS)
    assert [gpu.uuid for gpu in answer.gpus] == ["GPU-a"]
    assert [(p.index, p.pci_bus_id, p.reason) for p in answer.problems] == [
        (index, bus, "gpu_lost")
    ]


def test_sentences_without_a_gpu_name_nobody() -> None:
    """No GPU is invented from the text of an error."""
    for line in ("No devices were found", "GPU access blocked", "Unable to determine", "GPU", ""):
        assert list(lost_gpus(line)) == []
        assert not parse_gpus(line + "\n", FIELDS).gpus


def test_a_gpu_that_requires_a_reset_is_a_problem() -> None:
    """As it is for NVML; its zeros are not believed."""
    answer = parse_gpus("0, GPU-a, 550.1, [GPU requires reset], [N/A], 0, H100\n", FIELDS)
    assert not answer.gpus
    assert [(p.uuid, p.reason) for p in answer.problems] == [("GPU-a", "reset_required")]


def test_two_rows_of_the_same_uuid() -> None:
    """The second is a problem, and counted."""
    answer = parse_gpus(ROW + ROW.replace("0, ", "1, ", 1), FIELDS)
    assert len(answer.gpus) == 1
    assert [(p.index, p.reason) for p in answer.problems] == [(1, "duplicate_uuid")]
    assert answer.rejected == {"uuid": 1}


def test_impossible_values_are_left_out_and_counted() -> None:
    """A terawatt is no power."""
    answer = parse_gpus(ROW.replace("71.25", "4294967.29"), FIELDS)
    assert answer.gpus[0].power_draw_watts is None
    assert answer.rejected == {"power_draw_watts": 1}


REASONS = [
    (0, "", None),
    (14, "WARNING: infoROM is corrupted at gpu 0000:0A:00.0", None),
    (1, "", "unknown_error"),
    (2, "Invalid combination of input arguments.", "invalid_argument"),
    (4, "", "no_permission"),
    (6, "No devices were found", "no_devices"),
    (255, "No devices were found", "no_devices"),
    (8, "", "insufficient_power"),
    (9, "couldn't communicate with the NVIDIA driver", "driver_not_loaded"),
    (12, "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system", "no_library"),
    (15, "GPU is lost", "gpu_lost"),
    (18, "", "version_mismatch"),
    (255, "Failed to initialize NVML: Driver/library version mismatch", "version_mismatch"),
    (255, "Failed to initialize NVML: GPU access blocked by the operating system",
     "blocked_by_system"),
    (127, "", "no_program"),
    (255, "", "unknown_error"),
    (-11, "", "crashed"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "reason"), REASONS)
def test_failures_are_told_apart(code: int, text: str, reason: str | None) -> None:
    """By their sentence first, by their exit code where there is none."""
    assert reason_of_failure(code, text) == reason


def test_processes_by_gpu() -> None:
    """Unknown memory is unknown; a GPU whose processes may not be seen is not an idle one."""
    denied = ", ".join(["[Insufficient Permissions]"] * 2)
    apps = parse_apps(f"GPU-a, 100, 512\nGPU-a, 101, [N/A]\nGPU-b, {denied}\nrubbish\nGPU-c, 7")
    assert apps["GPU-b"] is None
    assert apps.keys() == {"GPU-a", "GPU-b"}
    said = [(p.pid, p.kind, p.used_memory_bytes) for p in apps["GPU-a"] or ()]
    assert said == [(100, "compute", 512 * 1024 * 1024), (101, "compute", None)]


def test_architectures_by_capability() -> None:
    """The generation of a chip, or nothing for one that is not known yet."""
    said = [architecture_of(text) for text in ("9.0", "8.9", "8.6", "7.5", "7.0", "99.1", "")]
    assert said == ["Hopper", "Ada", "Ampere", "Turing", "Volta", None, None]


def test_whole_numbers_and_absence() -> None:
    """Counts are whole, and a value is not taken for an absence."""
    assert whole("12") == 12
    assert absence("0") is None
    assert absence("[GPU requires reset]") == "reset_required"
