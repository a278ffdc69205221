"""Incidents of jobs whose calls of NCCL are counted: ranks that do not come or are late."""

from tests.corpus.labels import incident
from tests.corpus.probes.nodes import (
    CARDS,
    COMM,
    COMM_PATH,
    counted_job,
    counted_job_of_two_nodes,
    goes_on,
    is_late,
    nobody_is_late,
    spins,
    waits_for,
    works,
)
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER

MISSING = f"nccl_rank_missing@{COMM}"
HANG = f"nccl_hang@{COMM}"
LATE = f"nccl_straggler@{COMM}"
SYMPTOMS = ("gpu_busy_without_work", "gpu_idle_allocated")
OTHERS = ("1b", "3b", "bb")


@incident(
    *("process_stopped@4713", MISSING),
    may=SYMPTOMS,
    unfit=False,
    is_over=True,
    node=counted_job,
)
def rank_is_stopped_by_a_debugger(node: Story) -> None:
    """Somebody attaches to a rank and goes to lunch; after ten minutes it goes on."""
    node.wait(120)
    node.process(4713, state="stopped")
    waits_for(node, 2, state="stopped")
    spins(node, *OTHERS)
    node.idle_since_now("9b")
    node.wait(600)
    node.process(4713, state="running")
    goes_on(node)
    node.busy_again("9b")
    works(node, *CARDS)
    node.wait(300)


@incident(
    *("nfs_server_stalled@192.0.2.10", MISSING),
    may=(*SYMPTOMS, "io_stall", "process_waits_for_storage", "filesystem_stuck", "hung_task"),
    lasts=(MISSING,),
    node=counted_job,
)
def rank_reads_from_a_file_server_that_is_silent(node: Story) -> None:
    """One rank sleeps in the kernel on NFS, the three others wait for it."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.process(4712, state="uninterruptible", waits_since_boottime=float(node.at))
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    waits_for(node, 1, state="uninterruptible")
    spins(node, "1b", "9b", "bb")
    node.pressure("io", "full", 22.0)
    node.wait(900, 30)


@incident(
    *("gpu_lost@GPU-9b", MISSING),
    may=(*GPU_AFTER, *SYMPTOMS),
    unfit=True,
    lasts=("gpu_lost@GPU-9b",),
    node=counted_job,
)
def card_of_one_rank_falls_off_the_bus(node: Story) -> None:
    """Xid 79 under rank 2; its process still lives, and the others wait for it."""
    node.wait(60)
    node.xid("9b", 79, FELL, pid="4713", name="trainer")
    node.lose("9b")
    waits_for(node, 2)
    spins(node, *OTHERS)
    node.wait(600, 30)


@incident(
    *("process_crashed@4714", MISSING),
    may=(*SYMPTOMS, "gpu_app_fault", "gpu_allocated_unused"),
    unfit=False,
    node=counted_job,
)
def rank_crashes_and_nobody_ends_the_others(node: Story) -> None:
    """A segfault ends rank 3, whose launcher does not notice; the others wait for five minutes."""
    node.wait(60)
    node.log(
        "trainer[4714]: segfault at 7f0e00000018 ip 00007f0f1c2d3e41 sp 00007ffc5b0a7710 error 4 "
        "in libtorch_cuda.so[7f0f1c000000+9b0000] likely on CPU 40 (core 8, socket 1)"
    )
    node.xid("bb", 45, "Ch 0000000a", pid="4714", name="trainer")
    node.put("Workloads", "clients", **{"4714": None})
    node.gpu("bb", processes=[], utilization_percent=0.0, power_draw_watts=72.0)
    waits_for(node, 3, state="ended")
    node.put(*COMM_PATH, pids=[4711, 4712, 4713])
    spins(node, "1b", "3b", "9b")
    node.wait(300)


@incident(
    *("pod_oom_kill@*|process_oom_kill@4712", MISSING),
    root="pod_oom_kill@*|process_oom_kill@4712",
    may=(*SYMPTOMS, "gpu_app_fault", "gpu_allocated_unused", "pod_oom_kill", "process_oom_kill"),
    unfit=False,
    node=counted_job,
)
def rank_is_killed_at_its_memory_limit(node: Story) -> None:
    """The kernel kills rank 1 at the limit of its pod; the others wait for a minute and a half."""
    node.wait(60)
    node.log(
        "Memory cgroup out of memory: Killed process 4712 (trainer) total-vm:99kB, anon-rss:98kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:985"
    )
    node.put("Paging", oom_kills=1)
    node.put("Workloads", "clients", **{"4712": None})
    node.gpu("3b", processes=[], utilization_percent=0.0, power_draw_watts=72.0)
    waits_for(node, 1, state="ended")
    node.put(*COMM_PATH, pids=[4711, 4713, 4714])
    spins(node, "1b", "9b", "bb")
    node.wait(90)


@incident(
    *(MISSING, "gpu_busy_without_work@GPU-1b", "gpu_idle_allocated@GPU-9b"),
    root=MISSING,
    may=("gpu_busy_without_work",),
    unfit=False,
    lasts=(MISSING,),
    node=counted_job,
)
def rank_sleeps_in_a_lock_of_its_own_program(node: Story) -> None:
    """Rank 2 waits for a lock that is never released: nothing but the missing rank explains it."""
    node.wait(60)
    waits_for(node, 2)
    spins(node, *OTHERS)
    node.idle_since_now("9b")
    node.wait(1800, 30)


@incident(
    *("ib_port_down@mlx5_0|ib_port_down@mlx5_0/1", HANG),
    may=(*SYMPTOMS, "ib_link_errors", "net_link_down", "ib_link_flapping"),
    node=counted_job_of_two_nodes,
)
def port_to_the_other_node_is_down(node: Story) -> None:
    """The link of an InfiniBand port goes, and all four ranks wait for those beyond it."""
    node.wait(60)
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_0", errors={"link_downed": 1})
    waits_for(node)
    spins(node, *CARDS)
    node.wait(600, 30)


@incident(
    *(HANG, *(f"gpu_busy_without_work@GPU-{bus}" for bus in CARDS)),
    root=HANG,
    unfit=False,
    is_over=True,
    node=counted_job_of_two_nodes,
)
def other_node_does_not_come(node: Story) -> None:
    """All ranks of this node wait for a quarter of an hour, then the job is ended."""
    node.wait(60)
    waits_for(node, call="ncclReduceScatter")
    spins(node, *CARDS)
    node.wait(900, 30)
    goes_on(node)
    works(node, *CARDS)
    node.wait(180)


@incident(
    *("gpu_thermal_throttle@GPU-3b", LATE),
    may=("gpu_thermal_slowdown@GPU-3b", "gpu_clock_low@GPU-3b", "gpu_overheat@GPU-3b"),
    node=counted_job,
)
def hot_card_makes_its_rank_late(node: Story) -> None:
    """One card slows down in heat: its rank enters each collective 35 ms after the others."""
    node.wait(60)
    node.gpu("3b", temperature_celsius=85.0, thermal_margin_celsius=4.0)
    node.gpu("3b", throttle_active={"hw_thermal_slowdown": 1, "hw_slowdown": 1})
    node.gpu("3b", clock_hertz={"graphics": 9.9e8, "sm": 9.9e8})
    node.wait(30)
    is_late(node, 1, 0.42, 0.035)
    node.wait(600, 30)


@incident(
    *("gpu_pcie_link_degraded@GPU-bb|pcie_link_degraded@0000:bb:00.0", LATE),
    root="gpu_pcie_link_degraded@GPU-bb|pcie_link_degraded@0000:bb:00.0",
    may=("gpu_pcie_link_degraded@GPU-bb", "pcie_link_degraded@0000:bb:00.0"),
    node=counted_job,
)
def narrow_link_makes_its_rank_late(node: Story) -> None:
    """The link of one card has trained to four lanes: its rank waits for its batches."""
    node.gpu("bb", pcie_link_width=4)
    node.put("Pcie", "devices", "bb", width=4)
    node.wait(900, 30)
    is_late(node, 3, 0.31, 0.09)
    node.wait(900, 30)


@incident(LATE, unfit=False, is_over=True, node=counted_job)
def rank_with_more_to_do_is_late(node: Story) -> None:
    """Rank 0 writes images for the dashboard in each step, until somebody switches it off."""
    node.wait(60)
    is_late(node, 0, 0.55, 0.12)
    node.wait(900, 30)
    nobody_is_late(node)
    node.wait(120)


CASES = (
    rank_is_stopped_by_a_debugger,
    rank_reads_from_a_file_server_that_is_silent,
    card_of_one_rank_falls_off_the_bus,
    rank_crashes_and_nobody_ends_the_others,
    rank_is_killed_at_its_memory_limit,
    rank_sleeps_in_a_lock_of_its_own_program,
    port_to_the_other_node_is_down,
    other_node_does_not_come,
    hot_card_makes_its_rank_late,
    narrow_link_makes_its_rank_late,
    rank_with_more_to_do_is_late,
)
