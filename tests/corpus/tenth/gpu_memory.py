"""Incidents of the memory of cards: rows, pages, SRAM, errors that were and were not contained."""

from tests.corpus.fifth.nodes import v100s
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, waits
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    GONE,
    HOUR,
    inference_l40s,
    job_starts,
    pod_of_a100,
    pod_of_b200,
    pod_of_h100,
    pod_of_h200,
    reboots,
)
from tests.corpus.words import DOUBLE_BIT, NOTHING, RESET

ROW = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
MEMORY = (
    *("gpu_ecc_uncorrected", "gpu_memory_contained", "gpu_row_remap_pending"),
    *("gpu_reset_required", "gpu_recovery_required", *GONE),
)


@incident(
    "gpu_memory_contained@*4e*",
    root="gpu_memory_contained@*4e*|gpu_ecc_uncorrected@*4e*",
    may=MEMORY,
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    node=pod_of_h100,
)
def rank_reads_a_bad_row_and_dies(node: Story) -> None:
    """One rank is killed by a contained error, the other seven wait; the row is remapped later."""
    node.wait(300, 60)
    node.xid("4e", 48, "", pid="4713", name="python3")
    node.xid("4e", 63, ROW.format(0x2B0A7C), pid="4713", name="python3")
    node.xid("4e", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4713", name="python3")
    node.gpu("4e", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("4e", row_remap_pending=True, row_remap_banks={"max": 639, "high": 1})
    node.gpu("4e", processes=[], utilization_percent=0.0, power_draw_watts=112.0)
    node.put("Workloads", "clients", **{"4713": None})
    waits(node, *[bus for bus in node.bus_addresses if bus != "4e"])
    node.wait(620, 20)
    node.job_ends()
    node.wait(HOUR, 60)
    is_reset(node, "4e")
    node.gpu("4e", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("4e", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(HOUR, 60)


@incident(
    "gpu_memory_uncontained@*b2*",
    root="gpu_memory_uncontained@*b2*|gpu_ecc_uncorrected@*b2*",
    may=(*MEMORY, "gpu_memory_contained"),
    never=("gpu_row_remap_failed", "gpu_lost"),
    unfit=True,
    fit_at_end=True,
    node=pod_of_a100,
)
def poison_escapes_on_one_a100(node: Story) -> None:
    """An error reaches all work of a card; the operator drains the node and reboots it."""
    node.wait(240, 60)
    node.xid("b2", 48, DOUBLE_BIT, pid="4716", name="python")
    node.xid("b2", 63, ROW.format(0x4410), pid="4716", name="python")
    node.xid(
        "b2", 95, "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No", pid="4716", name="python"
    )
    node.gpu("b2", ecc_errors_total={"uncorrected": {"volatile": 2, "aggregate": 2}})
    node.gpu("b2", row_remap_pending=True, row_remap_banks={"max": 639, "high": 1})
    node.wait(30)
    node.xid("b2", 45, "Ch 00000008", pid="4716", name="python")
    node.job_ends()
    node.wait(1800, 60)
    reboots(node, pod_of_a100)
    node.gpu("b2", remapped_rows_total={"uncorrected": 1}, row_remap_banks={"max": 639, "high": 1})
    node.gpu("b2", ecc_errors_total={"uncorrected": {"aggregate": 2}})
    node.wait(HOUR, 60)


@incident(
    "gpu_row_remap_failed@*c2*",
    root="gpu_row_remap_failed@*c2*|gpu_ecc_uncorrected@*c2*",
    may=(*MEMORY, "gpu_memory_uncontained", "gpu_row_remap_low", "gpu_ecc_corrected_rate"),
    unfit=True,
    lasts=("gpu_row_remap_failed@*c2*",),
    fit_at_end=False,
    node=pod_of_h200,
)
def bank_has_no_spare_row_left(node: Story) -> None:
    """The ninth bad row of a bank cannot be remapped: the card is to be replaced."""
    banks = {"max": 631, "high": 4, "partial": 3, "low": 1, "none": 1}
    node.gpu("c2", remapped_rows_total={"uncorrected": 11})
    node.gpu("c2", row_remap_banks={"max": 632, "high": 4, "partial": 3, "low": 1, "none": 0})
    node.wait(300, 60)
    node.xid("c2", 48, DOUBLE_BIT, pid="4717", name="python3")
    node.xid("c2", 64, "Failed to add remapping entry: row remapping resources exhausted")
    node.gpu("c2", row_remap_failed=True, row_remap_banks=banks)
    node.gpu("c2", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 12}})
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_row_remap_low@*9a*",
    may=("gpu_ecc_corrected_rate", "gpu_row_remap_pending"),
    never=("gpu_row_remap_failed", "gpu_ecc_uncorrected", "gpu_lost"),
    unfit=False,
    lasts=("gpu_row_remap_low@*9a*",),
    node=pod_of_a100,
)
def spare_rows_run_out_slowly(node: Story) -> None:
    """After months one bank of a card has hardly any spare rows; nothing has failed yet."""
    node.gpu("9a", remapped_rows_total={"corrected": 2, "uncorrected": 13})
    node.gpu("9a", row_remap_banks={"max": 629, "high": 7, "partial": 3, "low": 1, "none": 0})
    node.gpu("9a", ecc_errors_total={"uncorrected": {"aggregate": 13}})
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_sram_threshold@*3d*",
    root="gpu_sram_threshold@*3d*|gpu_ecc_uncorrected@*3d*",
    may=("gpu_ecc_uncorrected", "gpu_memory_contained", "gpu_recovery_required", *GONE),
    unfit=True,
    lasts=("gpu_sram_threshold@*3d*",),
    node=pod_of_h100,
)
def parity_errors_in_caches_add_up(node: Story) -> None:
    """Four uncorrectable errors of SRAM within a week: the driver's threshold is exceeded."""
    node.gpu("3d", ecc_errors_total={"uncorrected": {"aggregate": 4}})
    node.gpu("3d", sram_ecc_errors_total={"parity": {"aggregate": 4, "volatile": 0}})
    node.wait(600, 60)
    node.xid("3d", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4712", name="python")
    node.gpu("3d", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 5}})
    node.gpu("3d", sram_ecc_errors_total={"parity": {"aggregate": 5, "volatile": 1}})
    node.gpu("3d", sram_threshold_exceeded=True)
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_ecc_uncorrected@*16*|gpu_pages_retired@*16*",
    may=("gpu_ecc_uncorrected", "gpu_pages_retired", *GONE),
    never=("gpu_lost", "gpu_bad_page_threshold", "gpu_row_remap_failed"),
    unfit=True,
    node=v100s,
)
def old_card_retires_a_page(node: Story) -> None:
    """A double bit error on a V100: the page is retired at the next reboot, after the weekend."""
    node.wait(300, 60)
    node.xid("16", 48, DOUBLE_BIT, pid="4712", name="gmx")
    node.xid("16", 63, "Dynamic Page Retirement: New page retired, reboot to activate (0x3fa2c)")
    node.gpu("16", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("16", retired_pages_total={"double_bit": 1}, retired_pages_pending=True)
    node.job_ends()
    node.wait(2 * HOUR, 60)
    reboots(node, v100s)
    node.gpu("16", retired_pages_total={"double_bit": 1}, retired_pages_pending=False)
    node.gpu("16", ecc_errors_total={"uncorrected": {"aggregate": 1}})
    node.wait(HOUR, 60)


@incident(
    "gpu_ecc_corrected_rate@*a1*",
    may=("gpu_row_remap_pending",),
    never=("gpu_ecc_uncorrected", "gpu_lost"),
    unfit=False,
    node=inference_l40s,
)
def weak_cell_is_corrected_all_day(node: Story) -> None:
    """Five corrected errors a second on one card for hours, no request is answered wrongly."""
    node.wait(300, 60)
    node.rate(5.0, "Gpus", "states", "a1", "gpu", "ecc_errors_total", "corrected", "volatile")
    node.rate(5.0, "Gpus", "states", "a1", "gpu", "ecc_errors_total", "corrected", "aggregate")
    node.wait(4 * HOUR, 60)


@incident(
    "gpu_row_remap_pending@*62*",
    may=("gpu_recovery_required", "gpu_memory_contained"),
    never=("gpu_row_remap_failed", "gpu_memory_uncontained", "gpu_lost"),
    gone=("gpu_row_remap_pending",),
    fit_at_end=True,
    node=pod_of_h200,
)
def row_waits_for_the_maintenance(node: Story) -> None:
    """Corrected errors mark one row; the job goes on to its end, then the card is reset."""
    node.wait(300, 60)
    node.gpu("62", ecc_errors_total={"corrected": {"volatile": 2, "aggregate": 5}})
    node.xid("62", 63, ROW.format(0x1F00C2))
    node.gpu("62", row_remap_pending=True, row_remap_banks={"max": 639, "high": 1})
    node.wait(3 * HOUR, 120)
    node.job_ends()
    node.wait(120)
    is_reset(node, "62")
    node.gpu("62", row_remap_pending=False, remapped_rows_total={"corrected": 1})
    node.wait(60)
    job_starts(node, pod_of_h200)
    node.gpu("62", remapped_rows_total={"corrected": 1}, row_remap_banks={"max": 639, "high": 1})
    node.gpu("62", ecc_errors_total={"corrected": {"aggregate": 5}})
    node.wait(HOUR, 60)


@incident(
    "gpu_memory_contained@*1a*",
    root="gpu_memory_contained@*1a*|gpu_ecc_uncorrected@*1a*|gpu_reset_required@*1a*",
    may=MEMORY,
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    fit_at_end=True,
    node=pod_of_b200,
)
def blackwell_asks_for_a_drain_and_a_reset(node: Story) -> None:
    """A contained error on a B200; the driver asks for a reset after the drain and gets it."""
    node.wait(300, 60)
    node.xid("1a", 63, ROW.format(0x77A1), pid="4711", name="python3")
    node.xid("1a", 94, "Contained: CE User Channel (0x9). RST: No, D-RST: Yes", pid="4711")
    node.xid("1a", 154, "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)")
    node.gpu("1a", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("1a", row_remap_pending=True, recovery_action="drain_and_reset")
    node.job_ends()
    node.wait(900, 30)
    is_reset(node, "1a")
    node.xid("1a", 154, NOTHING.replace("0x1 (GPU Reset Required)", "0x4 (Drain and Reset)"))
    node.gpu("1a", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("1a", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_reset_required@*de*|gpu_recovery_required@*de*|gpu_xid_critical@*de*",
    may=("gpu_gsp_failure", "gpu_suspect_hardware", *GONE),
    unfit=True,
    fit_at_end=True,
    node=pod_of_h100,
)
def microcontroller_of_a_card_halts(node: Story) -> None:
    """The PMU of one card halts (Xid 62), a reset is asked for and done in a quarter of an hour."""
    node.wait(300, 60)
    node.xid("de", 62, "20ca5f3a 00006a3c 00000000 206dae68 206da022 206da190 206d85f6 206d8d86")
    node.xid("de", 154, RESET)
    node.gpu("de", recovery_action="gpu_reset", clock_hertz={"graphics": 3.45e8, "sm": 3.45e8})
    waits(node, *[bus for bus in node.bus_addresses if bus != "de"])
    node.wait(240)
    node.job_ends()
    node.wait(600, 30)
    is_reset(node, "de")
    node.xid("de", 154, NOTHING)
    node.wait(60)
    job_starts(node, pod_of_h100)
    node.wait(HOUR, 60)


CASES = (
    rank_reads_a_bad_row_and_dies,
    poison_escapes_on_one_a100,
    bank_has_no_spare_row_left,
    spare_rows_run_out_slowly,
    parity_errors_in_caches_add_up,
    old_card_retires_a_page,
    weak_cell_is_corrected_all_day,
    row_waits_for_the_maintenance,
    blackwell_asks_for_a_drain_and_a_reset,
    microcontroller_of_a_card_halts,
)
