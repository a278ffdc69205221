"""Incidents of the memory of GPUs: what fleets of H100 have most often."""

from tests.corpus.eighth.nodes import cloud_t4, rank_ends
from tests.corpus.fifth.nodes import a100s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import (
    DRAM_ROW,
    HOUR,
    a40s,
    b300s,
    cloud_h100s,
    delta_a100s,
    is_reset,
    mi250s,
    others,
    roce_box,
    waits,
    with_past,
)
from tests.corpus.parts import client
from tests.corpus.seventh.nodes import NOBODY, SPINS, hgx, mi300s, npus, rests
from tests.corpus.story import Story
from tests.corpus.words import DOUBLE_BIT, GPU_AFTER

CONTAINED = (
    "gpu_ecc_uncorrected@{0}|gpu_memory_contained@{0}|gpu_row_remap_pending@{0}|"
    "gpu_recovery_required@{0}"
)


@incident(
    *("gpu_memory_contained@GPU-ae", "gpu_row_remap_pending@GPU-ae"),
    root=(CONTAINED.format("GPU-ae"),),
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected"),
    gone=("gpu_row_remap_pending",),
    fit_at_end=True,
    node=roce_box,
)
def contained_error_waits_for_the_reset_of_the_night(node: Story) -> None:
    """Xid 94 and 63 end one rank, the job is restarted on the card, which is reset at night."""
    node.wait(300, 60)
    node.xid("ae", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4716", name="python3")
    node.xid("ae", 63, DRAM_ROW.format(0x11C4F2A40), **NOBODY)
    node.xid("ae", 45, "Ch 00000008", pid="4716", name="python3")
    node.gpu("ae", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("ae", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    waits(node, *others(node, "ae"))
    rank_ends(node, "ae", "4716")
    node.wait(240, 30)
    rests(node, 71.0)
    node.wait(5 * HOUR, 300)
    is_reset(node, "ae")
    node.gpu("ae", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 1}})
    node.gpu("ae", row_remap_pending=False)
    node.wait(HOUR, 120)


@incident(
    "gpu_memory_uncontained@GPU-85",
    root=("gpu_memory_uncontained@GPU-85|gpu_ecc_uncorrected@GPU-85",),
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected", "gpu_row_remap_pending", "gpu_reset_required"),
    unfit=True,
    lasts=("gpu_memory_uncontained@GPU-85",),
    fit_at_end=False,
    node=delta_a100s,
)
def uncontained_error_of_an_a100_waits_for_a_drain(node: Story) -> None:
    """Xid 48 and 95: all four ranks end; the node stays in the queue of drained ones."""
    node.wait(120)
    node.xid("85", 48, DOUBLE_BIT, pid="4713", name="lmp")
    text = "Uncontained: FBHUB. RST: Yes, D-RST: No"
    node.xid("85", 95, text, pid="4713", name="lmp")
    for rank, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 00000012", pid=str(4711 + rank), name="lmp")
    node.gpu("85", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.wait(15)
    rests(node, 54.0)
    node.wait(3 * HOUR, 240)


@incident(
    *("gpu_ecc_uncorrected@GPU-ca", "gpu_row_remap_pending@GPU-ca"),
    root=("gpu_ecc_uncorrected@GPU-ca",),
    may=(*GPU_AFTER, *SPINS),
    unfit=True,
    gone=("gpu_ecc_uncorrected", "gpu_row_remap_pending"),
    fit_at_end=True,
    node=a40s,
)
def a40_with_a_double_bit_is_reset_within_the_hour(node: Story) -> None:
    """Xid 48 and 63 end a renderer; the other card works on while this one is reset."""
    node.wait(60)
    node.xid("ca", 48, DOUBLE_BIT, pid="4712", name="blender")
    node.xid("ca", 63, DRAM_ROW.format(0x5D1E30C00), **NOBODY)
    node.gpu("ca", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("ca", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    rank_ends(node, "ca", "4712")
    node.wait(2400, 60)
    node.put("Workloads", "uses", ca=None)
    is_reset(node, "ca")
    node.gpu("ca", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 1}})
    node.gpu("ca", row_remap_pending=False)
    node.wait(HOUR, 60)


@incident(
    "gpu_row_remap_failed@GPU-88",
    root=("gpu_row_remap_failed@GPU-88|gpu_ecc_uncorrected@GPU-88",),
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected", "gpu_memory_contained", "gpu_row_remap_low"),
    unfit=True,
    lasts=("gpu_row_remap_failed@GPU-88",),
    fit_at_end=False,
    node=a100s,
)
def remapping_fails_on_a_card_that_has_remapped_before(node: Story) -> None:
    """Xid 94 and 64: the bank has no row left; a load of the driver changes nothing."""
    node.gpu("88", remapped_rows_total={"corrected": 1, "uncorrected": 7})
    node.gpu("88", row_remap_banks={"max": 637, "partial": 2, "low": 1})
    node.wait(180, 60)
    node.xid("88", 94, "Contained: CE User Channel (0x5). RST: No, D-RST: No", pid="4715")
    node.xid("88", 64, "Row Remapper Error: (0x0000000c1f2b0a40) - Remapper table is full")
    node.gpu("88", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 9}})
    node.gpu("88", row_remap_failed=True)
    node.gpu("88", row_remap_banks={"max": 637, "partial": 2, "low": 0, "none": 1})
    rank_ends(node, "88", "4715")
    node.wait(900, 60)
    rests(node, 58.0)
    unloads(node, 45)
    worn = with_past(
        a100s,
        "88",
        row_remap_failed=True,
        remapped_rows_total={"corrected": 1, "uncorrected": 7},
        row_remap_banks={"max": 637, "partial": 2, "low": 0, "none": 1},
        ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 9}},
    )
    loads(node, worn)
    node.wait(HOUR, 120)


@incident(
    "gpu_sram_threshold@GPU-3f",
    root=("gpu_sram_threshold@GPU-3f|gpu_ecc_uncorrected@GPU-3f",),
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected", "gpu_memory_contained"),
    unfit=True,
    lasts=("gpu_sram_threshold@GPU-3f",),
    fit_at_end=False,
    node=hgx,
)
def cache_of_an_h100_fails_for_the_fourth_time(node: Story) -> None:
    """A word of the L2 cache is lost each hour; with the fourth the threshold is exceeded."""
    for count in (1, 2, 3, 4):
        node.xid("3f", 48, DOUBLE_BIT, **NOBODY)
        pid = str(4713 + 1000 * (count - 1))
        text = "Contained: LTC DATA (0x2, 0x1). RST: No, D-RST: No"
        node.xid("3f", 94, text, pid=pid, name="python3")
        node.put("Workloads", "clients", **{pid: None})
        node.put("Workloads", "clients", **{str(int(pid) + 1000): client(int(pid) + 1000, "3f")})
        node.gpu("3f", processes=[{"pid": int(pid) + 1000, "kind": "compute"}])
        node.gpu("3f", ecc_errors_total={"uncorrected": {"volatile": count, "aggregate": count}})
        node.gpu("3f", sram_threshold_exceeded=count == 4)
        node.wait(HOUR, 120)


@incident(
    "gpu_ecc_corrected_rate@GPU-9b",
    may=("gpu_unhealthy",),
    unfit=False,
    fit_at_end=True,
    node=mi300s,
)
def stack_of_an_mi300x_corrects_all_the_time(node: Story) -> None:
    """The driver prints corrected errors of one stack every few minutes, thousands in all."""
    node.wait(60)
    place = ("Gpus", "states", "9b", "gpu", "ecc_errors_total", "corrected", "volatile")
    node.rate(0.4, *place)
    for number in range(1, 13):
        node.log(
            f"amdgpu 0000:9b:00.0: amdgpu: {{{number}}}socket: 5, die: 0, 120 new correctable "
            "hardware errors detected in umc block",
            f"amdgpu 0000:9b:00.0: amdgpu: {{{number}}}socket: 5, die: 0, {120 * number} "
            "correctable hardware errors detected in total in umc block",
        )
        node.wait(300, 60)


@incident(
    "gpu_bad_page_threshold@GPU-66",
    root=("gpu_bad_page_threshold@GPU-66|gpu_ecc_uncorrected@GPU-66",),
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected", "gpu_pages_retired", "gpu_unhealthy"),
    unfit=True,
    fit_at_end=False,
    node=mi250s,
)
def mi250x_has_too_many_bad_pages(node: Story) -> None:
    """Poison is consumed, pages are saved, and their number reaches the threshold."""
    card = "amdgpu 0000:66:00.0: amdgpu:"
    node.wait(120)
    node.log(
        f"{card} Uncorrectable error detected in UMC inst: 2, ch_off: 5",
        f"{card} 1 uncorrectable hardware errors detected in umc block",
        f"{card} Saved bad pages 256 reaches threshold value 256",
        f"{card} This GPU is in BAD status. Please retire it or set a larger threshold value when "
        "reloading driver.",
    )
    node.gpu("66", ecc_errors_total={"uncorrected": {"volatile": 1}})
    rank_ends(node, "66", "4714")
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_unhealthy@GPU-19",
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected", "npu_abnormal"),
    node=npus,
)
def chip_of_an_ascend_reports_lost_bits(node: Story) -> None:
    """npu-smi calls a chip alarmed after a multi-bit error of its HBM; its rank ends."""
    node.wait(120)
    node.gpu("19", health="alarm")
    node.wait(45)
    rank_ends(node, "19", "4711")
    node.wait(2 * HOUR, 240)


@incident(
    *("gpu_memory_contained@GPU-e4", "gpu_row_remap_pending@GPU-e4"),
    root=(CONTAINED.format("GPU-e4"),),
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected"),
    lasts=("gpu_row_remap_pending@GPU-e4",),
    node=b300s,
)
def row_of_a_b300_fails_again_after_its_repair(node: Story) -> None:
    """Xid 94 and 63, a load of the driver, four quiet hours, and both again for another row."""
    for turn in (1, 2):
        node.wait(120)
        node.xid("e4", 94, "Contained: GPC (0x3). RST: No, D-RST: No", pid="4718", name="python3")
        node.xid("e4", 63, DRAM_ROW.format(0x2A91C0000 + 0x5000 * turn), **NOBODY)
        node.xid("e4", 45, "Ch 0000000b, caused by previous Xid 94", pid="4718", name="python3")
        node.gpu("e4", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": turn}})
        node.gpu("e4", row_remap_pending=True, remapped_rows_total={"uncorrected": turn})
        rank_ends(node, "e4", "4718")
        node.wait(1200, 60)
        if turn == 1:
            rests(node, 150.0)
            unloads(node, 60)
            loads(node, with_past(b300s, "e4", remapped_rows_total={"uncorrected": 1}))
            node.wait(4 * HOUR, 300)


@incident(
    *("gpu_ecc_uncorrected@GPU-1e", "gpu_pages_retired@GPU-1e"),
    root=("gpu_ecc_uncorrected@GPU-1e",),
    may=(*GPU_AFTER, "gpu_recovery_required"),
    unfit=True,
    gone=("gpu_ecc_uncorrected", "gpu_pages_retired"),
    fit_at_end=True,
    node=cloud_t4,
)
def page_of_a_t4_is_retired_by_a_load_of_the_driver(node: Story) -> None:
    """Xid 48 and 63 end a server of models; the driver is loaded anew, the page is out of use."""
    node.wait(120)
    node.xid("1e", 48, DOUBLE_BIT, pid="4711", name="tritonserver")
    node.xid("1e", 63, "Dynamic Page Retirement: New page retired, reboot to activate (0x33a1f)")
    node.xid("1e", 45, "Ch 00000010", pid="4711", name="tritonserver")
    node.gpu("1e", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("1e", retired_pages_total={"double_bit": 1}, retired_pages_pending=True)
    rank_ends(node, "1e", "4711")
    node.wait(1800, 60)
    unloads(node, 30)
    aggregate = {"uncorrected": {"volatile": 0, "aggregate": 1}}
    retired = {"double_bit": 1}
    loads(
        node,
        with_past(cloud_t4, "1e", retired_pages_total=retired, ecc_errors_total=aggregate),
    )
    node.wait(HOUR, 60)


@incident(
    "gpu_row_remap_pending@GPU-2d",
    may=("gpu_recovery_required",),
    unfit=False,
    gone=("gpu_row_remap_pending",),
    fit_at_end=True,
    node=cloud_h100s,
)
def guest_remaps_a_row_that_was_corrected_twice(node: Story) -> None:
    """Xid 63 without a lost bit: work goes on, and the next load of the driver activates it."""
    node.wait(300, 60)
    node.xid("2d", 63, DRAM_ROW.format(0x09B2C1140), **NOBODY)
    node.gpu("2d", ecc_errors_total={"corrected": {"volatile": 2, "aggregate": 5}})
    node.gpu("2d", row_remap_pending=True, remapped_rows_total={"corrected": 1})
    node.wait(3 * HOUR, 240)
    rests(node, 72.0)
    unloads(node, 40)
    loads(node, with_past(cloud_h100s, "2d", remapped_rows_total={"corrected": 1}))
    node.wait(HOUR, 120)


CASES = (
    contained_error_waits_for_the_reset_of_the_night,
    uncontained_error_of_an_a100_waits_for_a_drain,
    a40_with_a_double_bit_is_reset_within_the_hour,
    remapping_fails_on_a_card_that_has_remapped_before,
    cache_of_an_h100_fails_for_the_fourth_time,
    stack_of_an_mi300x_corrects_all_the_time,
    mi250x_has_too_many_bad_pages,
    chip_of_an_ascend_reports_lost_bits,
    row_of_a_b300_fails_again_after_its_repair,
    page_of_a_t4_is_retired_by_a_load_of_the_driver,
    guest_remaps_a_row_that_was_corrected_twice,
)
