"""Incidents of the memory of GPUs, which are the most frequent of all."""

from tests.corpus.eighth.nodes import HOURS, REMAP, b200_box, cloud_a100s, cloud_t4, rank_ends
from tests.corpus.fifth.nodes import a100s, l40s, loads, unloads, v100s
from tests.corpus.labels import incident
from tests.corpus.seventh.nodes import NOBODY, SPINS, hgx, restarts, rests
from tests.corpus.sixth.nodes import h200s
from tests.corpus.story import Story
from tests.corpus.words import DOUBLE_BIT, GPU_AFTER


@incident(
    *("gpu_memory_contained@GPU-43", "gpu_row_remap_pending@GPU-43"),
    root=("gpu_ecc_uncorrected@GPU-43|gpu_memory_contained@GPU-43|gpu_row_remap_pending@GPU-43",),
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected"),
    gone=("gpu_row_remap_pending",),
    fit_at_end=True,
    node=h200s,
)
def stack_of_an_h200_ends_one_rank(node: Story) -> None:
    """Xid 94 and 63: one rank of eight ends, the job is started elsewhere, the driver reloaded."""
    node.wait(60)
    text = "Contained: CE User Channel (0x9). RST: No, D-RST: No"
    node.xid("43", 94, text, pid="4713", name="python3")
    node.xid("43", 63, REMAP.format(0x1A2F04C20), **NOBODY)
    node.xid("43", 45, "Ch 00000010", pid="4713", name="python3")
    node.gpu("43", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("43", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    rank_ends(node, "43", "4713")
    node.wait(600, 60)
    rests(node, 75.0)
    node.wait(1200, 60)
    unloads(node, 45)
    loads(node, h200s)
    node.gpu("43", remapped_rows_total={"uncorrected": 1})
    node.wait(900, 60)


@incident(
    *("gpu_ecc_uncorrected@GPU-4c", "gpu_row_remap_failed@GPU-4c"),
    root=("gpu_ecc_uncorrected@GPU-4c|gpu_row_remap_failed@GPU-4c",),
    may=(*GPU_AFTER, "gpu_row_remap_low", "gpu_memory_contained", "gpu_row_remap_pending"),
    unfit=True,
    lasts=("gpu_row_remap_failed@GPU-4c",),
    fit_at_end=False,
    node=a100s,
)
def a100_has_no_row_left_for_a_double_bit(node: Story) -> None:
    """Xid 48 and 64 within a second; two hours later nobody has exchanged the card."""
    node.wait(120)
    node.xid("4c", 48, DOUBLE_BIT, pid="4714", name="python")
    text = "Row Remapper Error: (0x00000006e4a10c00) - All reserved rows for bank are remapped"
    node.xid("4c", 64, text, **NOBODY)
    node.gpu("4c", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 9}})
    node.gpu("4c", row_remap_failed=True, remapped_rows_total={"uncorrected": 8})
    node.gpu("4c", row_remap_banks={"max": 638, "none": 1, "low": 1})
    rank_ends(node, "4c", "4714")
    node.wait(HOURS, 240)


@incident(
    "gpu_memory_uncontained@GPU-9b",
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected", "gpu_row_remap_pending", "gpu_reset_required"),
    unfit=True,
    gone=("gpu_memory_uncontained", "gpu_ecc_uncorrected"),
    fit_at_end=True,
    node=hgx,
)
def uncontained_error_is_reset_away_at_noon(node: Story) -> None:
    """Xid 95 and 154 at a job of eight ranks; an operator drains and loads the driver anew."""
    node.wait(60)
    text = "Uncontained: LTC TAG (0x1, 0x4). RST: Yes, D-RST: No"
    node.xid("9b", 95, text, pid="4715", name="python3")
    node.xid("9b", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("9b", recovery_action="reset")
    for rank, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 00000009", pid=str(4711 + rank), name="python3")
    node.gpu("9b", ecc_errors_total={"uncorrected": {"volatile": 2, "aggregate": 2}})
    rests(node)
    node.wait(3600, 120)
    unloads(node, 60)
    loads(node, hgx)
    node.wait(1800, 60)


@incident(
    *("gpu_ecc_uncorrected@GPU-89", "gpu_pages_retired@GPU-89"),
    root=("gpu_ecc_uncorrected@GPU-89",),
    may=GPU_AFTER,
    unfit=True,
    fit_at_end=False,
    node=v100s,
)
def v100_retires_a_page_after_a_double_bit(node: Story) -> None:
    """Xid 48 and 63 in the words of the driver 470; the page is out of use after a boot only."""
    node.wait(60)
    node.xid("89", 48, DOUBLE_BIT, pid="4713", name="python")
    node.xid("89", 63, "Dynamic Page Retirement: New page retired, reboot to activate (0x81f2a)")
    node.xid("89", 45, "Ch 00000012", pid="4713", name="python")
    node.gpu("89", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("89", retired_pages_total={"double_bit": 1}, retired_pages_pending=True)
    rank_ends(node, "89", "4713")
    node.wait(HOURS, 240)


@incident(
    "gpu_pages_retired@GPU-1e",
    may=("gpu_recovery_required",),
    unfit=False,
    fit_at_end=True,
    node=cloud_t4,
)
def t4_of_a_cloud_retires_a_page_in_advance(node: Story) -> None:
    """Two corrected errors at one address: Xid 63, a page waits to be retired, work goes on."""
    node.wait(300, 60)
    node.xid("1e", 63, "Dynamic Page Retirement: New page retired, reboot to activate (0x1c0e2)")
    node.gpu("1e", ecc_errors_total={"corrected": {"volatile": 2, "aggregate": 5}})
    node.gpu("1e", retired_pages_total={"single_bit": 1}, retired_pages_pending=True)
    node.wait(3600, 120)


@incident("gpu_ecc_corrected_rate@GPU-2d", unfit=False, fit_at_end=True, node=cloud_a100s)
def guest_card_corrects_one_error_each_two_seconds(node: Story) -> None:
    """Thousands of corrected errors of one of eight cards within two hours, and no Xid."""
    node.wait(60)
    kind = ("Gpus", "states", "2d", "gpu", "ecc_errors_total", "corrected")
    node.rate(0.5, *kind, "volatile")
    node.rate(0.5, *kind, "aggregate")
    node.wait(HOURS, 60)


@incident(
    "gpu_ecc_uncorrected@GPU-bf",
    may=(*GPU_AFTER, *SPINS, "gpu_memory_contained"),
    never=("gpu_sram_threshold",),
    unfit=True,
    gone=("gpu_ecc_uncorrected",),
    fit_at_end=True,
    node=hgx,
)
def one_bad_word_of_the_sram(node: Story) -> None:
    """Xid 48 and 172, one error in SRAM, far from its threshold; the card is reset at night."""
    node.wait(60)
    node.xid("bf", 48, DOUBLE_BIT, **NOBODY)
    node.xid("bf", 172, "Uncorrectable SRAM error", **NOBODY)
    node.gpu("bf", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.wait(900, 60)
    rests(node)
    node.wait(3600, 120)
    unloads(node, 30)
    loads(node, hgx)
    node.gpu("bf", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 1}})
    node.wait(1800, 60)


@incident(
    "gpu_row_remap_pending@GPU-66",
    may=("gpu_recovery_required",),
    unfit=False,
    lasts=("gpu_row_remap_pending",),
    fit_at_end=True,
    node=b200_box,
)
def corrected_error_leaves_a_row_to_be_remapped(node: Story) -> None:
    """No Xid is printed: only the flag and the counters tell of a row that waits."""
    node.wait(300, 60)
    node.gpu("66", ecc_errors_total={"corrected": {"volatile": 3, "aggregate": 6}})
    node.gpu("66", row_remap_pending=True, remapped_rows_total={"corrected": 1})
    node.wait(HOURS, 240)


@incident(
    "gpu_ecc_uncorrected@GPU-21",
    may=(*GPU_AFTER, "gpu_row_remap_pending", "gpu_row_remap_low"),
    unfit=True,
    fit_at_end=False,
    node=l40s,
)
def l40s_fails_again_three_hours_after_its_repair(node: Story) -> None:
    """Xid 48 and 63, a load of the driver, and the same card has Xid 48 again in the evening."""
    for turn in (1, 2):
        node.wait(60)
        node.xid("21", 48, DOUBLE_BIT, pid="4711", name="vllm")
        node.xid("21", 63, REMAP.format(0x3F11C0E00 + turn), **NOBODY)
        node.gpu("21", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": turn}})
        node.gpu("21", row_remap_pending=True, remapped_rows_total={"uncorrected": turn})
        node.wait(1800, 60)
        if turn == 1:
            unloads(node, 45)
            loads(node, l40s)
            node.wait(3 * 3600, 300)


@incident(
    *("gpu_ecc_uncorrected@GPU-e4", "gpu_row_remap_pending@GPU-e4"),
    root=("gpu_ecc_uncorrected@GPU-e4",),
    may=(*GPU_AFTER, *SPINS, "gpu_memory_contained"),
    unfit=True,
    lasts=("gpu_row_remap_pending@GPU-e4",),
    fit_at_end=False,
    node=b200_box,
)
def exporter_restarts_while_a_b200_waits_for_its_reset(node: Story) -> None:
    """Xid 48, 171, 63 and 154 (drain and reset); the exporter restarts twice meanwhile."""
    node.wait(60)
    node.xid("e4", 48, DOUBLE_BIT, **NOBODY)
    node.xid("e4", 171, "Uncorrectable DRAM error", **NOBODY)
    node.xid("e4", 63, REMAP.format(0x2C4410A80), **NOBODY)
    node.xid("e4", 154, "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)")
    node.gpu("e4", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("e4", row_remap_pending=True, recovery_action="drain_and_reset")
    node.gpu("e4", remapped_rows_total={"uncorrected": 1})
    node.wait(300, 30)
    restarts(node)
    node.wait(1800, 60)
    restarts(node, 45)
    node.wait(HOURS, 240)


@incident(
    "gpu_row_remap_low@GPU-c3",
    unfit=False,
    lasts=("gpu_row_remap_low@GPU-c3",),
    fit_at_end=True,
    node=h200s,
)
def two_banks_of_an_h200_are_without_a_spare(node: Story) -> None:
    """Many repairs in one stack: two banks have no spare row, five are low; nothing has failed."""
    node.gpu("c3", remapped_rows_total={"corrected": 2, "uncorrected": 14})
    node.gpu("c3", row_remap_banks={"max": 2552, "high": 0, "partial": 1, "low": 5, "none": 2})
    node.wait(3600, 120)


CASES = (
    stack_of_an_h200_ends_one_rank,
    a100_has_no_row_left_for_a_double_bit,
    uncontained_error_is_reset_away_at_noon,
    v100_retires_a_page_after_a_double_bit,
    t4_of_a_cloud_retires_a_page_in_advance,
    guest_card_corrects_one_error_each_two_seconds,
    one_bad_word_of_the_sram,
    corrected_error_leaves_a_row_to_be_remapped,
    l40s_fails_again_three_hours_after_its_repair,
    exporter_restarts_while_a_b200_waits_for_its_reset,
    two_banks_of_an_h200_are_without_a_spare,
)
