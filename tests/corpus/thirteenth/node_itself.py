"""Incidents of the node itself: memory, processors, kernel, clock, limits."""

from tests.corpus.eleventh.nodes import GONE, HOUR, MACHINE, WAITING, aborts
from tests.corpus.labels import incident
from tests.corpus.parts import DIMM, GIB
from tests.corpus.seventh.nodes import epyc
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    batch_worker,
    old_h100,
    pod_worker,
    some_h200,
)
from tests.corpus.twelfth.hosts import guest_of_l4

CORRECTED = ("machine_check_corrected_rate", "memory_page_offlined", "firmware_hardware_error")
BUSY = ("cpu_saturated", "memory_pressure", "memory_swapping", "io_stall", "disk_slow")


@incident(
    "memory_corrected_rate@*",
    may=CORRECTED,
    never=("memory_uncorrected", "machine_check", "node_oom_kill"),
    unfit=False,
    node=epyc,
)
def channel_of_an_epyc_corrects_many_bits(node: Story) -> None:
    """One module of an EPYC has forty corrected errors a minute for five hours."""
    place = ("MemoryErrors", "controllers", "mc0")
    node.wait(900, 60)
    node.rate(0.7, *place, "corrected_errors")
    node.rate(0.7, *place, "dimms", "31", "corrected_errors")
    for number in range(40):
        node.log(
            "mce: [Hardware Error]: Machine check events logged",
            "[Hardware Error]: Corrected error, no action required.",
            "[Hardware Error]: CPU:1 (19:1:1) MC18_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-"
            "]: 0xdc2040000000011b",
            f"[Hardware Error]: Error Addr: 0x{0x41C0E0A80 + 256 * number:016x}",
            "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0, DRAM ECC error.",
            f"EDAC MC0: 1 CE on mc#0csrow#3channel#1 (csrow:3 channel:1 page:0x90{number:04x} "
            "offset:0x680 grain:64 syndrome:0x80)",
        )
        node.wait(450, 225)


@incident(
    "memory_uncorrected@*|firmware_hardware_error@*|machine_check@*|memory_page_offlined@*"
    "|machine_check_exceptions@*",
    may=(*MACHINE, "process_crashed", *GONE),
    never=("gpu_ecc_uncorrected", "node_oom_kill", "gpu_lost"),
    node=some_h200,
)
def rank_reads_a_broken_word_of_the_host(node: Story) -> None:
    """A rank reads memory that cannot be corrected: its page is given up, the rank is killed."""
    node.wait(3000, 120)
    node.log(
        "mce: Uncorrected hardware memory error in user-access at 5d81c0e4c0",
        "EDAC skx MC1: HANDLING MCE MEMORY ERROR",
        "EDAC skx MC1: CPU 9: Machine Check Event: 0x0 Bank 13: 0xbd80000000a00090",
        "EDAC skx MC1: TSC 0x0",
        "EDAC skx MC1: ADDR 0x5d81c0e4c0",
        f"EDAC MC1: 1 UE memory read error on {DIMM} (channel:0 slot:0 page:0x5d81c0e "
        "offset:0x4c0 grain:32 -  err_code:0x00a0:0x0090)",
        "Memory failure: 0x5d81c0e: Sending SIGBUS to pt_main_thread:4713 due to hardware memory "
        "corruption",
        "Memory failure: 0x5d81c0e: recovery action for dirty LRU page: Recovered",
    )
    place = ("MemoryErrors", "controllers", "mc1")
    node.put(*place, uncorrected_errors=1)
    node.put(*place, "dimms", "a", uncorrected_errors=1)
    node.put("CpuHealth", machine_checks=128)
    aborts(node)
    node.wait(5 * HOUR, 180)


@incident(
    "cpu_lockup@*",
    root="cpu_lockup@*|rcu_stall@*",
    may=("rcu_stall", "hung_task", "workqueue_lockup", "clocksource_unstable", *WAITING),
    never=("kernel_panic", "machine_check", "memory_uncorrected"),
    unfit=True,
    node=batch_worker,
)
def processor_never_leaves_a_loop_of_the_kernel(node: Story) -> None:
    """A processor is stuck in the kernel for a quarter of an hour, until somebody reboots."""
    node.wait(2400, 120)
    for number in range(30):
        secs = 22 + 26 * number
        node.log(
            f"watchdog: BUG: soft lockup - CPU#71 stuck for {secs}s! [kworker/71:2:903112]",
            "CPU: 71 PID: 903112 Comm: kworker/71:2 Kdump: loaded Tainted: G           OEL   "
            "--------- -  - 4.18.0-553.34.1.el8_10.x86_64 #1",
            "RIP: 0010:native_queued_spin_lock_slowpath+0x63/0x1b0",
        )
        if number % 7 == 2:
            node.log(
                "rcu: INFO: rcu_sched self-detected stall on CPU",
                f"rcu: \t71-....: ({59_998 + 182_000 * number // 7} ticks this GP) "
                "idle=f9e/1/0x4000000000000002 softirq=9120442/9120442 fqs=14720 ",
            )
        node.wait(26, 13)


@incident(
    "node_oom_kill@*",
    root="node_oom_kill@*|memory_pressure@*",
    may=(*BUSY, "process_oom_kill", "oom_kill_without_log", *GONE),
    never=("pod_oom_kill", "memory_uncorrected", "disk_io_errors"),
    unfit=True,
    node=old_h100,
)
def readers_of_a_job_fill_the_memory_of_a_node(node: Story) -> None:
    """Readers keep all samples of a job that has no limit, until the kernel kills one of them."""
    node.wait(1200, 120)
    for left in (500, 310, 140, 45, 9, 3):
        node.put("Memory", available_bytes=left * GIB, free_bytes=min(left, 2) * GIB)
        node.wait(900, 90)
    node.pressure("memory", "some", 76.0)
    node.pressure("memory", "full", 55.0)
    node.wait(60, 30)
    node.log(
        "pt_data_worker invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), "
        "order=0, oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/user.slice/user-1812.slice/session-44.scope,task=pt_data_worker,pid=9418,"
        "uid=1812",
        "Out of memory: Killed process 9418 (pt_data_worker) total-vm:214880112kB, "
        "anon-rss:171204416kB, file-rss:81264kB, shmem-rss:10240kB, UID:1812 pgtables:341204kB "
        "oom_score_adj:0",
        "oom_reaper: reaped process 9418 (pt_data_worker), now anon-rss:0kB, file-rss:81264kB, "
        "shmem-rss:10240kB",
    )
    node.put("Paging", oom_kills=1)
    node.put("Memory", available_bytes=860 * GIB, free_bytes=790 * GIB)
    node.pressure("memory", "some", 0.0)
    node.pressure("memory", "full", 0.0)
    aborts(node)
    node.wait(2 * HOUR, 150)


@incident(
    "conntrack_full@*",
    may=("tcp_retransmit_burst", "net_drop", "tcp_listen_overflow", "softnet_drops"),
    never=("nic_driver_fatal", "net_link_down", "kernel_oops"),
    unfit=False,
    gone=("conntrack_full",),
    node=pod_worker,
)
def table_of_connections_is_full_for_an_hour(node: Story) -> None:
    """A crawler in a pod opens so many connections that those of all others are dropped."""
    node.wait(1200, 120)
    for entries in (120_000, 190_000, 240_000):
        node.put("NetworkStack", conntrack_entries=entries)
        node.wait(300, 60)
    node.put("NetworkStack", conntrack_entries=262_144, conntrack_drops=0)
    node.rate(310.0, "NetworkStack", "conntrack_drops")
    node.rate(25.0, "NetworkStack", "tcp_retransmitted_segments")
    for _ in range(12):
        node.log(
            "nf_conntrack: nf_conntrack: table full, dropping packet",
            "nf_conntrack: nf_conntrack: table full, dropping packet",
            "net_ratelimit: 1492 callbacks suppressed",
        )
        node.wait(300, 60)
    node.rate(0.0, "NetworkStack", "conntrack_drops")
    node.rate(0.0, "NetworkStack", "tcp_retransmitted_segments")
    node.put("NetworkStack", conntrack_entries=21_000)
    node.wait(2 * HOUR, 180)


@incident(
    "clock_not_synced@*",
    unfit=False,
    lasts=("clock_not_synced@*",),
    node=guest_of_l4,
)
def daemon_of_the_time_is_gone_from_a_guest(node: Story) -> None:
    """The daemon that keeps the clock of a guest was removed; the clock drifts for the day."""
    node.wait(900, 60)
    for number in range(4):
        node.put("Clock", error_seconds=0.4 + 3.6 * number)
        node.wait(HOUR, 300)
    node.put("Clock", synchronized=False, error_seconds=16.0, was_synchronized=True)
    node.wait(6 * HOUR, 300)


@incident(
    "machine_check@*|firmware_hardware_error@*|machine_check_exceptions@*|memory_page_offlined@*",
    may=(*MACHINE, "process_crashed", *GONE),
    never=("gpu_ecc_uncorrected", "node_oom_kill", "disk_io_errors"),
    node=pod_worker,
)
def cache_of_a_core_poisons_a_program(node: Story) -> None:
    """A core loads poisoned data: the kernel kills one program, other pods run on."""
    node.wait(3000, 120)
    node.log(
        "mce: [Hardware Error]: Machine check events logged",
        "mce: [Hardware Error]: CPU 21: Machine Check: 0 Bank 1: bd80000000100134",
        "mce: [Hardware Error]: TSC 0 ADDR 3b2c84f40 MISC 86 ",
        "mce: [Hardware Error]: PROCESSOR 0:606a6 TIME 1751330412 SOCKET 0 APIC 2a microcode "
        "d0003f5",
        "Memory failure: 0x3b2c84: Sending SIGBUS to envoy:31077 due to hardware memory corruption",
        "Memory failure: 0x3b2c84: recovery action for dirty LRU page: Recovered",
    )
    node.put("CpuHealth", machine_checks=128)
    node.wait(4 * HOUR, 180)


CASES = (
    channel_of_an_epyc_corrects_many_bits,
    rank_reads_a_broken_word_of_the_host,
    processor_never_leaves_a_loop_of_the_kernel,
    readers_of_a_job_fill_the_memory_of_a_node,
    table_of_connections_is_full_for_an_hour,
    daemon_of_the_time_is_gone_from_a_guest,
    cache_of_a_core_poisons_a_program,
)
