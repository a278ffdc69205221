"""What is read from the texts of nvidia-smi, and what is not."""

from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.gpu.backend import GpuAnswer
from exporter.collectors.gpu.smi.fields import CELLS, absence, number
from exporter.collectors.gpu.smi.output import (
    failed_handles,
    parse_document,
    reason_of_failure,
)
from exporter.collectors.gpu.values import Gpu
from exporter.toml import tomllib
from tests.collectors.gpu.smi_documents import gpu_xml, log_xml, read

FAILURES = tomllib.loads(Path(__file__).with_name("smi_failures.toml").read_text("utf-8"))
ABSENT = (
    "[N/A]",
    "N/A",
    "[Not Supported]",
    "[Insufficient Permissions]",
    "Requested functionality has been deprecated",
    "[No data]",
    "[Not Found]",
)


def parsed(*gpus: str) -> GpuAnswer:
    """The answer that a whole document of these GPUs gives."""
    return parse_document(read(log_xml(*gpus)))


def one(**cells: str) -> Gpu:
    """The GPU of a document of one."""
    (gpu,) = parsed(gpu_xml(0, **cells)).gpus
    return gpu


@pytest.mark.parametrize("spelling", ABSENT)
def test_no_spelling_of_absence_is_a_value(spelling: str) -> None:
    """Whatever element it stands in: never 0, always a reason."""
    for cell in CELLS:
        for path in cell.paths:
            answer = parsed(gpu_xml(0, **{path.replace("/", "__"): spelling}))
            (gpu,) = answer.gpus
            assert getattr(gpu, cell.field) is None, path
            reasons = {missing.field: missing.reason for missing in answer.missing}
            assert reasons[f"gpu0.{cell.field}"] in {absence(spelling), "old_driver"}, path


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("71.25", 71.25),
        ("71,25", 71.25),
        ("71.25 W", 71.25),
        ("100 %", 100),
        ("16x", 16),
        ("96 bank(s)", 96),
        ("-3 C", -3),
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


def test_a_group_that_is_not_supported_says_so_for_what_it_holds() -> None:
    """`<remapped_rows>N/A</remapped_rows>` is the reason of each field in it."""
    answer = parsed(gpu_xml(0, remapped_rows="N/A"))
    reasons = {missing.field: missing.reason for missing in answer.missing}
    assert reasons["gpu0.row_remap_pending"] == "not_supported"
    assert reasons["gpu0.serial"] == "old_driver"


def test_older_names_of_elements() -> None:
    """What drivers 390 to 525 call differently."""
    gpu = one(
        power_readings__power_draw="26.78 W",
        power_readings__power_limit="70.00 W",
        power_readings__enforced_power_limit="69.00 W",
        clocks_throttle_reasons__clocks_throttle_reason_sw_power_cap="Active",
        gpu_part_number="900-2G183-0000-001",
        retired_pages__pending_blacklist="Yes",
        ecc_errors__volatile__single_bit__total="3",
    )
    assert gpu.power_draw_watts == 26.78
    assert gpu.power_limit_watts == 69
    assert gpu.power_limit_range_watts == (("requested", 70.0),)
    assert dict(gpu.throttle_active or ()) == {"sw_power_cap": 1}
    assert gpu.board_part_number == "900-2G183-0000-001"
    assert gpu.retired_pages_pending is True
    assert gpu.ecc_errors_total == (("corrected", "volatile", 3.0),)


def test_the_part_number_of_a_chip_is_not_that_of_a_board() -> None:
    """Newer drivers print both under names of their own."""
    assert one(board_part_number="N/A", gpu_part_number="2860-775-A1").board_part_number is None


def test_power_is_the_average_where_there_is_one() -> None:
    """As NVML reports it: else it is the last sample."""
    names = ("average_power_draw", "instant_power_draw")
    for said, watts in ((("71.2 W", "80 W"), 71.2), (("N/A", "39.32 W"), 39.32)):
        cells = {
            f"gpu_power_readings__{name}": text for name, text in zip(names, said, strict=True)
        }
        assert one(**cells).power_draw_watts == watts


def test_ecc_errors_are_summed_over_places() -> None:
    """Parity and SEC-DED of SRAM, and DRAM; a sum that lacks a part is no sum."""
    volatile = "<dram_uncorrectable>4</dram_uncorrectable>"
    both = f"{volatile}<sram_uncorrectable_parity>1</sram_uncorrectable_parity>"
    newer = f"{both}<sram_uncorrectable_secded>2</sram_uncorrectable_secded>"
    older = f"{volatile}<sram_uncorrectable>5</sram_uncorrectable>"
    assert one(ecc_errors__volatile=newer).ecc_errors_total == (("uncorrected", "volatile", 7.0),)
    assert one(ecc_errors__volatile=older).ecc_errors_total == (("uncorrected", "volatile", 9.0),)
    assert one(ecc_errors__volatile=both).ecc_errors_total is None


def test_versions_are_read_under_their_new_names() -> None:
    """Drivers from 610 on tell those of the kernel-mode and of the user-mode driver."""
    old = "<driver_version>550.1</driver_version>"
    new = "<kmd_version>615.23</kmd_version><cuda_umd_version>13.4</cuda_umd_version>"
    found = parse_document(read(log_xml(gpu_xml(0)).replace(old, new)))
    assert (found.driver_version, found.cuda_version) == ("615.23", "13.4")


def test_the_use_of_a_gpu_in_mig_mode_is_nobodys() -> None:
    """Whatever is printed: utilization of the whole is absent, not 0."""
    cells = {"utilization__gpu_util": "0 %", "utilization__memory_util": "0 %"}
    gpu = one(mig_mode__current_mig="Enabled", **cells)
    assert gpu.utilization_percent is None
    assert gpu.memory_controller_utilization_percent is None
    assert one(mig_mode__current_mig="Disabled", **cells).utilization_percent == 0


def processes_of(*listed: str) -> Gpu:
    """A GPU with these processes, each as its elements."""
    return one(processes="".join(f"<process_info>{text}</process_info>" for text in listed))


def test_processes_of_a_gpu() -> None:
    """Kind by letters, unknown memory is unknown, instances where there are some."""
    gpu = processes_of(
        "<pid>100</pid><type>C</type><used_memory>512 MiB</used_memory>",
        "<pid>101</pid><type>M+C</type><used_memory>N/A</used_memory>",
        "<pid>102</pid><type>C+G</type>",
        "<pid>103</pid><type>G</type><gpu_instance_id>3</gpu_instance_id>"
        "<compute_instance_id>1</compute_instance_id>",
    )
    told = [(p.pid, p.kind, p.used_memory_bytes) for p in gpu.processes or ()]
    assert told == [
        (100, "compute", 512 * 1024 * 1024),
        (101, "mps", None),
        (102, "compute", None),
        (103, "graphics", None),
    ]
    last = (gpu.processes or ())[-1]
    assert (last.gpu_instance, last.compute_instance) == (3, 1)


@pytest.mark.parametrize(
    ("cells", "processes"),
    [
        ({}, None),
        ({"processes": "Insufficient Permissions"}, None),
        ({"processes": ""}, ()),
        ({"processes": "\n"}, ()),
    ],
)
def test_processes_that_cannot_be_seen_are_not_none(
    cells: dict[str, str], processes: tuple[()] | None
) -> None:
    """Without the list, or with a word in its place, nothing is known; an empty list says none."""
    assert one(**cells).processes == processes


@pytest.mark.parametrize("pid", ["0", "-1", "[Insufficient Permissions]", ""])
def test_a_process_without_a_pid_means_that_they_cannot_be_seen(pid: str) -> None:
    """The list is not known: neither empty nor of a process 0."""
    assert processes_of(f"<pid>{pid}</pid>", "<pid>7</pid>").processes is None


LOST = "Unable to determine the device handle for GPU"


@pytest.mark.parametrize("row", FAILURES["lost"], ids=lambda row: row["says"])
def test_a_gpu_that_cannot_be_opened_is_named_with_the_drivers_reason(row: dict[str, Any]) -> None:
    """By place or address; not every failing handle is a lost GPU."""
    found = failed_handles(f"x\n{LOST}{row['says']}\n")
    told = [(p.index, p.pci_bus_id, p.reason) for p in found]
    assert told == [(row.get("index"), row.get("bus"), row["reason"])]


def test_sentences_without_a_gpu_name_nobody() -> None:
    """No GPU is invented from the text of an error."""
    for line in ("No devices were found", "GPU access blocked", "Unable to determine", "GPU", ""):
        assert list(failed_handles(line)) == []


@pytest.mark.parametrize(
    ("element", "text", "reason"),
    [
        ("temperature__gpu_temp", "GPU requires reset", "reset_required"),
        ("serial", "[GPU is lost]", "gpu_lost"),
        ("temperature__gpu_temp", "[Unknown Error]", "unknown_error"),
        ("fb_memory_usage__total", "Unknown Error", "unknown_error"),
        ("utilization__gpu_util", "ERR!", "unknown_error"),
    ],
)
def test_a_gpu_that_does_not_work_is_a_problem(element: str, text: str, reason: str) -> None:
    """As it is for NVML; what else it printed is not taken."""
    answer = parsed(gpu_xml(0, **{element: text}))
    assert not answer.gpus
    assert [(p.uuid, p.pci_bus_id, p.reason) for p in answer.problems] == [
        ("GPU-0", "0000:00:00.0", reason)
    ]


@pytest.mark.parametrize("names", [("uuid",), ("product_name",), ("uuid", "product_name")])
def test_a_gpu_that_is_lost_may_say_so_in_the_place_of_its_name(names: tuple[str, ...]) -> None:
    """It is lost, which is a fault at once, not a GPU without identity."""
    answer = parsed(gpu_xml(0, **dict.fromkeys(names, "[GPU is lost]")))
    assert [(p.pci_bus_id, p.reason) for p in answer.problems] == [("0000:00:00.0", "gpu_lost")]
    assert answer.rejected == {}


def test_an_error_of_a_lesser_value_costs_that_value() -> None:
    """A fan that answers «Unknown Error» does not take the GPU with it."""
    assert one(fan_speed="[Unknown Error]").fan_speed_percent is None


def test_two_gpus_of_the_same_uuid() -> None:
    """The second is a problem, and counted; one without UUID belongs to nobody."""
    answer = parsed(gpu_xml(0), gpu_xml(1, uuid="GPU-0"), gpu_xml(2, uuid="N/A"))
    assert len(answer.gpus) == 1
    assert [(p.index, p.reason) for p in answer.problems] == [
        (1, "duplicate_uuid"),
        (2, "no_identity"),
    ]
    assert answer.rejected == {"uuid": 1, "identity": 1}


def test_the_uuid_of_an_integrated_gpu_has_no_prefix() -> None:
    """Boards with Orin and Thor print theirs as it is; another text is no identity."""
    uuid = "54d0709b-558d-5a59-9c65-0c5fc14a21a4"
    answer = parsed(gpu_xml(0, uuid=uuid, product_name="NVIDIA Thor"), gpu_xml(1, uuid="54d0709b"))
    assert [gpu.uuid for gpu in answer.gpus] == [uuid]
    assert [(p.index, p.reason) for p in answer.problems] == [(1, "no_identity")]


@pytest.mark.parametrize(
    ("required", "recommended", "action"),
    [("Yes", "N/A", "reset"), ("No", "Yes", "drain_and_reset"), ("No", "No", None)],
)
def test_older_drivers_tell_by_two_elements_that_a_reset_is_due(
    required: str, recommended: str, action: str | None
) -> None:
    """Two times no excludes no reboot, which they cannot print."""
    gpu = one(
        gpu_reset_status__reset_required=required,
        gpu_reset_status__drain_and_reset_recommended=recommended,
    )
    assert gpu.recovery_action == action


def test_implausible_values_are_left_out_and_counted() -> None:
    """A terawatt is no power."""
    answer = parsed(gpu_xml(0, gpu_power_readings__power_draw="4294967.29 W"))
    assert answer.gpus[0].power_draw_watts is None
    assert answer.rejected == {"power_draw_watts": 1}


def test_places_of_gpus_that_were_chosen_by_address() -> None:
    """A GPU keeps its index when another is left out."""
    document = read(log_xml(gpu_xml(2), gpu_xml(5)))
    indexes = {"0000:02:00.0": 1, "0000:05:00.0": 7}
    assert [gpu.index for gpu in parse_document(document, indexes).gpus] == [1, 7]


@pytest.mark.parametrize(("code", "text", "reason"), FAILURES["ended"])
def test_failures_are_told_apart(code: int, text: str, reason: str) -> None:
    """By their sentence first, by their exit code where there is none; a good run is none."""
    assert reason_of_failure(code, text) == (reason or None)
