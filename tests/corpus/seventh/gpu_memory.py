"""Incidents of the memory of single GPUs."""

from tests.corpus.fifth.nodes import a100s, loads, unloads, v100s
from tests.corpus.labels import incident
from tests.corpus.seventh.nodes import (
    NOBODY,
    a10s,
    grace_hopper,
    hgx,
    pro_6000s,
    restarts,
    rests,
)
from tests.corpus.story import Story
from tests.corpus.words import DOUBLE_BIT, GPU_AFTER

HOURS = 2 * 3600
REMAP = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."


@incident(
    *("gpu_ecc_uncorrected@GPU-43", "gpu_row_remap_pending@GPU-43"),
    may=(*GPU_AFTER, "gpu_memory_contained"),
    unfit=True,
    gone=("gpu_ecc_uncorrected", "gpu_row_remap_pending"),
    fit_at_end=True,
    node=a10s,
)
def server_of_models_loses_a_row(node: Story) -> None:
    """Xid 48, 63 and 45 of a card with GDDR6; three hours later the driver is loaded anew."""
    node.wait(60)
    node.xid("43", 48, DOUBLE_BIT, pid="4712", name="tritonserver")
    node.xid("43", 63, REMAP.format(0x51B2C6E40), **NOBODY)
    node.gpu("43", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("43", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    node.xid("43", 45, "Ch 00000012", pid="4712", name="tritonserver")
    node.wait(3 * 3600, 300)
    unloads(node)
    loads(node, a10s)
    node.gpu("43", remapped_rows_total={"uncorrected": 1})
    node.wait(120, 30)


@incident(
    *("gpu_ecc_uncorrected@GPU-66", "gpu_sram_threshold@GPU-66"),
    root=("gpu_ecc_uncorrected@GPU-66|gpu_sram_threshold@GPU-66",),
    may=GPU_AFTER,
    unfit=True,
    lasts=("gpu_sram_threshold@GPU-66",),
    fit_at_end=False,
    node=hgx,
)
def last_sram_error_passes_the_threshold(node: Story) -> None:
    """Xid 48 with 172; the card says from then on that it is to be replaced, also after a load."""
    node.wait(60)
    node.xid("66", 48, DOUBLE_BIT, **NOBODY)
    node.xid("66", 172, "Uncorrectable SRAM error", **NOBODY)
    node.gpu("66", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 5}})
    node.gpu("66", sram_threshold_exceeded=True)
    node.wait(2400, 60)
    unloads(node)
    loads(node, hgx)
    node.gpu("66", sram_threshold_exceeded=True)
    node.wait(HOURS, 240)


@incident(
    "gpu_row_remap_low@GPU-cb",
    unfit=False,
    lasts=("gpu_row_remap_low",),
    fit_at_end=True,
    node=a100s,
)
def spare_rows_of_some_banks_are_nearly_used_up(node: Story) -> None:
    """Eleven repairs over the years: three banks have one spare row each, one of them none."""
    node.gpu("cb", remapped_rows_total={"corrected": 4, "uncorrected": 7})
    banks = {"max": 634, "high": 1, "partial": 1, "low": 3, "none": 1}
    node.gpu("cb", row_remap_banks=banks)
    node.wait(3600, 120)


@incident(
    "gpu_ecc_corrected_rate@GPU-15",
    may=("gpu_xid_warning", "gpu_pages_retired"),
    unfit=False,
    fit_at_end=True,
    node=v100s,
)
def old_card_says_92_again_and_again(node: Story) -> None:
    """Xid 92 four times in two hours, and hundreds of corrected errors beside it."""
    node.wait(60)
    kind = ("Gpus", "states", "15", "gpu", "ecc_errors_total", "corrected")
    node.rate(0.15, *kind, "volatile")
    node.rate(0.15, *kind, "aggregate")
    for _ in range(4):
        node.xid("15", 92, "High single-bit ECC error rate", **NOBODY)
        node.wait(1800, 60)


@incident(
    *("gpu_ecc_uncorrected@GPU-1", "gpu_row_remap_pending@GPU-1"),
    may=(*GPU_AFTER, "gpu_memory_contained"),
    unfit=True,
    gone=("gpu_ecc_uncorrected", "gpu_row_remap_pending"),
    fit_at_end=True,
    node=grace_hopper,
)
def memory_of_a_superchip_is_repaired(node: Story) -> None:
    """Xid 48, 171, 63 and 154 on PCI domain 9; the card is drained and reset by hand."""
    where = "NVRM: Xid (PCI:0009:01:00): "
    nobody = "pid='<unknown>', name=<unknown>, "
    node.wait(60)
    node.log(
        f"{where}48, {nobody}{DOUBLE_BIT}",
        f"{where}171, {nobody}Uncorrectable DRAM error",
        f"{where}63, {nobody}{REMAP.format(0x7A0C31D80)}",
        f"{where}154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
    )
    node.gpu("1", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("1", row_remap_pending=True, recovery_action="drain_and_reset")
    node.wait(1500, 60)
    rests(node)
    node.wait(60)
    node.log(f"{where}154, GPU recovery action changed from 0x4 (Drain and Reset) to 0x0 (None)")
    node.gpu("1", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 1}})
    node.gpu("1", row_remap_pending=False, recovery_action="none", energy_joules_total=9.0)
    node.wait(120, 30)


@incident(
    "gpu_row_remap_failed@GPU-c2",
    may=(*GPU_AFTER, "gpu_row_remap_low", "gpu_ecc_uncorrected"),
    unfit=True,
    lasts=("gpu_row_remap_failed@GPU-c2",),
    fit_at_end=False,
    node=pro_6000s,
)
def repair_fails_under_a_running_job(node: Story) -> None:
    """Xid 64: all spare rows of a bank are used; a load of the driver changes nothing."""
    node.wait(60)
    text = "Row Remapper Error: (0x0000000b51fe0440) - All reserved rows for bank are remapped"
    node.xid("c2", 64, text, **NOBODY)
    node.gpu("c2", row_remap_failed=True, row_remap_banks={"max": 639, "none": 1})
    node.wait(1800, 60)
    unloads(node)
    loads(node, pro_6000s)
    node.gpu("c2", row_remap_failed=True)
    node.wait(HOURS, 240)


@incident(
    "gpu_memory_uncontained@GPU-2d",
    may=(*GPU_AFTER, "gpu_ecc_uncorrected"),
    unfit=True,
    lasts=("gpu_memory_uncontained@GPU-2d",),
    fit_at_end=False,
    node=hgx,
)
def all_ranks_of_a_card_meet_an_uncontained_error(node: Story) -> None:
    """Xid 95 for three processes, 154 with a reset that nobody does."""
    node.wait(60)
    for pid in ("4712", "6001", "6002"):
        text = "Uncontained: HBM (0x5, 0x2). RST: Yes, D-RST: No"
        node.xid("2d", 95, text, pid=pid, name="pt_main_thread")
    node.xid("2d", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("2d", recovery_action="reset", processes=[])
    node.put("Workloads", "clients", **{"4712": None})
    node.wait(HOURS, 240)


@incident(
    "gpu_inforom_corrupted@GPU-a5",
    may=("gpu_inforom_problem",),
    unfit=False,
    lasts=("gpu_inforom_corrupted",),
    fit_at_end=True,
    node=pro_6000s,
)
def inforom_of_one_board_is_not_valid(node: Story) -> None:
    """The checksum of the infoROM of one card has been wrong since its last flash."""
    node.gpu("a5", inforom_valid=False)
    node.wait(3600, 120)


@incident(
    *("gpu_ecc_uncorrected@GPU-9b", "gpu_memory_contained@GPU-9b"),
    may=(*GPU_AFTER, "gpu_row_remap_pending"),
    unfit=True,
    lasts=("gpu_ecc_uncorrected@GPU-9b",),
    fit_at_end=False,
    node=hgx,
)
def exporter_restarts_amid_a_memory_error(node: Story) -> None:
    """Xid 48 and 94 of one rank; ten minutes later the exporter is started again."""
    node.wait(60)
    node.xid("9b", 48, DOUBLE_BIT, **NOBODY)
    node.gpu("9b", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("9b", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    text = "Contained: SM (0x1). RST: No, D-RST: No"
    node.xid("9b", 94, text, pid="4715", name="pt_main_thread")
    node.put("Workloads", "clients", **{"4715": None})
    node.gpu("9b", processes=[])
    node.wait(600, 60)
    restarts(node)
    node.wait(HOURS, 240)


CASES = (
    server_of_models_loses_a_row,
    last_sram_error_passes_the_threshold,
    spare_rows_of_some_banks_are_nearly_used_up,
    old_card_says_92_again_and_again,
    memory_of_a_superchip_is_repaired,
    repair_fails_under_a_running_job,
    all_ranks_of_a_card_meet_an_uncontained_error,
    inforom_of_one_board_is_not_valid,
    exporter_restarts_amid_a_memory_error,
)
