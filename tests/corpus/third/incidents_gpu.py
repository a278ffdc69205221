"""The last unseen batch: incidents of GPUs, their links and their driver."""

from tests.corpus.labels import incident
from tests.corpus.machines import blackwell
from tests.corpus.parts import backend, client, limits
from tests.corpus.story import Story
from tests.corpus.words import (
    DOUBLE_BIT,
    FELL,
    GPU_AFTER,
    GSP,
    STARVED,
    driver_loads_again,
)

ECC = "gpu_ecc_uncorrected@GPU-9b"
REMAP = "gpu_row_remap_pending@GPU-9b"
FAILED = "gpu_row_remap_failed@GPU-1b"
OTHER = {"namespace": "team-b", "pod": "sweep-3", "container": "main"}
LINK_DOWN = "NETIR_LINK_DOWN  Fatal   XC0 i0 Link 07 (0x00400011 0x00000000 0x00000000 0x00000000)"
VICTIM = "RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x00000007 0x00000004 0x00000000 0x00000000)"


@incident(ECC, REMAP, may=(*GPU_AFTER, "gpu_reset_required"), is_over=True)
def error_and_repair_end_with_a_reset_by_hand(node: Story) -> None:
    """Xid 48 and 63; the job is drained and the card reset by nvidia-smi without any line."""
    node.wait(60)
    node.gpu("9b", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.xid("9b", 48, DOUBLE_BIT)
    node.xid("9b", 63, "Row Remapper: New row (0x00000001f2ab3c40) marked for remapping, reset gpu")
    node.gpu("9b", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    node.gpu("9b", recovery_action="drain_and_reset")
    node.wait(1200, 60)
    node.job_ends()
    node.wait(60)
    node.gpu("9b", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 1}})
    node.gpu("9b", row_remap_pending=False, recovery_action="none")
    node.wait(30)


@incident("gpu_gsp_failure@GPU-9b", may=GPU_AFTER, unfit=True, lasts=("gpu_gsp_failure@GPU-9b",))
def firmware_prints_so_much_that_it_is_thinned_out(node: Story) -> None:
    """No Xid in the ring any more, only the words that its lines are thinned out."""
    node.wait(60)
    node.log(
        "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:9b:00 (printing 1 of every "
        "30).  The GPU likely needs to be reset."
    )
    node.wait(2 * 3600, 300)


@incident(
    *("gpu_lost@GPU-1b", "gpu_lost@GPU-bb"),
    root=("gpu_lost@GPU-1b", "gpu_lost@GPU-bb"),
    may=GPU_AFTER,
    unfit=True,
    lasts=("gpu_lost@GPU-1b", "gpu_lost@GPU-bb"),
)
def two_cards_fall_an_hour_apart(node: Story) -> None:
    """One card falls off the bus, an hour later another one: neither explains the other."""
    node.wait(60)
    node.xid("1b", 79, FELL)
    node.lose("1b")
    node.wait(3600, 300)
    node.xid("bb", 79, FELL)
    node.lose("bb")
    node.wait(600, 60)


@incident("gpu_reset_required@GPU-3b", may=(*GPU_AFTER, "gpu_lost"), unfit=True)
def card_refuses_work_before_we_began_to_look(node: Story) -> None:
    """NVML wants a reset of one card from the first look on; the log is empty."""
    node.lose("3b", "reset_required")
    node.wait(300, 30)


@incident(FAILED, may=("gpu_row_remap_low", *GPU_AFTER), unfit=True, lasts=(FAILED,))
def failed_repair_survives_a_reset(node: Story) -> None:
    """Xid 64; the driver is loaded anew and its flag still says that the repair failed."""
    node.wait(60)
    text = "Row Remapper Error: (0x00000001f2ab3c40) - All reserved rows for bank are remapped"
    node.xid("1b", 64, text)
    node.gpu("1b", row_remap_failed=True)
    node.wait(600, 60)
    driver_loads_again(node)
    node.gpu("1b", row_remap_failed=True)
    node.wait(600, 60)


@incident(
    "gpu_memory_overheat@GPU-bb",
    may=("gpu_thermal_throttle", "gpu_thermal_slowdown", "gpu_clock_low", "gpu_overheat"),
)
def memory_of_one_card_is_too_hot(node: Story) -> None:
    """The memory passes its limit and clocks are cut; the chip itself has a margin."""
    node.wait(60)
    node.gpu("bb", memory_temperature_celsius=97.0)
    node.wait(120)
    node.gpu("bb", throttle_active={"sw_thermal_slowdown": 1})
    node.wait(600, 30)


@incident(
    "nvlink_fatal@*3b:00.0*|gpu_nvlink_fatal@GPU-3b",
    may=(*GPU_AFTER, "nvlink_fatal", "gpu_nvlink_fatal"),
    root="nvlink_fatal@*3b:00.0*|gpu_nvlink_fatal@GPU-3b",
    unfit=True,
    node=blackwell,
)
def link_down_here_and_a_victim_there(node: Story) -> None:
    """Xid 149 of a link that is down, and five seconds later 145 of the card at its other end."""
    node.wait(60)
    node.xid("3b", 149, LINK_DOWN)
    node.wait(5, 5)
    node.xid("9b", 145, VICTIM, pid="4713", name="ray::Worker")
    node.xid("9b", 45, "Ch 00000009 caused by previous Xid 145", pid="4713", name="ray::Worker")
    node.wait(300, 30)


@incident("gpu_suspect_hardware@GPU-bb", may=("gpu_app_fault",))
def one_place_of_a_card_faults_under_two_jobs(node: Story) -> None:
    """Xid 13 at the same GPC and TPC under two jobs within hours."""
    text = "Graphics SM Warp Exception on (GPC 4, TPC 1, SM 0): Illegal Instruction Encoding"
    node.wait(60)
    node.xid("bb", 13, text, pid="4714", name="trainer")
    node.wait(3600, 300)
    node.put("Workloads", "clients", **{"4714": None})
    uid = "eeeeeeee-1111-2222-3333-444455556666"
    node.put("Workloads", "clients", **{"5002": client(5002, "bb", workload=OTHER, pod_uid=uid)})
    node.wait(60)
    node.xid("bb", 13, text, pid="5002", name="python3")
    node.wait(120)


@incident("gpu_lost@GPU-3b", may=(*GPU_AFTER, "nvml_unavailable"), unfit=True)
def card_is_lost_where_only_nvidia_smi_answers(node: Story) -> None:
    """nvidia-smi names a card that is lost; the other three are still read."""
    node.put("Gpus", backend={"backend": "nvidia-smi", "reason": "disabled", "nvml_up": None})
    node.wait(120, 30)
    node.log("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.")
    node.lose("3b")
    node.wait(300, 30)


@incident(
    "driver_version_mismatch@node",
    may=(*GPU_AFTER, "nvml_unavailable"),
    gone=("driver_version_mismatch", "nvml_unavailable"),
    fit_at_end=True,
)
def mismatch_ends_when_the_module_is_loaded(node: Story) -> None:
    """The library is newer than the module until the module is loaded anew."""
    node.wait(30)
    node.put("Gpus", backend={**backend(), "backend": "cache", "reason": "version_mismatch"})
    node.put("Gpus", "backend", nvml_up=False)
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.log(
        "NVRM: API mismatch: the client has the version 580.65.06, but\n"
        "NVRM: this kernel module has the version 570.124.06.  Please\n"
        "NVRM: make sure that this kernel module and all NVIDIA driver\n"
        "NVRM: components have the same version."
    )
    node.wait(600, 30)
    driver_loads_again(node)


@incident("iommu_fault@0000:9b:00.0", may=("gpu_app_fault",))
def iommu_in_the_words_of_an_older_kernel(node: Story) -> None:
    """The address of the card stands inside the brackets."""
    node.wait(60)
    for page in range(4):
        node.log(
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=9b:00.0 domain=0x000e "
            f"address=0xd3f{page:x}0040 flags=0x0070]"
        )
    node.wait(120)


@incident(ECC, may=(*GPU_AFTER, "gpu_row_remap_pending"), unfit=True, gone=(ECC,))
def memory_error_without_a_log(node: Story) -> None:
    """No kernel log and no Xid: the volatile counter rises; it is gone with the driver's load."""
    node.put(KernelLog=None)
    node.wait(60)
    node.gpu("9b", ecc_errors_total={"uncorrected": {"volatile": 3, "aggregate": 3}})
    node.wait(600, 60)
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    states = node.take_away("Gpus", "states")
    node.put("Gpus", states={})
    node.wait(30)
    node.put("Gpus", states=states, backend=backend())
    node.gpu("9b", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 3}})
    node.wait(30)


@incident("nvlink_errors@GPU-1b", unfit=False)
def link_with_many_damaged_packets(node: Story) -> None:
    """Four hundred checksum errors a second on the links of one card."""
    node.wait(60)
    node.rate(400.0, "Gpus", "states", "1b", "gpu", "nvlink_errors_total", "crc_flit")
    node.wait(600, 30)


@incident(
    *(f"fabric_not_ready@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    root=tuple(f"fabric_not_ready@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    may=("gpu_allocated_unused", "gpu_idle_allocated"),
)
def fabric_manager_was_not_started(node: Story) -> None:
    """The fabric waits for its manager for a quarter of an hour."""
    node.gpus(fabric_state="not_started", fabric_healthy=None)
    node.wait(900, 30)


@incident("gpu_recovery_required@GPU-bb", may=GPU_AFTER)
def driver_wants_the_card_drained(node: Story) -> None:
    """Xid 154 with another action than a reset, by the field too."""
    node.wait(60)
    text = "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"
    node.xid("bb", 154, text)
    node.gpu("bb", recovery_action="drain_and_reset")
    node.wait(300, 30)


@incident(
    *("gpu_gsp_failure@GPU-3b", "hung_task@4712"),
    may=(*GPU_AFTER, *STARVED),
    unfit=True,
    root="gpu_gsp_failure@GPU-3b",
)
def rank_blocks_in_the_driver(node: Story) -> None:
    """The firmware of a card is silent and the rank on it blocks in the kernel."""
    node.wait(60)
    node.xid("3b", 119, GSP, pid="4712", name="trainer")
    node.process(4712, state="uninterruptible", waits_since_boottime=node.at)
    node.wait(130, 10)
    node.log("INFO: task trainer:4712 blocked for more than 122 seconds.")
    node.wait(120)


@incident("gpu_power_brake@GPU-bb", may=("gpu_clock_low", "gpu_thermal_throttle"))
def one_card_is_braked(node: Story) -> None:
    """The external brake of one card for minutes."""
    node.wait(60)
    node.gpu("bb", throttle_active=limits("hw_power_brake_slowdown", "hw_slowdown"))
    node.gpu("bb", power_draw_watts=310.0, clock_hertz={"sm": 7e8})
    node.wait(300)


CASES = (
    error_and_repair_end_with_a_reset_by_hand,
    firmware_prints_so_much_that_it_is_thinned_out,
    two_cards_fall_an_hour_apart,
    card_refuses_work_before_we_began_to_look,
    failed_repair_survives_a_reset,
    memory_of_one_card_is_too_hot,
    link_down_here_and_a_victim_there,
    one_place_of_a_card_faults_under_two_jobs,
    card_is_lost_where_only_nvidia_smi_answers,
    mismatch_ends_when_the_module_is_loaded,
    iommu_in_the_words_of_an_older_kernel,
    memory_error_without_a_log,
    link_with_many_damaged_packets,
    fabric_manager_was_not_started,
    driver_wants_the_card_drained,
    rank_blocks_in_the_driver,
    one_card_is_braked,
)
