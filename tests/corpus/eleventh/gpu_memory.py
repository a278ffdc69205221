"""Incidents of the memory of cards: rows, pages, SRAM, errors that were and were not contained."""

from tests.corpus.eighth.nodes import cloud_t4
from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    pair_of_a100,
    quad_of_a100,
    tower_of_a6000,
)
from tests.corpus.eleventh.nodes import GONE, HOUR, aborts, starts
from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits, with_past
from tests.corpus.story import Story
from tests.corpus.words import DOUBLE_BIT, NOTHING, RESET

ROW = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
NO_ROW = "Row Remapper Error: (0x{:016x}) - All reserved rows for bank are remapped"
MEMORY = (
    *("gpu_ecc_uncorrected", "gpu_memory_contained", "gpu_row_remap_pending"),
    *("gpu_suspect_hardware", *GONE),
)


@incident(
    "gpu_memory_contained@*a6*|gpu_ecc_uncorrected@*a6*",
    may=(*MEMORY, "gpu_row_remap_low"),
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    fit_at_end=True,
    node=chassis_of_h200,
)
def row_of_a_decoder_goes_bad_at_night(node: Story) -> None:
    """A contained error ends one of eight servers of a model; the card is reset after two hours."""
    node.wait(900, 60)
    node.xid("a6", 63, ROW.format(0x1A3F6E40), pid="4716", name="VLLM::Worker_TP")
    node.xid(
        "a6", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4716", name="VLLM::Worker_TP"
    )
    node.gpu("a6", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("a6", row_remap_pending=True)
    node.put("Workloads", "clients", **{"4716": None})
    node.gpu("a6", processes=[], utilization_percent=0.0, power_draw_watts=121.0)
    node.gpu("a6", power_average_watts=121.0, memory_used_bytes=0)
    waits(node, *others(node, "a6"), watts=140.0)
    node.wait(300, 30)
    aborts(node)
    node.wait(7200, 60)
    is_reset(node, "a6")
    node.gpu("a6", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("a6", row_remap_banks={"max": 639, "high": 1})
    node.gpu("a6", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(120)
    starts(node, chassis_of_h200, 30_144)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_memory_uncontained@*44*",
    root="gpu_memory_uncontained@*44*|gpu_ecc_uncorrected@*44*",
    may=MEMORY,
    never=("gpu_lost", "nvlink_fatal", "gpu_row_remap_failed"),
    unfit=True,
    lasts=("gpu_memory_uncontained@*44*|gpu_ecc_uncorrected@*44*",),
    fit_at_end=False,
    node=quad_of_a100,
)
def hub_of_one_a100_lets_an_error_out(node: Story) -> None:
    """Xid 95 at the hub of a card ends a simulation; the node waits for its reboot on Monday."""
    node.wait(600, 60)
    node.xid("44", 48, DOUBLE_BIT, pid="4712", name="gmx_mpi")
    node.xid("44", 95, "Uncontained: FBHUB. RST: Yes, D-RST: No", pid="4712", name="gmx_mpi")
    node.gpu("44", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 2}})
    for number, low in enumerate(node.bus_addresses):
        node.xid(low, 45, "Ch 00000008", pid=str(4711 + number), name="gmx_mpi")
    aborts(node, watts=58.0, heat=31.0)
    node.wait(5 * HOUR, 120)


@incident(
    "gpu_row_remap_failed@*bc*",
    root="gpu_row_remap_failed@*bc*|gpu_ecc_uncorrected@*bc*",
    may=(*MEMORY, "gpu_row_remap_low"),
    never=("gpu_lost", "gpu_memory_uncontained"),
    unfit=True,
    lasts=("gpu_row_remap_failed@*bc*",),
    fit_at_end=False,
    node=chassis_of_h100,
)
def reset_does_not_give_a_bank_new_rows(node: Story) -> None:
    """Xid 64: no row is left in a bank; a reset changes nothing, the card is to be replaced."""
    node.gpu("bc", remapped_rows_total={"corrected": 1, "uncorrected": 7})
    node.gpu("bc", row_remap_banks={"max": 638, "high": 1, "none": 1})
    node.wait(600, 60)
    node.xid("bc", 48, DOUBLE_BIT, pid="4717", name="python3.11")
    node.xid("bc", 64, NO_ROW.format(0x2EEBC4100), pid="4717", name="python3.11")
    node.xid("bc", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4717", name="python3.11")
    node.gpu("bc", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 9}})
    node.gpu("bc", row_remap_failed=True)
    aborts(node)
    node.wait(1800, 60)
    is_reset(node, "bc")
    node.gpu("bc", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_sram_threshold@*d4*",
    root="gpu_sram_threshold@*d4*|gpu_ecc_uncorrected@*d4*",
    may=(*MEMORY, "gpu_memory_uncontained"),
    never=("gpu_lost", "gpu_row_remap_failed", "nvswitch_fatal"),
    unfit=True,
    fit_at_end=False,
    node=chassis_of_b200,
)
def cache_of_a_b200_passes_its_threshold(node: Story) -> None:
    """Xid 48 of a cache of a B200: its threshold is exceeded, and still is after a reset."""
    node.gpu("d4", sram_ecc_errors_total={"parity": {"volatile": 0, "aggregate": 9}})
    node.gpu("d4", ecc_errors_total={"uncorrected": {"aggregate": 9}})
    node.wait(600, 60)
    node.xid("d4", 48, DOUBLE_BIT, pid="4718", name="pt_main_thread")
    node.xid("d4", 154, RESET)
    node.gpu("d4", sram_ecc_errors_total={"parity": {"volatile": 1, "aggregate": 10}})
    node.gpu("d4", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 10}})
    node.gpu("d4", sram_threshold_exceeded=True, recovery_action="gpu_reset")
    aborts(node, watts=140.0)
    node.wait(900, 60)
    is_reset(node, "d4")
    node.xid("d4", 154, NOTHING)
    node.gpu("d4", sram_ecc_errors_total={"parity": {"volatile": 0}})
    node.gpu("d4", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_ecc_corrected_rate@*af*",
    may=("gpu_xid_warning", "gpu_row_remap_pending", "gpu_unlike_siblings"),
    never=("gpu_ecc_uncorrected", "gpu_lost", "memory_corrected_rate"),
    unfit=False,
    node=pair_of_a100,
)
def stack_of_a_board_corrects_by_the_dozen(node: Story) -> None:
    """One of two boards corrects thirty errors each second while it trains, for five hours."""
    node.wait(600, 60)
    place = ("Gpus", "states", "af", "gpu", "ecc_errors_total", "corrected")
    for kind in ("volatile", "aggregate"):
        node.rate(30.0, *place, kind)
    node.wait(5 * HOUR, 60)


@incident(
    "gpu_row_remap_pending@*15*",
    may=("gpu_recovery_required", "gpu_xid_warning", "gpu_unhealthy"),
    never=("gpu_row_remap_failed", "gpu_memory_uncontained", "gpu_lost"),
    lasts=("gpu_row_remap_pending@*15*",),
    node=chassis_of_h100,
)
def row_is_marked_and_nobody_resets_the_card(node: Story) -> None:
    """Corrected errors mark a row of a card at work; six hours later its reset is still due."""
    node.wait(900, 60)
    node.gpu("15", ecc_errors_total={"corrected": {"volatile": 2, "aggregate": 5}})
    node.xid("15", 63, ROW.format(0x4D2C0080))
    node.gpu("15", row_remap_pending=True)
    node.wait(6 * HOUR, 120)


@incident(
    "gpu_ecc_uncorrected@*1e*|gpu_pages_retired@*1e*",
    may=("gpu_ecc_uncorrected", "gpu_pages_retired", "gpu_row_remap_pending", *GONE),
    never=("gpu_lost", "gpu_bad_page_threshold", "gpu_row_remap_failed"),
    fit_at_end=True,
    node=cloud_t4,
)
def page_of_a_t4_is_retired_by_a_new_load(node: Story) -> None:
    """A double bit error ends a server of models; the driver is loaded anew within the hour."""
    node.wait(600, 60)
    node.xid("1e", 48, DOUBLE_BIT, pid="4711", name="triton_server")
    node.xid(
        "1e",
        63,
        "Dynamic Page Retirement: New page retired, reboot to activate (0x0000000000002c81)",
    )
    node.gpu("1e", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("1e", retired_pages_total={"double_bit": 1}, retired_pages_pending=True)
    aborts(node, watts=29.0, heat=40.0)
    node.wait(2700, 60)
    unloads(node, 20)
    past = {
        "ecc_errors_total": {"uncorrected": {"volatile": 0, "aggregate": 1}},
        "retired_pages_total": {"double_bit": 1},
    }
    loads(node, with_past(cloud_t4, "1e", **past))
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_xid_critical@*4b*|gpu_ecc_uncorrected@*4b*|gpu_reset_required@*4b*",
    may=(*MEMORY, "gpu_xid_critical", "gpu_memory_uncontained"),
    never=("gpu_lost", "gpu_row_remap_failed", "memory_uncorrected"),
    unfit=True,
    fit_at_end=True,
    node=chassis_of_h200,
)
def error_escapes_the_firmware_of_a_card(node: Story) -> None:
    """Xid 140 of an H200 ends a job; the node is drained, and the card is reset within an hour."""
    node.wait(1200, 60)
    node.xid(
        "4b",
        140,
        "An uncorrectable ECC error detected (possible firmware handling failure) "
        "DRAM:1, LTC:0, MMU:0, PCIE:0",
        pid="'<unknown>'",
        name="<unknown>",
    )
    node.xid("4b", 154, RESET)
    node.gpu("4b", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("4b", recovery_action="gpu_reset")
    aborts(node)
    node.wait(2400, 60)
    is_reset(node, "4b")
    node.xid("4b", 154, NOTHING)
    node.gpu("4b", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(180)
    starts(node, chassis_of_h200, 51_022)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_ecc_uncorrected@*2f*",
    root="gpu_ecc_uncorrected@*2f*|gpu_row_remap_pending@*2f*",
    may=(*MEMORY, "gpu_xid_critical"),
    never=("gpu_lost", "gpu_memory_uncontained", "memory_uncorrected"),
    unfit=True,
    node=tower_of_a6000,
)
def renderer_loses_two_bits_of_a_texture(node: Story) -> None:
    """Xid 48 and 63 end a render job on one of two boards of a tower; nobody resets it today."""
    node.wait(900, 60)
    node.xid("2f", 48, DOUBLE_BIT, pid="4711", name="blender")
    node.xid("2f", 63, ROW.format(0x9B3CE0), pid="4711", name="blender")
    node.xid("2f", 45, "Ch 00000012", pid="4711", name="blender")
    node.gpu("2f", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("2f", row_remap_pending=True, processes=[], utilization_percent=0.0)
    node.gpu("2f", power_draw_watts=31.0, power_average_watts=31.0, temperature_celsius=41.0)
    node.gpu("2f", memory_used_bytes=0, throttle_active={"gpu_idle": 1})
    node.put("Workloads", "clients", **{"4711": None})
    node.put("Workloads", "uses", **{"2f": None})
    node.wait(4 * HOUR, 120)


@incident(
    "gpu_memory_contained@*93*|gpu_ecc_uncorrected@*93*",
    may=MEMORY,
    never=("gpu_memory_uncontained", "gpu_row_remap_failed", "gpu_lost"),
    node=chassis_of_h100,
)
def two_rows_fail_in_one_day(node: Story) -> None:
    """Two jobs die of two rows of the same card, three hours apart; both rows wait for a reset."""
    for number, row in enumerate((0x30FC2240, 0x30FD0180), 1):
        first = 4711 if number == 1 else 28_310
        pid = str(first + 4)
        node.wait(HOUR, 60)
        node.xid("93", 63, ROW.format(row), pid=pid, name="python3")
        node.xid("93", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid=pid, name="python3")
        node.gpu("93", ecc_errors_total={"uncorrected": {"volatile": number, "aggregate": number}})
        node.gpu("93", row_remap_pending=True)
        aborts(node, first=first)
        node.wait(600, 60)
        if number == 1:
            starts(node, chassis_of_h100, 28_310)
            node.wait(2 * HOUR, 120)
    node.wait(HOUR, 120)


CASES = (
    row_of_a_decoder_goes_bad_at_night,
    hub_of_one_a100_lets_an_error_out,
    reset_does_not_give_a_bank_new_rows,
    cache_of_a_b200_passes_its_threshold,
    stack_of_a_board_corrects_by_the_dozen,
    row_is_marked_and_nobody_resets_the_card,
    page_of_a_t4_is_retired_by_a_new_load,
    error_escapes_the_firmware_of_a_card,
    renderer_loses_two_bits_of_a_texture,
    two_rows_fail_in_one_day,
)
