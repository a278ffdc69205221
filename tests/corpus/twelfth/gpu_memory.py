"""Incidents of the memory of cards: rows, pages, caches, contained and uncontained errors."""

from tests.corpus.eleventh.nodes import GONE, HOUR, aborts, starts
from tests.corpus.fifth.nodes import loads, unloads, v100s
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits, with_past
from tests.corpus.seventh.nodes import grace_hopper
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import box_of_b200, box_of_h100, box_of_h200, four_a100, two_h100
from tests.corpus.words import DOUBLE_BIT

ROW = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
NO_ROW = "Row Remapper Error: (0x{:016x}) - All reserved rows for bank are remapped"
MEMORY = (
    *("gpu_ecc_uncorrected", "gpu_memory_contained", "gpu_row_remap_pending"),
    *("gpu_suspect_hardware", "gpu_row_remap_low", *GONE),
)


@incident(
    "gpu_memory_contained@*c3*|gpu_ecc_uncorrected@*c3*",
    may=MEMORY,
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    fit_at_end=True,
    node=box_of_h100,
)
def rank_five_dies_of_a_row(node: Story) -> None:
    """A contained error ends a training job, the card is reset while the node is drained."""
    node.wait(2400, 60)
    said = {"pid": "4716", "name": "torchrun_worker"}
    node.xid("c3", 63, ROW.format(0x2B7F1140), **said)
    node.xid("c3", 94, "Contained: SM (0x1). RST: No, D-RST: No", **said)
    node.gpu("c3", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("c3", row_remap_pending=True)
    aborts(node)
    node.wait(1800, 60)
    is_reset(node, "c3")
    node.gpu("c3", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("c3", row_remap_banks={"max": 639, "high": 1})
    node.gpu("c3", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(240, 30)
    starts(node, box_of_h100, 22_417)
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_memory_contained@*48*|gpu_ecc_uncorrected@*48*",
    may=MEMORY,
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    node=four_a100,
)
def scheduler_starts_the_next_job_at_once(node: Story) -> None:
    """A contained error ends a job, and the next one runs on the card before anybody resets it."""
    node.wait(900, 60)
    node.xid("48", 63, ROW.format(0x84B1FC0), pid="4712", name="vasp_std")
    node.xid(
        "48",
        94,
        "Contained: CE User Channel (0x9). RST: No, D-RST: No",
        pid="4712",
        name="vasp_std",
    )
    node.gpu("48", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("48", row_remap_pending=True)
    aborts(node, watts=62.0, heat=30.0)
    node.wait(75)
    starts(node, four_a100, 61_120)
    node.wait(5 * HOUR, 120)


@incident(
    "gpu_memory_uncontained@*e2*",
    root="gpu_memory_uncontained@*e2*|gpu_ecc_uncorrected@*e2*",
    may=MEMORY,
    never=("gpu_lost", "gpu_row_remap_failed"),
    unfit=True,
    fit_at_end=True,
    node=two_h100,
)
def cache_slice_of_a_board_lets_data_out(node: Story) -> None:
    """Xid 95 of a cache slice ends a server of a model; the board is reset after forty minutes."""
    node.wait(1500, 60)
    node.xid("e2", 48, DOUBLE_BIT, pid="4712", name="sglang::schedul")
    node.xid(
        "e2",
        95,
        "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
        pid="4712",
        name="sglang::schedul",
    )
    node.xid("e2", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("e2", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("e2", recovery_action="reset")
    aborts(node, watts=64.0, heat=35.0)
    node.wait(2400, 60)
    is_reset(node, "e2")
    node.xid("e2", 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")
    node.gpu("e2", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(120)
    starts(node, two_h100, 14_002)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_row_remap_failed@*8a*",
    root="gpu_row_remap_failed@*8a*|gpu_ecc_uncorrected@*8a*",
    may=MEMORY,
    never=("gpu_lost", "gpu_memory_uncontained"),
    unfit=True,
    lasts=("gpu_row_remap_failed@*8a*",),
    fit_at_end=False,
    node=four_a100,
)
def ninth_error_of_a_bank_finds_no_spare(node: Story) -> None:
    """Xid 64 after eight remapped rows of one bank: the card waits for its replacement."""
    node.gpu("8a", remapped_rows_total={"corrected": 2, "uncorrected": 6})
    node.gpu("8a", row_remap_banks={"max": 639, "none": 1})
    node.wait(1200, 60)
    node.xid("8a", 48, DOUBLE_BIT, pid="4713", name="amber.cuda")
    node.xid("8a", 64, NO_ROW.format(0x1FB0C2C0), pid="4713", name="amber.cuda")
    node.xid("8a", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4713", name="amber.cuda")
    node.gpu("8a", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 7}})
    node.gpu("8a", row_remap_failed=True)
    aborts(node, watts=62.0, heat=30.0)
    node.wait(4 * HOUR, 120)


@incident(
    "gpu_row_remap_low@*d1*",
    root="gpu_row_remap_low@*d1*|gpu_row_remap_pending@*d1*",
    may=("gpu_xid_warning", "gpu_row_remap_pending", "gpu_recovery_required", "gpu_unhealthy"),
    never=("gpu_row_remap_failed", "gpu_memory_uncontained", "gpu_lost"),
    lasts=("gpu_row_remap_low@*d1*",),
    node=box_of_h200,
)
def last_spare_row_of_a_bank_is_given_out(node: Story) -> None:
    """A card remaps its eighth row of one bank by a reset: nothing is left for a ninth."""
    node.gpu("d1", remapped_rows_total={"corrected": 4, "uncorrected": 3})
    node.gpu("d1", row_remap_banks={"max": 639, "low": 1})
    node.wait(900, 60)
    node.gpu("d1", ecc_errors_total={"corrected": {"volatile": 2, "aggregate": 31}})
    node.xid("d1", 63, ROW.format(0x3A900D80))
    node.gpu("d1", row_remap_pending=True)
    node.wait(2 * HOUR, 120)
    aborts(node)
    node.wait(300, 60)
    is_reset(node, "d1")
    node.gpu("d1", row_remap_pending=False, remapped_rows_total={"corrected": 5})
    node.gpu("d1", row_remap_banks={"low": 0, "none": 1})
    node.gpu("d1", ecc_errors_total={"corrected": {"volatile": 0}})
    node.wait(180, 30)
    starts(node, box_of_h200, 40_911)
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_ecc_uncorrected@*15*|gpu_pages_retired@*15*",
    may=("gpu_ecc_uncorrected", "gpu_pages_retired", "gpu_xid_critical", *GONE),
    never=("gpu_lost", "gpu_bad_page_threshold", "gpu_row_remap_failed"),
    fit_at_end=True,
    node=v100s,
)
def old_volta_retires_one_more_page(node: Story) -> None:
    """A double bit error of a V100 ends a job; in the evening its driver is loaded anew."""
    node.gpu("15", retired_pages_total={"double_bit": 2, "single_bit": 4})
    node.gpu("15", ecc_errors_total={"uncorrected": {"aggregate": 2}})
    node.wait(900, 60)
    node.xid("15", 48, DOUBLE_BIT, pid="4711", name="python")
    node.xid(
        "15",
        63,
        "Dynamic Page Retirement: New page retired, reboot to activate (0x00000000001d40b7)",
    )
    node.gpu("15", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 3}})
    node.gpu("15", retired_pages_total={"double_bit": 3}, retired_pages_pending=True)
    aborts(node, watts=41.0, heat=34.0)
    node.wait(HOUR, 60)
    unloads(node, 30)
    past = {
        "ecc_errors_total": {"uncorrected": {"volatile": 0, "aggregate": 3}},
        "retired_pages_total": {"double_bit": 3, "single_bit": 4},
    }
    loads(node, with_past(v100s, "15", **past))
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_sram_threshold@*52*",
    root="gpu_sram_threshold@*52*|gpu_ecc_uncorrected@*52*",
    may=(*MEMORY, "gpu_memory_uncontained"),
    never=("gpu_lost", "gpu_row_remap_failed"),
    unfit=True,
    fit_at_end=False,
    node=box_of_h100,
)
def registers_of_a_card_flip_too_often(node: Story) -> None:
    """The third uncorrected error of SRAM in a week passes the threshold: the card is to go."""
    node.gpu("52", sram_ecc_errors_total={"parity": {"volatile": 0, "aggregate": 5}})
    node.gpu("52", ecc_errors_total={"uncorrected": {"aggregate": 5}})
    node.wait(1800, 60)
    node.xid("52", 48, DOUBLE_BIT, pid="4713", name="torchrun_worker")
    node.xid(
        "52", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4713", name="torchrun_worker"
    )
    node.gpu("52", sram_ecc_errors_total={"parity": {"volatile": 1, "aggregate": 6}})
    node.gpu("52", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 6}})
    node.gpu("52", sram_threshold_exceeded=True)
    aborts(node)
    node.wait(4 * HOUR, 120)


@incident(
    "gpu_ecc_corrected_rate@*",
    may=("gpu_xid_warning", "gpu_row_remap_pending", "gpu_unlike_itself"),
    never=("gpu_ecc_uncorrected", "gpu_lost", "memory_corrected_rate"),
    unfit=False,
    node=grace_hopper,
)
def superchip_corrects_without_pause(node: Story) -> None:
    """The stack of a GH200 has twenty corrected errors a second during a long run."""
    node.wait(900, 60)
    place = ("Gpus", "states", "1", "gpu", "ecc_errors_total", "corrected")
    for kind in ("volatile", "aggregate"):
        node.rate(20.0, *place, kind)
    node.wait(6 * HOUR, 60)


@incident(
    "gpu_memory_contained@*9d*|gpu_ecc_uncorrected@*9d*|gpu_recovery_required@*9d*",
    may=(*MEMORY, "gpu_memory_contained", "gpu_xid_critical"),
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    fit_at_end=True,
    node=box_of_b200,
)
def driver_asks_to_drain_before_the_reset(node: Story) -> None:
    """A contained error of a B200 asks for a drain and a reset; both are done within two hours."""
    node.wait(1200, 60)
    node.xid("9d", 63, ROW.format(0x5C11A8200), pid="4715", name="pt_main_thread")
    node.xid(
        "9d", 94, "Contained: SM (0x1). RST: No, D-RST: Yes", pid="4715", name="pt_main_thread"
    )
    node.xid("9d", 154, "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)")
    node.gpu("9d", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("9d", row_remap_pending=True, recovery_action="drain_and_reset")
    waits(node, *others(node, "9d"), watts=210.0)
    node.wait(120, 15)
    aborts(node, watts=144.0)
    node.wait(2 * HOUR, 60)
    is_reset(node, "9d")
    node.xid("9d", 154, "GPU recovery action changed from 0x4 (Drain and Reset) to 0x0 (None)")
    node.gpu("9d", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("9d", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(180, 30)
    starts(node, box_of_b200, 18_806)
    node.wait(2 * HOUR, 120)


CASES = (
    rank_five_dies_of_a_row,
    scheduler_starts_the_next_job_at_once,
    cache_slice_of_a_board_lets_data_out,
    ninth_error_of_a_bank_finds_no_spare,
    last_spare_row_of_a_bank_is_given_out,
    old_volta_retires_one_more_page,
    registers_of_a_card_flip_too_often,
    superchip_corrects_without_pause,
    driver_asks_to_drain_before_the_reset,
)
