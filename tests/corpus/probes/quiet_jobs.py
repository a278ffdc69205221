"""Jobs that are well: they jitter, pause, begin and end; and tenants that keep to their shares."""

from tests.corpus.labels import healthy
from tests.corpus.probes.nodes import (
    CARDS,
    COMM_PATH,
    arc_cards,
    counted_job,
    goes_on,
    holds,
    is_late,
    job_is_gone,
    mi300xs,
    nobody_is_late,
    npus,
    shared_card,
    uses_time,
    waits_for,
)
from tests.corpus.story import Story


@healthy(node=counted_job)
def ranks_jitter(node: Story) -> None:
    """At each look somebody waits for somebody else, for less than a second; some look late."""
    for number in range(60):
        waits_for(node, number % 4)
        node.put(*COMM_PATH, waiting_secs=0.05 * (number % 9))
        node.rate(0.0, *COMM_PATH, "waiting_secs")
        is_late(node, number // 7 % 4, 0.02 * (number % 8), 0.004)
        node.wait(15)
        goes_on(node)
        nobody_is_late(node)
        node.wait(15)


@healthy(node=counted_job)
def steps_are_short_and_one_rank_is_a_little_late(node: Story) -> None:
    """Half of a step of three milliseconds is 1.5 ms: nobody looks for that."""
    node.wait(60)
    is_late(node, 2, 0.5, 0.0015)
    node.wait(600, 30)


@healthy(node=counted_job)
def job_ends_and_the_next_one_begins(node: Story) -> None:
    """Ranks leave in good order; a minute later others of the same pod begin."""
    node.wait(120)
    waits_for(node, 0)
    node.wait(3, 3)
    goes_on(node)
    job_is_gone(node)
    node.wait(60)
    fresh = counted_job()
    fresh["TracedCalls"]["communicators"]["job"]["id"] = "00c4d1e8aa317b20"
    node.put(Workloads=fresh["Workloads"], TracedCalls=fresh["TracedCalls"])
    node.put(Gpus=fresh["Gpus"])
    node.wait(300, 30)


@healthy(node=counted_job)
def short_checkpoint_every_five_minutes(node: Story) -> None:
    """Rank 0 writes for fifteen seconds while the others wait at the barrier."""
    for _ in range(4):
        node.wait(270, 30)
        waits_for(node, 0)
        node.wait(15, 5)
        goes_on(node)
        node.wait(15)


@healthy("nccl_rank_missing", "gpu_idle_allocated", node=counted_job)
def long_checkpoint_of_rank_0(node: Story) -> None:
    """Rank 0 writes 140 GB for two minutes while the others wait: worth a remark at most."""
    node.wait(120)
    waits_for(node, 0)
    node.put(*COMM_PATH, missing_busy=True)
    node.idle_clocks(*CARDS)
    node.wait(120)
    goes_on(node)
    node.put(*COMM_PATH, missing_busy=None)
    node.busy_again(*CARDS)
    node.wait(300)


@healthy("nccl_rank_missing", node=counted_job)
def rank_0_evaluates_alone(node: Story) -> None:
    """Rank 0 evaluates the model for four minutes while the others wait for it."""
    node.wait(120)
    waits_for(node, 0, call="ncclBroadcast")
    node.put(*COMM_PATH, missing_busy=True)
    node.idle_clocks("3b", "9b", "bb")
    node.wait(240)
    goes_on(node)
    node.put(*COMM_PATH, missing_busy=None)
    node.busy_again(*CARDS)
    node.wait(300)


@healthy("gpu_idle_allocated", node=counted_job)
def all_ranks_evaluate_without_collectives(node: Story) -> None:
    """For a quarter of an hour each rank works for itself: nobody is inside a call."""
    node.wait(120)
    goes_on(node)
    node.wait(900, 30)
    goes_on(node)
    node.wait(120)


@healthy("nccl_rank_missing", node=counted_job)
def weights_are_read_by_rank_0_first(node: Story) -> None:
    """At the start three ranks wait in the first broadcast while rank 0 reads for 70 s."""
    node.idle_clocks(*CARDS)
    waits_for(node, 0, call="ncclBroadcast")
    node.put(*COMM_PATH, missing_busy=True)
    node.wait(70, 10)
    goes_on(node)
    node.put(*COMM_PATH, missing_busy=None)
    node.busy_again(*CARDS)
    node.wait(600, 30)


@healthy(node=mi300xs)
def amd_cards_work_near_their_limits(node: Story) -> None:
    """Four MI300X at their power cap and warm, with a corrected error now and then."""
    for _ in range(10):
        node.gpus(power_draw_watts=749.0, temperature_celsius=84.0, thermal_margin_celsius=16.0)
        node.gpus(throttle_active={"sw_power_cap": 1})
        node.wait(120, 30)
        node.gpus(throttle_active={"sw_power_cap": 0})
        node.wait(60, 30)
    node.gpu("26", ecc_errors_total={"corrected": {"volatile": 2}})
    node.wait(600, 60)


@healthy(node=mi300xs)
def amd_ring_recovers_by_itself(node: Story) -> None:
    """A ring that was slow recovers; the driver says so and resets nothing."""
    node.wait(60)
    node.log("amdgpu 0000:26:00.0: amdgpu: ring comp_1.0.1 timeout, but soft recovered")
    node.wait(600, 60)


@healthy("gpu_idle_allocated", node=arc_cards)
def intel_cards_serve_at_their_power_limit(node: Story) -> None:
    """Two cards of Intel, held at PL1 all day: that is what they are for."""
    node.wait(3600, 120)


@healthy(node=npus)
def npus_work_and_rest(node: Story) -> None:
    """Four NPUs at work, then without any for half an hour, all of them ok."""
    node.wait(900, 60)
    node.gpus(utilization_percent=0.0, power_draw_watts=95.0, temperature_celsius=41.0)
    node.gpus(processes=[], memory_used_bytes=3 * 2**30)
    node.put("Workloads", clients=dict.fromkeys(("7001", "7002", "7003", "7004")))
    node.put("Workloads", uses=dict.fromkeys(node.bus_addresses))
    node.wait(1800, 120)


@healthy(node=shared_card)
def tenants_keep_to_their_quotas(node: Story) -> None:
    """Both tenants come near their limits, and once one is above its time for three minutes."""
    for number in range(12):
        holds(node, "a", 19.5 + 0.08 * number)
        uses_time(node, "b", 40.0 + number)
        node.wait(60, 30)
    uses_time(node, "b", 62.0)
    node.wait(180, 30)
    uses_time(node, "b", 39.0)
    node.wait(300, 30)


CASES = (
    ranks_jitter,
    steps_are_short_and_one_rank_is_a_little_late,
    job_ends_and_the_next_one_begins,
    short_checkpoint_every_five_minutes,
    long_checkpoint_of_rank_0,
    rank_0_evaluates_alone,
    all_ranks_evaluate_without_collectives,
    weights_are_read_by_rank_0_first,
    amd_cards_work_near_their_limits,
    amd_ring_recovers_by_itself,
    intel_cards_serve_at_their_power_limit,
    npus_work_and_rest,
    tenants_keep_to_their_quotas,
)
