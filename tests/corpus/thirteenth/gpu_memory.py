"""Incidents of the memory of cards: rows, pages, caches, contained and uncontained errors."""

from tests.corpus.eighth.nodes import cloud_t4
from tests.corpus.eleventh.nodes import GONE, HOUR, aborts, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits
from tests.corpus.seventh.nodes import mi300s
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    eight_a100,
    four_pro,
    new_h100,
    old_h100,
    some_b200,
    some_h200,
)
from tests.corpus.twelfth.hosts import four_l40s
from tests.corpus.words import DOUBLE_BIT, NOTHING, RESET

ROW = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
NO_ROW = "Row Remapper Error: (0x{:016x}) - All reserved rows for bank are remapped"
MEMORY = (
    *("gpu_ecc_uncorrected", "gpu_memory_contained", "gpu_row_remap_pending"),
    *("gpu_suspect_hardware", "gpu_row_remap_low", "gpu_ecc_corrected_rate", *GONE),
)


@incident(
    "gpu_memory_contained@*2d*|gpu_ecc_uncorrected@*2d*",
    may=MEMORY,
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    fit_at_end=True,
    node=old_h100,
)
def second_rank_of_a_fine_tuning_reads_a_bad_row(node: Story) -> None:
    """An error of a row ends one rank, the others wait and are killed; the card is reset."""
    node.wait(3000, 120)
    said = {"pid": "4712", "name": "pt_main_thread"}
    node.xid("2d", 63, ROW.format(0x1C07E2A80), **said)
    node.xid("2d", 94, "Contained: SM (0x1). RST: No, D-RST: No", **said)
    node.gpu("2d", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("2d", row_remap_pending=True)
    waits(node, *others(node, "2d"))
    node.wait(180, 30)
    aborts(node)
    node.wait(2700, 120)
    is_reset(node, "2d")
    node.gpu("2d", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("2d", row_remap_banks={"max": 639, "high": 1})
    node.gpu("2d", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(300, 60)
    starts(node, old_h100, 51_206)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_memory_uncontained@*a8*",
    root="gpu_memory_uncontained@*a8*|gpu_ecc_uncorrected@*a8*",
    may=(*MEMORY, "gpu_reset_required"),
    never=("gpu_lost", "gpu_row_remap_failed"),
    unfit=True,
    fit_at_end=False,
    node=eight_a100,
)
def bad_data_of_an_a100_reach_its_neighbours(node: Story) -> None:
    """Xid 95 of an A100 ends all ranks of a job; the node waits for the morning."""
    node.wait(2400, 120)
    said = {"pid": "4716", "name": "python3"}
    node.xid("a8", 48, DOUBLE_BIT, **said)
    node.xid("a8", 63, ROW.format(0x7A20C40), **said)
    node.xid("a8", 95, "Uncontained: LTC DATA (0x3,0x1). RST: Yes, D-RST: No", **said)
    node.gpu("a8", ecc_errors_total={"uncorrected": {"volatile": 2, "aggregate": 2}})
    node.gpu("a8", row_remap_pending=True)
    aborts(node, watts=63.0, heat=31.0)
    node.wait(5 * HOUR, 240)


@incident(
    "gpu_row_remap_failed@*44*",
    root="gpu_row_remap_failed@*44*|gpu_ecc_uncorrected@*44*|gpu_row_remap_low@*44*",
    may=MEMORY,
    never=("gpu_lost", "gpu_memory_uncontained"),
    unfit=True,
    lasts=("gpu_row_remap_failed@*44*",),
    fit_at_end=False,
    node=new_h100,
)
def bank_of_an_h100_has_used_all_its_spares(node: Story) -> None:
    """One more bad row of a weak bank cannot be replaced: the card asks to be exchanged."""
    node.gpu("44", remapped_rows_total={"corrected": 1, "uncorrected": 7})
    node.gpu("44", row_remap_banks={"max": 639, "none": 1})
    node.wait(1500, 120)
    said = {"pid": "4713", "name": "ray::TrainWork"}
    node.xid("44", 64, NO_ROW.format(0x11C8F5A00), **said)
    node.xid("44", 94, "Contained: SM (0x1). RST: No, D-RST: No", **said)
    node.gpu("44", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 8}})
    node.gpu("44", row_remap_failed=True)
    aborts(node)
    node.wait(5 * HOUR, 240)


@incident(
    "gpu_row_remap_pending@*0f*",
    may=("gpu_xid_warning", "gpu_recovery_required", "gpu_unhealthy", "gpu_ecc_corrected_rate"),
    never=("gpu_row_remap_failed", "gpu_memory_uncontained", "gpu_lost", "gpu_ecc_uncorrected"),
    lasts=("gpu_row_remap_pending@*0f*",),
    node=some_h200,
)
def row_with_two_weak_bits_is_to_be_exchanged(node: Story) -> None:
    """Corrected errors at one place mark a row for remapping; the job runs on for the day."""
    node.wait(1200, 120)
    node.gpu("0f", ecc_errors_total={"corrected": {"volatile": 2, "aggregate": 5}})
    node.xid("0f", 63, ROW.format(0x2E0077C40))
    node.gpu("0f", row_remap_pending=True)
    node.wait(6 * HOUR, 240)


@incident(
    "gpu_pages_retired@*1e*",
    may=("gpu_xid_warning", "gpu_ecc_corrected_rate", "gpu_recovery_required", "gpu_unhealthy"),
    never=("gpu_lost", "gpu_bad_page_threshold", "gpu_row_remap_failed", "gpu_ecc_uncorrected"),
    lasts=("gpu_pages_retired@*1e*",),
    node=cloud_t4,
)
def pages_of_a_t4_go_one_after_the_other(node: Story) -> None:
    """A T4 retires three pages within two hours because of single errors at the same places."""
    node.gpu("1e", retired_pages_total={"single_bit": 2, "double_bit": 0})
    node.gpu("1e", retired_pages_pending=False)
    node.wait(1200, 120)
    for number, page in enumerate((0x2A4C1, 0x2A4C3, 0x2A511)):
        node.gpu(
            "1e",
            ecc_errors_total={
                "corrected": {"volatile": 2 * number + 2, "aggregate": 2 * number + 9}
            },
        )
        node.xid(
            "1e",
            63,
            f"Dynamic Page Retirement: New page retired, reboot to activate (0x{page:016x})",
        )
        node.gpu("1e", retired_pages_total={"single_bit": 3 + number}, retired_pages_pending=True)
        node.wait(2400, 120)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_sram_threshold@*87*",
    root="gpu_sram_threshold@*87*|gpu_ecc_uncorrected@*87*",
    may=(*MEMORY, "gpu_memory_uncontained"),
    never=("gpu_lost", "gpu_row_remap_failed"),
    unfit=True,
    lasts=("gpu_sram_threshold@*87*",),
    fit_at_end=False,
    node=new_h100,
)
def card_of_a_returned_node_was_not_exchanged(node: Story) -> None:
    """A node comes back from service with the card that had passed its threshold of SRAM."""
    node.put("Host", uptime_secs=1900.0)
    node.gpu("87", sram_ecc_errors_total={"parity": {"volatile": 0, "aggregate": 11}})
    node.gpu("87", ecc_errors_total={"uncorrected": {"aggregate": 11}})
    node.gpu("87", sram_threshold_exceeded=True)
    node.wait(5 * HOUR, 180)


@incident(
    "gpu_ecc_corrected_rate@*8a*",
    may=("gpu_xid_warning", "gpu_row_remap_pending", "gpu_unlike_itself", "gpu_unlike_siblings"),
    never=("gpu_ecc_uncorrected", "gpu_lost", "memory_corrected_rate"),
    unfit=False,
    node=four_l40s,
)
def graphics_memory_of_an_l40s_corrects_all_night(node: Story) -> None:
    """One of four boards has fifteen corrected errors a second through a whole night."""
    node.wait(900, 60)
    place = ("Gpus", "states", "8a", "gpu", "ecc_errors_total", "corrected")
    for kind in ("volatile", "aggregate"):
        node.rate(15.0, *place, kind)
    node.wait(6 * HOUR, 180)


@incident(
    "gpu_ecc_uncorrected@*3f*|gpu_bad_page_threshold@*3f*",
    may=("gpu_bad_page_threshold", "gpu_ecc_uncorrected", "gpu_pages_retired", *MEMORY),
    never=("gpu_lost", "gpu_overheat", "memory_uncorrected"),
    unfit=True,
    fit_at_end=False,
    node=mi300s,
)
def stack_of_an_instinct_has_too_many_bad_pages(node: Story) -> None:
    """A card of AMD has uncorrected errors, and its list of bad pages reaches the threshold."""
    low = "3f"
    card = f"amdgpu 0000:{low}:00.0: amdgpu:"
    node.wait(1500, 120)
    node.log(
        f"{card} {{4}}socket: 2, die: 0 3 new uncorrectable hardware errors detected in umc block",
        f"{card} {{4}}socket: 2, die: 0 3 uncorrectable hardware errors detected in total in "
        "umc block",
        f"{card} Saved bad pages 256 reaches threshold value 256",
    )
    node.gpu(low, ecc_errors_total={"uncorrected": {"volatile": 3}})
    aborts(node, watts=138.0, heat=36.0)
    node.wait(5 * HOUR, 240)


@incident(
    "gpu_ecc_uncorrected@*3d*",
    may=(*MEMORY, "gpu_reset_required"),
    never=("gpu_lost", "gpu_row_remap_failed"),
    unfit=True,
    fit_at_end=True,
    node=four_pro,
)
def board_of_a_model_server_has_a_double_error(node: Story) -> None:
    """Xid 48 and a request for a reset end a server of four boards; a script resets one."""
    node.wait(1800, 120)
    node.xid("3d", 48, DOUBLE_BIT, pid="4712", name="tritonserver")
    node.xid("3d", 154, RESET)
    node.gpu("3d", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("3d", recovery_action="reset")
    aborts(node, watts=78.0, heat=38.0)
    node.wait(1500, 60)
    is_reset(node, "3d")
    node.xid("3d", 154, NOTHING)
    node.gpu("3d", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(180, 30)
    starts(node, four_pro, 33_870)
    node.wait(3 * HOUR, 180)


@incident(
    "gpu_memory_contained@*c4*|gpu_ecc_uncorrected@*c4*|gpu_recovery_required@*c4*",
    may=(*MEMORY, "gpu_memory_contained", "gpu_xid_critical"),
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    node=some_b200,
)
def two_jobs_of_a_b200_end_at_the_same_card(node: Story) -> None:
    """Contained errors end two jobs on one card, three hours apart; then the node is drained."""
    for number, first in enumerate((4711, 60_200)):
        node.wait(2 * HOUR if number else 1800, 180)
        said = {"pid": str(first + 6), "name": "pt_main_thread"}
        node.xid("c4", 63, ROW.format(0x3300A1C0 + 0x1000 * number), **said)
        node.xid("c4", 94, "Contained: SM (0x1). RST: No, D-RST: Yes", **said)
        node.gpu(
            "c4",
            ecc_errors_total={"uncorrected": {"volatile": 1 + number, "aggregate": 1 + number}},
        )
        node.gpu("c4", row_remap_pending=True)
        if not number:
            node.xid(
                "c4", 154, "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"
            )
            node.gpu("c4", recovery_action="drain_and_reset")
        aborts(node, watts=142.0, first=first)
        if not number:
            node.wait(120, 30)
            starts(node, some_b200, 60_200)
    node.wait(3 * HOUR, 240)


CASES = (
    second_rank_of_a_fine_tuning_reads_a_bad_row,
    bad_data_of_an_a100_reach_its_neighbours,
    bank_of_an_h100_has_used_all_its_spares,
    row_with_two_weak_bits_is_to_be_exchanged,
    pages_of_a_t4_go_one_after_the_other,
    card_of_a_returned_node_was_not_exchanged,
    graphics_memory_of_an_l40s_corrects_all_night,
    stack_of_an_instinct_has_too_many_bad_pages,
    board_of_a_model_server_has_a_double_error,
    two_jobs_of_a_b200_end_at_the_same_card,
)
