"""Incidents of cards of AMD, Intel and Ascend, and of tenants that use more than their share."""

from tests.corpus.labels import incident
from tests.corpus.probes.nodes import arc_cards, holds, mi300xs, npus, shared_card, uses_time
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER

AFTER = (*GPU_AFTER, "gpu_ring_timeout", "gpu_page_fault")


def _says(node: Story, bus: str, *lines: str) -> None:
    """The driver amdgpu prints lines about one card."""
    node.log(*(f"amdgpu 0000:{bus}:00.0: amdgpu: {line}" for line in lines))


@incident("gpu_ring_timeout@GPU-26", may=GPU_AFTER, unfit=False, node=mi300xs)
def amd_ring_times_out_and_the_card_is_reset(node: Story) -> None:
    """A ring hangs under a process; the driver resets the card, and it works again."""
    node.wait(60)
    _says(
        node,
        "26",
        "ring comp_1.2.0 timeout, signaled seq=140118, emitted seq=140120",
        "Process information: process trainer pid 7002 thread trainer pid 7002",
        "GPU reset begin!. Source:  1",
    )
    node.wait(5, 5)
    _says(node, "26", "GPU reset(1) succeeded!")
    node.put("Workloads", "clients", **{"7002": None})
    node.wait(600, 60)


@incident(
    "gpu_reset_failed@GPU-46",
    may=AFTER,
    unfit=True,
    lasts=("gpu_reset_failed@GPU-46",),
    fit_at_end=False,
    node=mi300xs,
)
def amd_reset_fails(node: Story) -> None:
    """A ring hangs and the reset of its card fails: the card is of no use until a reboot."""
    node.wait(60)
    _says(
        node,
        "46",
        "ring sdma0 timeout, signaled seq=9931, emitted seq=9934",
        "GPU reset begin!. Source:  1",
    )
    node.wait(15, 5)
    _says(node, "46", "GPU reset(1) failed", "GPU reset end with ret = -110")
    node.gpu("46", utilization_percent=0.0, power_draw_watts=140.0)
    node.wait(3600, 120)


@incident(
    "gpu_firmware_timeout@GPU-65",
    may=(*AFTER, "gpu_reset_failed"),
    unfit=True,
    gone=("gpu_firmware_timeout",),
    fit_at_end=True,
    node=mi300xs,
)
def amd_scheduler_does_not_answer(node: Story) -> None:
    """The MES firmware is silent; a reset half a minute later brings it back."""
    node.wait(60)
    _says(
        node,
        "65",
        "MES(1) failed to respond to msg=REMOVE_QUEUE",
        "MES might be in unrecoverable state, issue a GPU reset",
        "GPU reset begin!. Source:  3",
    )
    node.wait(30, 10)
    _says(node, "65", "GPU reset(2) succeeded!")
    node.wait(300, 30)


@incident(
    "gpu_ecc_uncorrected@GPU-05",
    may=(*AFTER, "gpu_pages_retired@GPU-05"),
    unfit=True,
    node=mi300xs,
)
def amd_memory_has_an_uncorrectable_error(node: Story) -> None:
    """The umc block reports two errors, and the counter in sysfs rises too."""
    node.wait(60)
    _says(
        node,
        "05",
        "{17}socket: 0, die: 3, 2 new uncorrectable hardware errors detected in umc block",
    )
    node.gpu("05", ecc_errors_total={"uncorrected": {"volatile": 2}})
    node.gpu("05", retired_pages_total={"uncorrected": 2}, retired_pages_pending=True)
    node.wait(900, 60)


@incident(
    "gpu_bad_page_threshold@GPU-05",
    may=(*AFTER, "gpu_pages_retired"),
    unfit=True,
    lasts=("gpu_bad_page_threshold@GPU-05",),
    node=mi300xs,
)
def amd_card_has_too_many_bad_pages(node: Story) -> None:
    """The number of saved bad pages reaches what the driver allows: the card is to be replaced."""
    node.wait(60)
    _says(node, "05", "Saved bad pages 256 reaches threshold value 256")
    node.gpu("05", retired_pages_total={"uncorrected": 256})
    node.wait(3600, 120)


@incident(
    "gpu_lost@GPU-26",
    may=AFTER,
    unfit=True,
    lasts=("gpu_lost@GPU-26",),
    fit_at_end=False,
    node=mi300xs,
)
def amd_card_falls_off_the_bus(node: Story) -> None:
    """The driver says that its device is lost, and the registers read as all ones."""
    node.wait(60)
    _says(node, "26", "device lost from bus!")
    node.lose("26")
    node.wait(1200, 60)


@incident(
    "gpu_init_failed@0000:65:00.0|gpu_init_failed@GPU-65",
    may=(*AFTER, "gpu_lost@GPU-65"),
    node=mi300xs,
)
def amd_card_does_not_start(node: Story) -> None:
    """After a reload of the driver one of four cards does not come up."""
    node.state("65", up=False, reason="not_listed", stale=True)
    _says(node, "65", "Fatal error during GPU init")
    node.log("amdgpu 0000:65:00.0: probe with driver amdgpu failed with error -22")
    node.wait(1200, 60)


@incident("gpu_page_fault@GPU-46", unfit=False, gone=("gpu_page_fault",), node=mi300xs)
def amd_process_touches_memory_that_is_not_its(node: Story) -> None:
    """A program faults on a card; that is its own affair, and over when it has happened."""
    node.wait(60)
    _says(
        node,
        "46",
        "[gfxhub0] no-retry page fault (src_id:0 ring:40 vmid:8 pasid:32776, for process trainer "
        "pid 7003 thread trainer pid 7003)",
        "  in page starting at address 0x00007ff512a04000 from IH client 0x1b (UTCL2)",
    )
    node.wait(1800, 60)


@incident(
    "gpu_overheat@GPU-46",
    may=("gpu_thermal_slowdown@GPU-46", "gpu_thermal_throttle@GPU-46", "gpu_clock_low@GPU-46"),
    node=mi300xs,
)
def amd_card_is_at_its_heat_limit(node: Story) -> None:
    """One card of four is one degree below its slowdown, and its throttler works."""
    node.wait(60)
    node.gpu("46", temperature_celsius=99.0, thermal_margin_celsius=1.0)
    node.gpu("46", throttle_active={"sw_thermal_slowdown": 1})
    node.wait(600, 30)


@incident(
    "gpu_thermal_throttle@GPU-c4",
    may=("gpu_overheat@GPU-c4", "gpu_thermal_slowdown@GPU-c4"),
    node=arc_cards,
)
def intel_card_is_throttled_by_prochot(node: Story) -> None:
    """PROCHOT holds the clocks of one card of Intel down for ten minutes."""
    node.wait(60)
    node.gpu("c4", throttle_active={"hw_thermal_slowdown": 1}, clock_hertz={"graphics": 6e8})
    node.wait(600, 30)


@incident("gpu_hung@GPU-44", may=GPU_AFTER, unfit=True, node=arc_cards)
def intel_card_does_not_answer(node: Story) -> None:
    """A file of one card never answers."""
    node.wait(60)
    node.state("44", up=False, reason="hung", stale=True)
    node.wait(600, 30)


@incident(
    "gpu_unhealthy@GPU-81",
    may=("gpu_idle_allocated",),
    unfit=True,
    gone=("gpu_unhealthy",),
    fit_at_end=True,
    node=npus,
)
def npu_is_in_alarm_until_it_is_reset(node: Story) -> None:
    """npu-smi says alarm of one chip for ten minutes; after a reset it says ok."""
    node.wait(60)
    node.gpu("81", health="alarm")
    node.wait(600, 30)
    node.gpu("81", health="ok")
    node.wait(180, 30)


@incident(
    *("gpu_unhealthy@GPU-c2", "npu_abnormal@node"),
    root="npu_abnormal@node",
    may=GPU_AFTER,
    unfit=True,
    node=npus,
)
def npu_no_longer_answers_its_driver(node: Story) -> None:
    """The driver calls a chip abnormal with each message; half a minute later npu-smi does too."""
    text = (
        "[ascend] [drv_pcie] [devdrv_sync_non_trans_msg_send 1239] <kworker/u385:0:15232:15232> "
        "Device is abnormal. (dev_id=1; msg_type=3)"
    )
    node.wait(60)
    node.log(text)
    node.wait(30, 10)
    node.gpu("c2", health="critical", utilization_percent=0.0)
    for _ in range(10):
        node.log(text)
        node.wait(60, 30)


@incident("workload_over_memory_quota@a/serve-0/main", unfit=False, is_over=True, node=shared_card)
def tenant_holds_more_memory_than_its_quota(node: Story) -> None:
    """A tenant overrides its limit and takes 30 of its 20 GiB for ten minutes."""
    node.wait(60)
    holds(node, "a", 30.0)
    node.wait(600, 30)
    holds(node, "a", 19.0)
    node.wait(180, 30)


@incident("workload_over_sm_quota@b/serve-0/main", unfit=False, is_over=True, node=shared_card)
def tenant_uses_more_time_than_its_quota(node: Story) -> None:
    """A tenant's limiter is switched off: it takes 95 percent of the time for a quarter hour."""
    node.wait(60)
    uses_time(node, "b", 95.0)
    node.wait(900, 30)
    uses_time(node, "b", 38.0)
    node.wait(180, 30)


CASES = (
    amd_ring_times_out_and_the_card_is_reset,
    amd_reset_fails,
    amd_scheduler_does_not_answer,
    amd_memory_has_an_uncorrectable_error,
    amd_card_has_too_many_bad_pages,
    amd_card_falls_off_the_bus,
    amd_card_does_not_start,
    amd_process_touches_memory_that_is_not_its,
    amd_card_is_at_its_heat_limit,
    intel_card_is_throttled_by_prochot,
    intel_card_does_not_answer,
    npu_is_in_alarm_until_it_is_reset,
    npu_no_longer_answers_its_driver,
    tenant_holds_more_memory_than_its_quota,
    tenant_uses_more_time_than_its_quota,
)
