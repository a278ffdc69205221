"""Incidents of cards of AMD, Intel and Huawei."""

from tests.corpus.labels import incident
from tests.corpus.seventh.nodes import HEAT, SPINS, arcs, mi300s, npus, radeons
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER

HOURS = 2 * 3600
RESETS = ("gpu_ring_timeout", "gpu_reset_failed", "gpu_firmware_timeout", "gpu_page_fault")


@incident(
    "gpu_ring_timeout@GPU-0a",
    may=("gpu_page_fault", "process_crashed"),
    never=("gpu_reset_failed", "gpu_lost"),
    fit_at_end=True,
    node=radeons,
)
def ring_of_a_radeon_times_out_and_is_reset(node: Story) -> None:
    """A ring does not end its work; the driver resets the card and goes on."""
    card = "amdgpu 0000:0a:00.0: amdgpu:"
    node.wait(60)
    node.log(
        f"{card} ring gfx_0.0.0 timeout, signaled seq=418822, emitted seq=418824",
        f"{card}  Process llama-server pid 4711 thread llama-serv:cs0 pid 4730",
        f"{card} Starting gfx_0.0.0 ring reset",
        f"{card} Ring gfx_0.0.0 reset failed",
        f"{card} GPU reset begin!",
        f"{card} MODE1 reset",
        f"{card} GPU reset succeeded, trying to resume",
        f"{card} SMU is resumed successfully!",
        f"{card} GPU reset(2) succeeded!",
    )
    node.wait(HOURS, 120)


@incident(
    *("gpu_firmware_timeout@GPU-8c", "gpu_reset_failed@GPU-8c"),
    root=("gpu_firmware_timeout@GPU-8c|gpu_reset_failed@GPU-8c",),
    may=(*GPU_AFTER, *RESETS, "gpu_lost"),
    unfit=True,
    lasts=("gpu_reset_failed@GPU-8c",),
    fit_at_end=False,
    node=radeons,
)
def scheduler_of_a_radeon_is_silent_and_its_reset_fails(node: Story) -> None:
    """The scheduler firmware does not answer, and the reset ends with an error."""
    card = "amdgpu 0000:8c:00.0: amdgpu:"
    node.wait(60)
    node.log(
        f"{card} MES failed to respond to msg=REMOVE_QUEUE",
        f"{card} failed to remove hardware queue from MES, doorbell=0x1002",
        f"{card} MES might be in unrecoverable state, issue a GPU reset",
        f"{card} Failed to evict queue 1",
        f"{card} GPU reset begin!. Source:  3",
        f"{card} MODE1 reset",
        f"{card} GPU mode1 reset failed",
        f"{card} ASIC reset failed with error, -110 for drm dev, 0000:8c:00.0",
        f"{card} GPU reset(4) failed",
        f"{card} GPU reset end with ret = -110",
    )
    node.wait(HOURS, 240)


@incident(
    "gpu_ecc_uncorrected@GPU-66",
    may=(*GPU_AFTER, *RESETS, "gpu_pages_retired", "gpu_memory_contained"),
    unfit=True,
    node=mi300s,
)
def memory_of_an_instinct_has_an_uncorrectable_error(node: Story) -> None:
    """The memory controller of one card reports an error, its page is retired, a rank ends."""
    card = "amdgpu 0000:66:00.0: amdgpu:"
    node.wait(60)
    node.log(
        f"{card} {{4}}socket: 3, die: 1, 1 new uncorrectable hardware errors detected in umc block",
        f"{card} {{4}}socket: 3, die: 1, 1 uncorrectable hardware errors detected in total in umc "
        "block",
        f"{card} RAS poison consumption, unmap queue flow succeeded: client id 27",
    )
    node.gpu("66", ecc_errors_total={"uncorrected": {"volatile": 1}})
    node.put("Workloads", "clients", **{"4714": None})
    node.gpu("66", processes=[])
    node.wait(HOURS, 240)


@incident(
    "gpu_bad_page_threshold@GPU-bf",
    may=(*GPU_AFTER, "gpu_pages_retired", "gpu_init_failed", "gpu_probe_failed"),
    unfit=True,
    lasts=("gpu_bad_page_threshold@GPU-bf",),
    fit_at_end=False,
    node=mi300s,
)
def instinct_has_too_many_bad_pages(node: Story) -> None:
    """At the load of the driver one card has more bad pages than it may have."""
    node.put("Host", uptime_secs=60.0)
    node.log(
        "amdgpu 0000:bf:00.0: amdgpu: RAS records:266 exceed threshold:256",
        "amdgpu 0000:bf:00.0: amdgpu: Please consult AMD Service Action Guide (SAG) for "
        "appropriate service procedures",
    )
    node.wait(HOURS, 240)


@incident(
    "gpu_lost@GPU-e4",
    may=(*GPU_AFTER, *RESETS, *SPINS),
    unfit=True,
    lasts=("gpu_lost@GPU-e4",),
    fit_at_end=False,
    node=mi300s,
)
def instinct_leaves_the_bus(node: Story) -> None:
    """The registers of one card read only ones; the driver says that it is lost."""
    node.wait(60)
    node.log(
        "amdgpu 0000:e4:00.0: amdgpu: device lost from bus!",
        "amdgpu 0000:e4:00.0: amdgpu: SMU: response:0xFFFFFFFF for index:18 param:0x00000005 "
        "message:TransferTableSmu2Dram?",
        "amdgpu 0000:e4:00.0: amdgpu: Failed to export SMU metrics table!",
    )
    node.state("e4", up=False, reason="gpu_lost", stale=True)
    node.wait(HOURS, 240)


@incident(
    "gpu_memory_overheat@GPU-3f",
    may=HEAT,
    unfit=False,
    gone=("gpu_memory_overheat",),
    fit_at_end=True,
    node=mi300s,
)
def memory_of_an_instinct_is_too_hot(node: Story) -> None:
    """The memory of one card is above its limit for a quarter of an hour."""
    node.gpus(memory_temperature_celsius=74.0)
    node.wait(60)
    node.gpu("3f", memory_temperature_celsius=107.0, temperature_celsius=79.0)
    node.gpu("3f", thermal_margin_celsius=14.0)
    node.wait(900, 30)
    node.gpu("3f", memory_temperature_celsius=76.0, temperature_celsius=61.0)
    node.gpu("3f", thermal_margin_celsius=38.0)
    node.wait(1800, 60)


@incident(
    "gpu_ecc_corrected_rate@GPU-19",
    unfit=False,
    fit_at_end=True,
    node=mi300s,
)
def instinct_corrects_hundreds_of_errors(node: Story) -> None:
    """Five corrected errors a minute of the memory of one card for three hours."""
    node.wait(60)
    for count in range(10, 910, 10):
        node.log(
            f"amdgpu 0000:19:00.0: amdgpu: {{{count}}}socket: 0, die: 0, 10 new correctable "
            "hardware errors detected in umc block"
        )
        node.gpu("19", ecc_errors_total={"corrected": {"volatile": count}})
        node.wait(120, 60)


@incident(
    "gpu_ring_timeout@GPU-8c",
    may=(*RESETS, "gpu_suspect_hardware"),
    never=("gpu_lost", "gpu_reset_failed"),
    fit_at_end=True,
    node=arcs,
)
def engine_of_an_arc_is_reset_twice(node: Story) -> None:
    """The compute engine of one card is reset for jobs that did not end, an hour apart."""
    card = "xe 0000:8c:00.0: [drm] Tile0: GT0:"
    node.wait(60)
    for number in (2693, 3110):
        node.log(
            f"{card} Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=9, state=0x29",
            f"{card} Timedout job: seqno={number}, lrc_seqno={number}, guc_id=9, flags=0x20 in "
            "llama-server [4712]",
            "xe 0000:8c:00.0: [drm] Xe device coredump has been created",
        )
        node.wait(3600, 120)


@incident(
    "gpu_reset_failed@GPU-0a|gpu_firmware_timeout@GPU-0a|gpu_hung@GPU-0a|gpu_lost@GPU-0a",
    may=(*GPU_AFTER, *RESETS),
    unfit=True,
    fit_at_end=False,
    node=arcs,
)
def driver_gives_an_arc_up(node: Story) -> None:
    """The reset of a card fails, and the driver blocks it until it is bound anew."""
    card = "xe 0000:0a:00.0: [drm]"
    node.wait(60)
    node.log(
        f"{card} Tile0: GT0: trying reset from guc_exec_queue_timedout_job [xe]",
        f"{card} Tile0: GT0: reset queued",
        f"{card} *ERROR* Tile0: GT0: reset failed (-ETIMEDOUT)",
        f"{card} *ERROR* CRITICAL: Xe has declared device 0000:0a:00.0 as wedged.\n"
        "IOCTLs and executions are blocked. Only a rebind may clear the failure",
    )
    node.wait(HOURS, 240)


@incident(
    "gpu_unhealthy@GPU-2d",
    may=GPU_AFTER,
    lasts=("gpu_unhealthy@GPU-2d",),
    node=npus,
)
def driver_calls_a_chip_alarming(node: Story) -> None:
    """The health of one of eight Ascend chips goes from OK to alarm and stays there."""
    node.wait(300, 60)
    node.gpu("2d", health="alarm", utilization_percent=0.0)
    node.wait(HOURS, 240)


CASES = (
    ring_of_a_radeon_times_out_and_is_reset,
    scheduler_of_a_radeon_is_silent_and_its_reset_fails,
    memory_of_an_instinct_has_an_uncorrectable_error,
    instinct_has_too_many_bad_pages,
    instinct_leaves_the_bus,
    memory_of_an_instinct_is_too_hot,
    instinct_corrects_hundreds_of_errors,
    engine_of_an_arc_is_reset_twice,
    driver_gives_an_arc_up,
    driver_calls_a_chip_alarming,
)
