"""Incidents of the node itself: memory, processors, kernel, clock, limits."""

from tests.corpus.eleventh.hosts import (
    chassis_of_h100,
    chassis_of_h200,
    cluster_worker,
    disk_server,
    mirrored_server,
    pair_of_a100,
    volume_server,
)
from tests.corpus.eleventh.nodes import GONE, HOUR, MACHINE, WAITING, aborts, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import hpc_worker
from tests.corpus.parts import DIMM, GIB
from tests.corpus.seventh.nodes import altra, epyc
from tests.corpus.story import Story

CORRECTED = ("machine_check_corrected_rate", "memory_page_offlined", "firmware_hardware_error")
POD = (
    "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod"
    "0a1b2c3d_1111_2222_3333_444455556666.slice"
)
BUSY = ("cpu_saturated", "memory_pressure", "memory_swapping", "io_stall", "disk_slow")


@incident(
    "memory_corrected_rate@*",
    may=CORRECTED,
    never=("memory_uncorrected", "machine_check", "node_oom_kill"),
    unfit=False,
    node=epyc,
)
def channel_of_an_epyc_corrects_all_night(node: Story) -> None:
    """A module of an EPYC has three corrected errors each second from ten o'clock on."""
    node.wait(900, 60)
    place = ("MemoryErrors", "controllers", "mc0")
    node.rate(3.0, *place, "corrected_errors")
    node.rate(3.0, *place, "dimms", "31", "corrected_errors")
    for number in range(40):
        node.log(
            "mce: [Hardware Error]: Machine check events logged",
            "[Hardware Error]: Corrected error, no action required.",
            "[Hardware Error]: CPU:0 (19:1:1) MC18_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|"
            "-]: 0xdc2041000000011b",
            f"[Hardware Error]: Error Addr: 0x{0x65AA27C0 + 64 * number:016x}",
            "[Hardware Error]: IPID: 0x0000009600150f00, Syndrome: 0x000040200a401000",
            "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0, DRAM ECC error.",
            f"EDAC MC0: 1 CE on mc#0csrow#3channel#1 (csrow:3 channel:1 page:0x10b5{number:02x} "
            "offset:0xfc0 grain:64 syndrome:0x4020)",
            "[Hardware Error]: cache level: L3/GEN, tx: GEN, mem-tx: RD",
        )
        node.wait(360, 60)


@incident(
    "memory_uncorrected@*",
    root="memory_uncorrected@*|machine_check@*|machine_check_exceptions@*",
    may=(*MACHINE, "process_crashed", *GONE),
    never=("gpu_ecc_uncorrected", "node_oom_kill", "gpu_lost"),
    unfit=True,
    node=chassis_of_h200,
)
def loader_of_a_job_reads_a_poisoned_page(node: Story) -> None:
    """A read of an uncorrectable error kills a data loader by SIGBUS, the page is given up."""
    node.wait(1800, 60)
    node.log(
        "mce: [Hardware Error]: Machine check events logged",
        "mce: Uncorrected hardware memory error in user-access at b757589dc0",
        "EDAC skx MC1: HANDLING MCE MEMORY ERROR",
        "EDAC skx MC1: CPU 10: Machine Check Event: 0 Bank 13: fc00010001010092",
        f"EDAC MC1: 1 UE memory read error on {DIMM} (channel:0 slot:0 page:0xb757589 "
        "offset:0xdc0 grain:32 -  err_code:0x0101:0x0092 )",
        "Memory failure: 0xb757589: Sending SIGBUS to pt_data_worker:61220 due to hardware "
        "memory corruption",
        "Memory failure: 0xb757589: recovery action for dirty LRU page: Recovered",
    )
    node.put("CpuHealth", machine_checks=1)
    node.put("MemoryErrors", "controllers", "mc1", uncorrected_errors=1)
    node.put("MemoryErrors", "controllers", "mc1", "dimms", "a", uncorrected_errors=1)
    node.wait(60)
    aborts(node)
    node.wait(3 * HOUR, 120)


@incident(
    "firmware_hardware_error@*|memory_corrected_rate@*",
    may=("memory_corrected_rate", "firmware_hardware_error", "memory_page_offlined"),
    never=("memory_uncorrected", "machine_check", "kernel_panic"),
    unfit=False,
    node=altra,
)
def firmware_of_an_altra_counts_single_bits(node: Story) -> None:
    """The firmware of an ARM server reports a corrected single bit of one module each minute."""
    node.wait(900, 60)
    for number in range(150):
        said = f"{{{number + 35}}}[Hardware Error]:"
        node.log(
            f"{said} Hardware error from APEI Generic Hardware Error Source: 4",
            f"{said} It has been corrected by h/w and requires no further action",
            f"{said} event severity: corrected",
            f"{said}  Error 0, type: corrected",
            f"{said}  fru_text: D2",
            f"{said}   section_type: memory error",
            f"{said}    error_status: Storage error in DRAM memory (0x0000000000000400)",
            f"{said}   physical_address: 0x{0x6A47D1F540 + 4096 * number:016x}",
            f"{said}   node:0 card:1 module:0 rank:1 bank:2 device:11 row:40948 column:560 ",
            f"{said}   error_type: 2, single-bit ECC",
        )
        node.wait(60, 30)


@incident(
    "machine_check_corrected_rate@*",
    may=("firmware_hardware_error", "memory_corrected_rate"),
    never=("machine_check", "memory_uncorrected", "machine_check_exceptions"),
    unfit=False,
    node=volume_server,
)
def cache_of_an_old_core_is_tired(node: Story) -> None:
    """An old Xeon logs corrected errors of the same bank of one core by the minute, for hours."""
    node.wait(900, 60)
    for number in range(180):
        for _ in range(3):
            node.log(
                "mce: [Hardware Error]: Machine check events logged",
                "mce: [Hardware Error]: CPU 9: Machine Check: 0 Bank 2: d400008000100179",
                f"mce: [Hardware Error]: TSC 0 ADDR {0x1F7A2C40 + 64 * number:x} ",
                "mce: [Hardware Error]: PROCESSOR 0:406f1 TIME 1736400123 SOCKET 0 APIC 12 "
                "microcode b000040",
            )
        node.wait(60, 30)


@incident(
    "cpu_lockup@*",
    may=("rcu_stall", "hung_task", "cpu_saturated", "clocksource_unstable", *WAITING),
    never=("kernel_panic", "machine_check", "memory_uncorrected"),
    unfit=True,
    node=cluster_worker,
)
def processor_is_stuck_in_a_filter_for_ten_minutes(node: Story) -> None:
    """A filter of packets keeps one processor for ten minutes; RCU waits for it all that time."""
    node.wait(1200, 60)
    for number in range(24):
        secs = 26 + 26 * number
        node.log(
            f"watchdog: BUG: soft lockup - CPU#71 stuck for {secs}s! [cilium-agent:5522]",
            "CPU: 71 PID: 5522 Comm: cilium-agent Tainted: G             L     6.6.58-talos #1",
            "RIP: 0010:native_queued_spin_lock_slowpath+0x2b4/0x300",
        )
        if number % 3 == 1:
            node.log(
                "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
                f"rcu: \t71-...!: ({secs * 1000} ticks this GP) idle=b2e4/1/0x4000000000000000 "
                "softirq=1073098/1073098 fqs=5248",
            )
        node.wait(26, 13)
    node.wait(3 * HOUR, 120)


@incident(
    "workqueue_lockup@*",
    may=("hung_task", "rcu_stall", "cpu_lockup", *WAITING),
    never=("kernel_panic", "machine_check", "memory_uncorrected"),
    unfit=False,
    node=disk_server,
)
def workers_of_the_kernel_reclaim_for_minutes(node: Story) -> None:
    """A worker of the kernel tries to find memory without sleeping: its pool stands for minutes."""
    node.wait(1200, 60)
    for secs in (32, 63, 94, 125, 156):
        node.log(
            f"BUG: workqueue lockup - pool cpus=37 node=0 flags=0x0 nice=0 stuck for {secs}s!",
            "Showing busy workqueues and worker pools:",
            "workqueue events: flags=0x0",
            "  pwq 74: cpus=37 node=0 flags=0x0 nice=0 active=3/256 refcnt=4",
            "    in-flight: 21461:vmstat_shepherd",
        )
        node.wait(31, 15)
    node.wait(3 * HOUR, 120)


@incident(
    "node_oom_kill@*",
    root="node_oom_kill@*|memory_pressure@*",
    may=(*BUSY, "process_oom_kill", "oom_kill_without_log", *GONE, *WAITING),
    never=("pod_oom_kill", "memory_uncorrected", "gpu_lost"),
    unfit=True,
    node=pair_of_a100,
)
def loaders_of_a_job_take_all_memory(node: Story) -> None:
    """A pod without a limit loads a dataset into memory; the kernel kills it and memory is free."""
    node.wait(900, 60)
    for left in (500, 240, 90, 20, 3):
        node.put("Memory", available_bytes=left * GIB, free_bytes=min(left, 3) * GIB)
        node.wait(240, 60)
    node.pressure("memory", "some", 76.0)
    node.pressure("memory", "full", 49.0)
    node.wait(60)
    node.log(
        "python3 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|"
        "__GFP_ZERO), order=0, oom_score_adj=1000",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        f"task_memcg={POD}/cri-containerd-5e0c.scope,task=python3,pid=4711,uid=0",
        "Out of memory: Killed process 4711 (python3) total-vm:1104418220kB, "
        "anon-rss:1018833104kB, file-rss:88112kB, shmem-rss:2048kB, UID:0 pgtables:2011020kB "
        "oom_score_adj:1000",
        "oom_reaper: reaped process 4711 (python3), now anon-rss:0kB, file-rss:88020kB, "
        "shmem-rss:2048kB",
    )
    node.put("Paging", oom_kills=1)
    node.put("Memory", available_bytes=960 * GIB, free_bytes=920 * GIB)
    node.pressure("memory", "some", 0.0)
    node.pressure("memory", "full", 0.0)
    aborts(node, watts=46.0, heat=33.0)
    node.wait(2 * HOUR, 60)


@incident(
    "memory_pressure@*",
    may=(*BUSY, *WAITING),
    never=("node_oom_kill", "memory_uncorrected", "disk_io_errors"),
    unfit=False,
    gone=("memory_pressure",),
    fit_at_end=True,
    node=mirrored_server,
)
def filter_of_mail_leaks_until_it_is_restarted(node: Story) -> None:
    """A filter of mail takes all memory but one percent within a day; it is restarted at six."""
    node.put("Memory", swap_total_bytes=16 * GIB, swap_free_bytes=16 * GIB)
    node.wait(900, 60)
    for left, swap in ((300, 16), (140, 12), (60, 6), (11, 1)):
        node.put("Memory", available_bytes=left * GIB, free_bytes=min(left, 4) * GIB)
        node.put("Memory", swap_free_bytes=swap * GIB)
        node.wait(1800, 60)
    node.rate(60e6, "Paging", "swap_out_bytes")
    node.rate(40e6, "Paging", "swap_in_bytes")
    node.pressure("memory", "some", 41.0)
    node.pressure("memory", "full", 22.0)
    node.wait(HOUR, 60)
    for way in ("swap_out_bytes", "swap_in_bytes"):
        node.rate(0.0, "Paging", way)
    node.put("Memory", available_bytes=830 * GIB, free_bytes=700 * GIB)
    node.put("Memory", swap_free_bytes=15 * GIB)
    node.pressure("memory", "some", 0.0)
    node.pressure("memory", "full", 0.0)
    node.wait(2 * HOUR, 60)


@incident(
    "clock_not_synced@*",
    unfit=False,
    lasts=("clock_not_synced@*",),
    node=hpc_worker,
)
def time_service_of_a_worker_was_removed(node: Story) -> None:
    """An update took chrony away: after some hours the kernel calls its clock unsynchronized."""
    node.wait(900, 60)
    for hour in range(4):
        node.put("Clock", error_seconds=0.01 + 1.8 * (hour + 1))
        node.wait(HOUR, 300)
    node.put("Clock", synchronized=False, error_seconds=16.0, was_synchronized=True)
    node.wait(8 * HOUR, 300)


@incident(
    "kernel_oops@*",
    may=("process_crashed", "hung_task", "cpu_lockup", "rcu_stall", *GONE),
    never=("kernel_panic", "machine_check", "gpu_lost"),
    unfit=True,
    node=chassis_of_h100,
)
def module_for_peer_memory_uses_freed_memory(node: Story) -> None:
    """The kernel oopses in a module for peer memory when a job ends; the next jobs run."""
    node.wait(1800, 60)
    node.log(
        "BUG: unable to handle page fault for address: ffffaa1c2f004010",
        "#PF: supervisor read access in kernel mode",
        "#PF: error_code(0x0000) - not-present page",
        "Oops: 0000 [#1] SMP NOPTI",
        "CPU: 44 PID: 4713 Comm: python3 Tainted: P           OE     5.15.0-122-generic "
        "#132-Ubuntu",
        "RIP: 0010:nv_mem_release+0x1c/0x60 [nvidia_peermem]",
        "---[ end trace 95e950eb607e4843 ]---",
    )
    aborts(node)
    node.wait(900, 60)
    starts(node, chassis_of_h100, 71_300)
    node.wait(3 * HOUR, 120)


CASES = (
    channel_of_an_epyc_corrects_all_night,
    loader_of_a_job_reads_a_poisoned_page,
    firmware_of_an_altra_counts_single_bits,
    cache_of_an_old_core_is_tired,
    processor_is_stuck_in_a_filter_for_ten_minutes,
    workers_of_the_kernel_reclaim_for_minutes,
    loaders_of_a_job_take_all_memory,
    filter_of_mail_leaks_until_it_is_restarted,
    time_service_of_a_worker_was_removed,
    module_for_peer_memory_uses_freed_memory,
)
