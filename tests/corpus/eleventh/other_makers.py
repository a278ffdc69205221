"""Incidents of cards of other makers."""

from tests.corpus.eleventh.nodes import GONE, HOUR, loses
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import others, waits
from tests.corpus.seventh.nodes import mi300s, radeons
from tests.corpus.story import Story


def _ends(node: Story) -> None:
    """The job of all cards is over, and nothing follows at once."""
    for number, each in enumerate(node.bus_addresses):
        node.put("Workloads", "clients", **{str(4711 + number): None})
        node.put("Workloads", "uses", **{each: None})
        node.gpu(each, processes=[], utilization_percent=0.0, memory_used_bytes=0)
        node.gpu(each, power_draw_watts=138.0, power_average_watts=138.0)


@incident(
    "gpu_bad_page_threshold@*",
    root="gpu_bad_page_threshold@*|gpu_ecc_uncorrected@*",
    may=(
        *("gpu_ecc_uncorrected", "gpu_pages_retired", "gpu_memory_uncontained"),
        *("gpu_suspect_hardware", *GONE),
    ),
    never=("gpu_lost", "driver_version_mismatch", "memory_uncorrected"),
    unfit=True,
    fit_at_end=False,
    node=mi300s,
)
def instinct_has_used_up_its_bad_pages(node: Story) -> None:
    """The last error that an MI300X may save: the driver says that its threshold is reached."""
    low = node.bus_addresses[3]
    card = f"amdgpu 0000:{low}:00.0: amdgpu"
    node.wait(600, 60)
    node.log(
        f"{card}: 1 new uncorrectable hardware errors detected in umc block",
        f"{card}: Saved bad pages 128 reaches threshold value 128",
    )
    node.gpu(low, ecc_errors_total={"uncorrected": {"volatile": 1}})
    node.put("Workloads", "clients", **{"4714": None})
    waits(node, *others(node, low), watts=230.0)
    node.wait(600, 30)
    _ends(node)
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_reset_failed@*",
    root="gpu_reset_failed@*|gpu_ring_timeout@*",
    may=("gpu_ring_timeout", "gpu_hung", "gpu_page_fault", "hung_task", *GONE),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "memory_uncorrected"),
    unfit=True,
    fit_at_end=False,
    node=radeons,
)
def reset_of_a_radeon_does_not_succeed(node: Story) -> None:
    """The compute ring of a Radeon times out, the reset of the card fails: it is of no use."""
    low = node.bus_addresses[0]
    card = f"amdgpu 0000:{low}:00.0: amdgpu"
    node.wait(900, 60)
    node.log(
        f"{card}: ring comp_1.1.0 timeout, signaled seq=73114, emitted seq=73116",
        f"{card}: Process information: process llama-server pid 4711 thread llama-server pid 4711",
        f"{card}: GPU reset begin!",
    )
    node.wait(30)
    node.log(
        f"{card}: MODE1 reset",
        f"{card}: GPU mode1 reset",
        f"{card}: GPU reset succeeded, trying to resume",
        f"{card}: GPU reset(1) failed",
        f"{card}: GPU reset end with ret = -110",
    )
    loses(node, low, "timeout")
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_ring_timeout@*|gpu_hung@*|gpu_channel_timeout@*",
    may=("gpu_reset_required", "gpu_page_fault", "gpu_hung", "gpu_ring_timeout", *GONE),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_lost"),
    fit_at_end=True,
    node=mi300s,
)
def queue_of_an_instinct_hangs_and_its_reset_helps(node: Story) -> None:
    """A ring of an MI300X does not end its work in time; it is reset, and the next job runs."""
    low = node.bus_addresses[6]
    card = f"amdgpu 0000:{low}:00.0: amdgpu"
    node.wait(1200, 60)
    node.log(
        f"{card}: ring sdma2 timeout, signaled seq=9921104, emitted seq=9921107",
        f"{card}: Process information: process python3 pid 4717 thread python3 pid 4717",
        f"{card}: GPU reset begin!",
    )
    waits(node, *others(node, low), watts=230.0)
    node.wait(15)
    node.log(
        f"{card}: MODE1 reset",
        f"{card}: GPU reset succeeded, trying to resume",
        f"{card}: GPU reset(1) succeeded!",
    )
    node.wait(60)
    _ends(node)
    node.wait(600, 60)
    fresh = mi300s()
    node.put(Gpus=fresh["Gpus"], Workloads=fresh["Workloads"])
    node.wait(3 * HOUR, 120)


CASES = (
    instinct_has_used_up_its_bad_pages,
    reset_of_a_radeon_does_not_succeed,
    queue_of_an_instinct_hangs_and_its_reset_helps,
)
