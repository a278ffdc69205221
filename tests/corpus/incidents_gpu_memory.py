"""Incidents in the memory of a GPU: errors, repairs, and what jobs notice of them."""

from tests.corpus.labels import incident
from tests.corpus.story import Story

REMAP = "Row Remapper: New row (0x000000012ab3c400) marked for remapping, reset gpu to activate."
UNKNOWN = {"pid": "'<unknown>'", "name": "<unknown>"}
ECC = "gpu_ecc_uncorrected@GPU-3b"
CONTAINED = "gpu_memory_contained@GPU-3b"
REPAIR_WAITS = "gpu_row_remap_pending@GPU-3b"
ASKED = ("gpu_recovery_required", "gpu_app_fault", "gpu_idle_allocated", "gpu_allocated_unused")


def _double_bit_error(node: Story) -> None:
    node.gpu("3b", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.xid(
        "3b", 48, "An uncorrectable double bit error (DBE) has been detected on GPU.", **UNKNOWN
    )


@incident(ECC, REPAIR_WAITS, CONTAINED, may=ASKED)
def memory_error_repaired_and_contained(node: Story) -> None:
    """Xid 48, then 63 (a spare row), 94 (contained) and 45 on the job."""
    node.wait(60)
    _double_bit_error(node)
    node.wait(5, 5)
    node.xid("3b", 63, REMAP, **UNKNOWN)
    node.gpu("3b", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    node.xid("3b", 94, "Contained: DRAM (0x1, 0x3). RST: No, D-RST: No", pid="4712", name="trainer")
    node.xid("3b", 45, "Ch 00000009", pid="4712", name="trainer")
    node.wait(60)


@incident(REPAIR_WAITS, may=ASKED, is_over=True)
def repair_waits_and_a_reset_clears_it(node: Story) -> None:
    """Xid 63 alone: the row waits for a reset; after it the driver says that nothing waits."""
    node.wait(60)
    node.xid("3b", 63, REMAP, **UNKNOWN)
    node.gpu("3b", row_remap_pending=True, remapped_rows_total={"corrected": 1})
    node.wait(120, 30)
    node.gpu("3b", row_remap_pending=False)
    node.wait(1200, 60)


@incident(ECC, "gpu_row_remap_failed@GPU-3b", may=(*ASKED, CONTAINED))
def no_spare_rows_are_left(node: Story) -> None:
    """Xid 48 and then 64: the row could not be replaced."""
    node.wait(60)
    _double_bit_error(node)
    text = "Row Remapper Error: (0x000000012ab3c400) - All reserved rows for bank are remapped"
    node.xid("3b", 64, text, **UNKNOWN)
    node.gpu("3b", row_remap_failed=True)
    node.wait(120)


@incident("gpu_row_remap_failed@GPU-3b", may=("gpu_row_remap_low",))
def repair_failed_before_we_began_to_look(node: Story) -> None:
    """The driver says that a repair failed; no line of it is in the log any more."""
    node.gpu("3b", row_remap_failed=True)
    node.wait(60)


@incident("gpu_memory_uncontained@GPU-3b", may=ASKED)
def uncontained_error_without_a_reported_cause(node: Story) -> None:
    """Xid 95 alone, with a reset asked for: the consequence is the root where no cause is said."""
    node.wait(60)
    text = "Uncontained: LTC DATA (0x1, 0x3). RST: Yes, D-RST: No"
    node.xid("3b", 95, text, pid="4712", name="trainer")
    node.wait(120)


@incident(ECC, "gpu_recovery_required@GPU-3b", may=(CONTAINED, *ASKED))
def memory_error_and_the_driver_asks_for_a_reset(node: Story) -> None:
    """Xid 48, and right after it 154: a statement of the driver, not a fault of its own."""
    node.wait(60)
    _double_bit_error(node)
    node.wait(5, 5)
    text = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    node.xid("3b", 154, text)
    node.gpu("3b", recovery_action="reset")
    node.wait(90)


@incident("gpu_recovery_required@GPU-3b", may=("gpu_reset_required",))
def recovery_asked_for_without_a_reason(node: Story) -> None:
    """NVML says that a reboot is needed, and nobody said why."""
    node.wait(30)
    node.gpu("3b", recovery_action="reboot")
    node.wait(90)


@incident(ECC, may=(CONTAINED, *ASKED))
def memory_error_while_the_log_is_not_readable(node: Story) -> None:
    """No kernel log, no Xid of NVML: only the counter of uncorrected errors rises."""
    node.put(KernelLog=None)
    node.wait(120)
    node.gpu("3b", ecc_errors_total={"uncorrected": {"volatile": 2, "aggregate": 2}})
    node.wait(120)


@incident("gpu_sram_threshold@GPU-3b", root=ECC, may=(*ASKED, CONTAINED))
def static_memory_errors_pass_the_threshold(node: Story) -> None:
    """Uncorrected SRAM errors (48 with 172) until the board should be replaced."""
    node.wait(60)
    _double_bit_error(node)
    node.xid("3b", 172, "SRAM uncorrectable error", **UNKNOWN)
    node.gpu("3b", sram_threshold_exceeded=True)
    node.wait(120)


@incident("gpu_ecc_corrected_rate@GPU-3b")
def corrected_errors_come_fast(node: Story) -> None:
    """Thirty corrected errors in an hour for two hours: a trend worth a diagnosis."""
    node.wait(60)
    for count in range(1, 65):
        node.gpu("3b", ecc_errors_total={"corrected": {"volatile": count, "aggregate": count + 3}})
        node.wait(120, 120)


def _corrected_errors_come(node: Story) -> None:
    for count in (14, 41, 77):
        node.gpu("3b", ecc_errors_total={"corrected": {"volatile": count, "aggregate": count}})
        node.wait(60, 30)


TREND = "gpu_ecc_corrected_rate@GPU-3b"


@incident(ECC, REPAIR_WAITS, may=(TREND, *ASKED))
def corrected_errors_before_one_that_cannot_be(node: Story) -> None:
    """Errors are corrected for minutes, then one cannot be: the repair is for that one."""
    node.wait(60)
    _corrected_errors_come(node)
    node.put(KernelLog=None)  # NVML alone tells of the Xids
    _double_bit_error(node)
    node.xid("3b", 63, REMAP, **UNKNOWN)
    node.gpu("3b", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    node.wait(120, 30)


@incident(ECC, REPAIR_WAITS, may=(TREND, *ASKED))
def corrected_errors_before_one_that_only_counters_tell_of(node: Story) -> None:
    """The same where nobody reports Xids: what is likelier explains, not what came first."""
    node.put(KernelLog=None)
    node.wait(60)
    _corrected_errors_come(node)
    node.gpu("3b", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("3b", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    node.wait(120, 30)


@incident(REPAIR_WAITS, TREND, root=TREND, may=ASKED)
def corrected_errors_wear_out_a_row(node: Story) -> None:
    """A row is replaced for errors that were all corrected: they are the cause."""
    node.wait(60)
    _corrected_errors_come(node)
    node.gpu("3b", row_remap_pending=True, remapped_rows_total={"corrected": 1})
    node.wait(120, 30)


@incident("gpu_memory_orphan@GPU-3b")
def memory_held_by_a_process_that_is_gone(node: Story) -> None:
    """The job ended, but 20 GiB stay allocated for ten minutes without a process."""
    node.wait(30)
    node.job_ends()
    totals = [{"gpu_uuid": "GPU-3b", "orphan_memory_bytes": 20 * 2**30}]
    node.put("Workloads", totals=totals)
    node.gpu("3b", memory_used_bytes=20 * 2**30)
    node.wait(600, 30)


CASES = (
    memory_error_repaired_and_contained,
    repair_waits_and_a_reset_clears_it,
    no_spare_rows_are_left,
    repair_failed_before_we_began_to_look,
    uncontained_error_without_a_reported_cause,
    memory_error_and_the_driver_asks_for_a_reset,
    recovery_asked_for_without_a_reason,
    memory_error_while_the_log_is_not_readable,
    static_memory_errors_pass_the_threshold,
    corrected_errors_come_fast,
    corrected_errors_before_one_that_cannot_be,
    corrected_errors_before_one_that_only_counters_tell_of,
    corrected_errors_wear_out_a_row,
    memory_held_by_a_process_that_is_gone,
)
