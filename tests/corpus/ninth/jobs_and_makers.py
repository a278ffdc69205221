"""Incidents of jobs whose collectives are counted, and of cards of other makers."""

from tests.corpus.eighth.nodes import rank_ends
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import HOUR, mi250s, waits, works
from tests.corpus.probes.nodes import (
    COMM_PATH,
    counted_job,
    goes_on,
    is_late,
    job_is_gone,
    nobody_is_late,
    waits_for,
)
from tests.corpus.seventh.nodes import SPINS, arcs, mi300s, npus, radeons
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER

NCCL = (*SPINS, "nccl_hang", "nccl_rank_missing", "nccl_straggler")


@incident(
    "nccl_hang@*",
    may=NCCL,
    unfit=False,
    node=counted_job,
)
def all_ranks_wait_for_something_beyond_them(node: Story) -> None:
    """All four ranks are inside an all-reduce and none leaves it; the watchdog ends the job."""
    node.wait(300, 30)
    waits_for(node)
    waits(node)
    node.wait(1800, 30)
    job_is_gone(node)
    node.wait(600, 60)


@incident(
    "nccl_rank_missing@*",
    may=NCCL,
    unfit=False,
    gone=("nccl_rank_missing",),
    node=counted_job,
)
def one_rank_writes_a_checkpoint_for_ten_minutes(node: Story) -> None:
    """Rank 0 is outside the collective for ten minutes while three wait, then all go on."""
    node.wait(120, 30)
    waits_for(node, 0, call="ncclAllGather")
    node.put(*COMM_PATH, missing_busy=True)
    waits(node, *node.bus_addresses[1:])
    node.gpu(node.bus_addresses[0], utilization_percent=0.0, power_draw_watts=110.0)
    node.wait(600, 30)
    node.put(*COMM_PATH, missing_busy=None)
    goes_on(node)
    works(node)
    node.wait(1800, 60)


@incident(
    "nccl_straggler@*",
    may=(*NCCL, "gpu_clock_low", "gpu_unlike_siblings"),
    unfit=False,
    gone=("nccl_straggler",),
    node=counted_job,
)
def rank_beside_a_noisy_neighbour_is_late(node: Story) -> None:
    """One rank's data loader shares its cores with a copy of a disk: it is late for an hour."""
    node.wait(300, 30)
    is_late(node, 2, 0.62, 0.041)
    node.gpus(utilization_percent=88.0, power_draw_watts=480.0)
    node.wait(HOUR, 30)
    nobody_is_late(node)
    works(node)
    node.wait(1800, 60)


@incident(
    "gpu_ring_timeout@GPU-8c",
    may=(*GPU_AFTER, *SPINS, "gpu_page_fault"),
    never=("gpu_reset_failed",),
    fit_at_end=True,
    node=radeons,
)
def queue_of_a_radeon_is_reset_with_its_card(node: Story) -> None:
    """A ring does not answer, its reset fails, the whole card is reset and works again."""
    card = "amdgpu 0000:8c:00.0: amdgpu:"
    node.wait(120)
    node.log(
        f"{card} Dumping IP State",
        f"{card} ring gfx_0.0.0 timeout, signaled seq=57638, emitted seq=57641",
        f"{card}  Process llama-server pid 4712 thread llama-serv:cs0 pid 4730",
        f"{card} Starting gfx_0.0.0 ring reset",
        f"{card} Ring gfx_0.0.0 reset failed",
        f"{card} GPU reset begin!",
        f"{card} MODE1 reset",
        f"{card} GPU mode1 reset",
        f"{card} GPU reset succeeded, trying to resume",
        "[drm] VRAM is lost due to GPU reset!",
        f"{card} GPU reset(1) succeeded!",
    )
    rank_ends(node, "8c", "4712")
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_reset_failed@GPU-3f",
    root=("gpu_reset_failed@GPU-3f|gpu_ring_timeout@GPU-3f",),
    may=(*GPU_AFTER, *SPINS, "gpu_ring_timeout", "gpu_lost", "gpu_firmware_timeout"),
    unfit=True,
    fit_at_end=False,
    node=mi250s,
)
def reset_of_an_instinct_does_not_help(node: Story) -> None:
    """A compute queue hangs, the reset of the hive fails, and the half of a card is useless."""
    card = "amdgpu 0000:3f:00.0: amdgpu:"
    node.wait(120)
    node.log(
        "amdgpu: qcm fence wait loop timeout expired",
        "amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues "
        "preemption",
        f"{card} GPU reset begin!",
        f"{card} GPU mode1 reset",
        f"{card} PSP load tmr failed!",
        f"{card} GPU reset(1) failed",
        f"{card} GPU reset end with ret = -22",
    )
    rank_ends(node, "3f", "4713")
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_ecc_uncorrected@GPU-e4",
    may=(*GPU_AFTER, *SPINS, "gpu_pages_retired", "gpu_reset_failed", "gpu_ring_timeout"),
    unfit=True,
    node=mi300s,
)
def link_of_a_hive_delivers_poison(node: Story) -> None:
    """An MI300X has uncorrectable errors in its xgmi block; the hive is reset and works again."""
    card = "amdgpu 0000:e4:00.0: amdgpu:"
    node.wait(120)
    node.log(
        f"{card} {{31}}socket: 7, die: 1, 1 new uncorrectable hardware errors detected in "
        "xgmi_wafl block",
        f"{card} {{31}}socket: 7, die: 1, 1 uncorrectable hardware errors detected in total in "
        "xgmi_wafl block",
        f"{card} GPU reset begin!",
        f"{card} GPU mode1 reset",
        f"{card} GPU reset(2) succeeded!",
    )
    node.gpu("e4", ecc_errors_total={"uncorrected": {"volatile": 1}})
    for rank in range(4711, 4719):
        node.put("Workloads", "clients", **{str(rank): None})
    node.gpus(processes=[], utilization_percent=0.0, power_draw_watts=140.0)
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_unhealthy@GPU-bf",
    may=(*GPU_AFTER, *SPINS, "gpu_lost", "npu_abnormal"),
    gone=("gpu_unhealthy",),
    node=npus,
)
def health_of_an_ascend_is_critical_until_it_is_reset(node: Story) -> None:
    """npu-smi calls a chip critical, its task ends, and after a reset of the chip it is well."""
    node.wait(180, 30)
    node.gpu("bf", health="critical")
    rank_ends(node, "bf", "4717")
    node.wait(1800, 60)
    node.gpu("bf", health="ok")
    node.wait(HOUR, 120)


@incident(
    "gpu_ring_timeout@GPU-0a",
    may=(*GPU_AFTER, *SPINS, "gpu_reset_failed", "gpu_page_fault"),
    node=arcs,
)
def engine_of_an_arc_stops_at_one_job(node: Story) -> None:
    """The driver xe ends a job that timed out, again and again within ten minutes."""
    card = "xe 0000:0a:00.0: [drm]"
    node.wait(120)
    for number in range(3):
        node.log(
            f"{card} GT0: Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id={5 + number}",
            f"{card} GT0: Timedout job: seqno=42949673{number}, lrc_seqno=42949673{number}, "
            f"guc_id={5 + number}, flags=0x0 in llama-server [4711]",
            f"{card} Xe device coredump has been created",
        )
        node.wait(180, 30)
    node.wait(HOUR, 120)


CASES = (
    all_ranks_wait_for_something_beyond_them,
    one_rank_writes_a_checkpoint_for_ten_minutes,
    rank_beside_a_noisy_neighbour_is_late,
    queue_of_a_radeon_is_reset_with_its_card,
    reset_of_an_instinct_does_not_help,
    link_of_a_hive_delivers_poison,
    health_of_an_ascend_is_critical_until_it_is_reset,
    engine_of_an_arc_stops_at_one_job,
)
