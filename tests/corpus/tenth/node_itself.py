"""Incidents of the node itself: memory, processors, kernel, clock, limits."""

from tests.corpus.eighth.nodes import kubelet_node
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import hpc_worker
from tests.corpus.parts import DIMM, GIB
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    GONE,
    HOUR,
    WAITING,
    database,
    file_server,
    inference_l40s,
    pod_of_a100,
    pod_of_h100,
    reboots,
)

MACHINE = (
    *("machine_check", "machine_check_exceptions", "machine_check_corrected_rate"),
    *("memory_corrected_rate", "memory_uncorrected", "memory_page_offlined"),
    "firmware_hardware_error",
)
CORRECTED = ("machine_check_corrected_rate", "memory_page_offlined", "firmware_hardware_error")
BUSY = ("cpu_saturated", "memory_pressure", "memory_swapping", "io_stall", "disk_slow")


@incident(
    "memory_corrected_rate@*",
    may=CORRECTED,
    never=("memory_uncorrected", "machine_check", "node_oom_kill"),
    unfit=False,
    node=database,
)
def module_has_a_weak_row(node: Story) -> None:
    """One module has a corrected error each two seconds, for three hours."""
    node.wait(300, 60)
    place = ("MemoryErrors", "controllers", "mc1")
    node.rate(0.5, *place, "corrected_errors")
    node.rate(0.5, *place, "dimms", "a", "corrected_errors")
    for _ in range(18):
        node.log(
            f"EDAC MC1: 1 CE memory read error on {DIMM} (channel:0 slot:0 page:0x1f4b2a0 "
            "offset:0x640 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090)"
        )
        node.wait(600, 60)


@incident(
    "memory_uncorrected@*",
    root="memory_uncorrected@*|machine_check@*",
    may=(*MACHINE, "kernel_panic", *GONE),
    never=("gpu_ecc_uncorrected", "node_oom_kill"),
    unfit=True,
    node=pod_of_a100,
)
def module_loses_two_bits(node: Story) -> None:
    """Patrol scrub finds an uncorrectable error: the page is given up, a rank is killed."""
    node.wait(600, 60)
    node.log(
        "mce: [Hardware Error]: Machine check events logged",
        f"EDAC MC1: 1 UE memory scrubbing error on {DIMM} (channel:0 slot:0 page:0x2a1180c "
        "offset:0x0 grain:32 -  err_code:0x0101:0x0090)",
        "Memory failure: 0x2a1180c: Sending SIGBUS to python3:4714 due to hardware memory "
        "corruption",
        "Memory failure: 0x2a1180c: recovery action for dirty LRU page: Recovered",
    )
    node.put("MemoryErrors", "controllers", "mc1", uncorrected_errors=1)
    node.put("MemoryErrors", "controllers", "mc1", "dimms", "a", uncorrected_errors=1)
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "machine_check@*",
    root="machine_check@*|machine_check_exceptions@*",
    may=(*MACHINE, "kernel_panic", "cpu_lockup"),
    never=("node_oom_kill", "gpu_lost"),
    unfit=True,
    node=hpc_worker,
)
def cache_of_a_core_is_broken(node: Story) -> None:
    """A deferred error in the L3 of an EPYC, logged as uncorrected; a program dies."""
    node.wait(600, 60)
    node.log(
        "mce: [Hardware Error]: Machine check events logged",
        "[Hardware Error]: Uncorrected, software restartable error.",
        "[Hardware Error]: CPU:77 (17:31:0) MC1_STATUS[-|UE|MiscV|AddrV|-|TCC|-|-|-|-]: "
        "0xbc800800060c0859",
        "[Hardware Error]: Error Addr: 0x00007f31a9c04000",
        "[Hardware Error]: IPID: 0x000100b000000000",
        "[Hardware Error]: Instruction Fetch Unit Ext. Error Code: 12",
        "mce: Uncorrected hardware memory error in user-access at 7f31a9c04000",
    )
    node.put("CpuHealth", machine_checks=1)
    node.wait(3 * HOUR, 120)


@incident(
    "machine_check_corrected_rate@*",
    may=(*CORRECTED, "memory_corrected_rate"),
    never=("machine_check", "memory_uncorrected"),
    unfit=False,
    node=kubelet_node,
)
def link_between_sockets_is_noisy(node: Story) -> None:
    """Corrected errors of one bank arrive many times a minute for hours."""
    node.wait(300, 60)
    for _ in range(240):
        for _ in range(5):
            node.log(
                "mce: [Hardware Error]: Machine check events logged",
                "[Hardware Error]: Corrected error, no action required.",
                "[Hardware Error]: CPU:32 (19:11:1) MC22_STATUS[Over|CE|MiscV|-|-|-|SyndV|-|-|-]: "
                "0xd82000000002080b",
                "[Hardware Error]: IPID: 0x0001002e00000002, Syndrome: 0x000000005b0b0005",
                "[Hardware Error]: Power, Interrupts, etc. Ext. Error Code: 2, Link Error.",
            )
        node.wait(30, 30)


@incident(
    "cpu_lockup@*",
    may=("rcu_stall", "hung_task", "cpu_saturated", "clocksource_unstable", *WAITING),
    never=("kernel_panic", "gpu_lost", "machine_check"),
    unfit=False,
    node=file_server,
)
def kernel_spins_in_an_old_driver(node: Story) -> None:
    """A kworker holds a processor for two minutes: soft lockups are told again and again."""
    node.wait(600, 60)
    for secs in (26, 52, 78, 104, 130):
        node.log(
            f"watchdog: BUG: soft lockup - CPU#14 stuck for {secs}s! [kworker/14:1:231184]",
            "CPU: 14 PID: 231184 Comm: kworker/14:1 Tainted: P           OEL     6.1.0-32-amd64 #1",
            "RIP: 0010:native_queued_spin_lock_slowpath+0x6e/0x2b0",
        )
        node.wait(28, 14)
    node.wait(3 * HOUR, 120)


@incident(
    "rcu_stall@*",
    may=("cpu_lockup", "hung_task", "clocksource_unstable", "cpu_saturated", *WAITING),
    never=("kernel_panic", "machine_check"),
    unfit=False,
    node=kubelet_node,
)
def guest_steals_a_whole_processor(node: Story) -> None:
    """A CPU does not report to RCU for a minute while SMM is at work, twice in an hour."""
    node.wait(600, 60)
    for ticks in (21003, 84021):
        node.log(
            "rcu: INFO: rcu_sched self-detected stall on CPU",
            f"rcu: \t87-....: ({ticks} ticks this GP) idle=8a7c/1/0x4000000000000000 "
            "softirq=30217741/30217741 fqs=5248",
            f"\t(t={ticks} jiffies g=99210173 q=1190233 ncpus=128)",
        )
        node.wait(1800, 30)
    node.wait(HOUR, 60)


@incident(
    "kernel_oops@*",
    may=("process_crashed", "hung_task", "cpu_lockup", "rcu_stall", *WAITING),
    never=("kernel_panic", "machine_check", "memory_uncorrected"),
    unfit=True,
    node=file_server,
)
def filesystem_module_follows_a_null_pointer(node: Story) -> None:
    """The kernel oopses in ext4, a process stays dead; the node is rebooted in the evening."""
    node.wait(600, 60)
    node.log(
        "BUG: kernel NULL pointer dereference, address: 0000000000000028",
        "#PF: supervisor read access in kernel mode",
        "#PF: error_code(0x0000) - not-present page",
        "Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "CPU: 3 PID: 90121 Comm: nfsd Not tainted 6.1.0-32-amd64 #1  Debian 6.1.129-1",
        "RIP: 0010:ext4_finish_bio+0x11c/0x270 [ext4]",
        "---[ end trace 0000000000000000 ]---",
    )
    node.wait(2 * HOUR, 120)
    reboots(node, file_server)
    node.wait(HOUR, 60)


@incident(
    "node_oom_kill@*",
    root="node_oom_kill@*|memory_pressure@*",
    may=(*BUSY, "process_oom_kill", "oom_kill_without_log", *WAITING),
    never=("pod_oom_kill", "memory_uncorrected", "disk_io_errors"),
    unfit=True,
    node=hpc_worker,
)
def preprocessing_takes_all_memory(node: Story) -> None:
    """Tools outside any container eat a terabyte within ten minutes, the kernel kills one."""
    node.wait(300, 60)
    for left in (400, 150, 40, 6, 1):
        node.put("Memory", available_bytes=left * GIB, free_bytes=min(left, 2) * GIB)
        node.wait(120)
    node.pressure("memory", "full", 55.0)
    node.pressure("memory", "some", 80.0)
    node.wait(30)
    node.log(
        "salmon invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, "
        "oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/user.slice/user-2114.slice,task=salmon,pid=30811,uid=2114",
        "Out of memory: Killed process 30811 (salmon) total-vm:981723412kB, "
        "anon-rss:973114220kB, file-rss:0kB, shmem-rss:0kB, UID:2114 pgtables:1912044kB "
        "oom_score_adj:0",
    )
    node.put("Paging", oom_kills=1)
    node.put("Memory", available_bytes=930 * GIB, free_bytes=890 * GIB)
    node.pressure("memory", "full", 0.0)
    node.pressure("memory", "some", 0.0)
    node.wait(2 * HOUR, 120)


@incident(
    "memory_pressure@*",
    may=(*BUSY, *WAITING),
    never=("node_oom_kill", "memory_uncorrected"),
    unfit=False,
    gone=("memory_pressure",),
    fit_at_end=True,
    node=database,
)
def shared_buffers_are_far_too_large(node: Story) -> None:
    """A database takes 98 % of the memory for two hours until it is restarted with less."""
    node.wait(300, 60)
    for left in (300, 100, 18):
        node.put("Memory", available_bytes=left * GIB, free_bytes=min(left, 4) * GIB)
        node.wait(300, 60)
    node.pressure("memory", "some", 34.0)
    node.pressure("memory", "full", 15.0)
    node.wait(2 * HOUR, 60)
    node.put("Memory", available_bytes=610 * GIB, free_bytes=500 * GIB)
    node.pressure("memory", "some", 0.0)
    node.pressure("memory", "full", 0.0)
    node.wait(HOUR, 60)


@incident(
    "clock_not_synced@*",
    unfit=False,
    gone=("clock_not_synced",),
    fit_at_end=True,
    node=pod_of_h100,
)
def time_servers_are_behind_a_new_firewall(node: Story) -> None:
    """No time server is reached for nine hours, the bound of the error grows; then it is."""
    node.wait(600, 60)
    node.put("Clock", synchronized=False, error_seconds=16.0, was_synchronized=True)
    node.wait(9 * HOUR, 300)
    node.put("Clock", synchronized=True, error_seconds=0.004)
    node.wait(HOUR, 60)


@incident(
    "file_handles_exhausted@*",
    may=("file_handles_low", "process_crashed", "tcp_listen_overflow"),
    never=("filesystem_full", "node_oom_kill"),
    unfit=True,
    node=kubelet_node,
)
def sidecar_leaks_descriptors(node: Story) -> None:
    """A container opens files and never closes them, until nobody can open one any more."""
    node.put("ProcessCounts", file_descriptors_max=1_048_576)
    node.wait(300, 60)
    for used in (400_000, 700_000, 990_000, 1_048_570):
        node.put("ProcessCounts", file_descriptors_open=used)
        node.wait(900, 60)
    node.log("VFS: file-max limit 1048576 reached")
    node.wait(600, 30)
    node.put("ProcessCounts", file_descriptors_open=23_000)
    node.wait(2 * HOUR, 120)


@incident(
    "process_ids_low@*",
    may=("cpu_saturated", "memory_pressure", "process_crashed"),
    never=("node_oom_kill", "file_handles_exhausted"),
    unfit=False,
    node=kubelet_node,
)
def cron_job_forks_for_ever(node: Story) -> None:
    """A script that never ends starts others each second: hardly a process ID is left."""
    node.put("ProcessCounts", processes_limit=65_536)
    node.wait(300, 60)
    for threads in (20_000, 41_000, 60_000, 64_900):
        node.put("ProcessCounts", threads=threads)
        node.wait(600, 60)
    node.wait(HOUR, 60)


@incident(
    "iommu_fault@*41*",
    may=(*GONE, "gpu_pcie_timeout", "gpu_page_fault"),
    never=("gpu_lost", "memory_uncorrected", "gpu_ecc_uncorrected"),
    node=inference_l40s,
)
def copies_between_boards_are_blocked(node: Story) -> None:
    """Peer-to-peer copies hang because the IOMMU of an EPYC translates them: faults by hundreds."""
    node.wait(300, 60)
    for number in range(30):
        node.log(
            "nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x001c "
            f"address=0x{0x38000A0000 + number * 4096:x} flags=0x0020]"
        )
        node.wait(60, 30)
    node.wait(HOUR, 60)


CASES = (
    module_has_a_weak_row,
    module_loses_two_bits,
    cache_of_a_core_is_broken,
    link_between_sockets_is_noisy,
    kernel_spins_in_an_old_driver,
    guest_steals_a_whole_processor,
    filesystem_module_follows_a_null_pointer,
    preprocessing_takes_all_memory,
    shared_buffers_are_far_too_large,
    time_servers_are_behind_a_new_firewall,
    sidecar_leaks_descriptors,
    cron_job_forks_for_ever,
    copies_between_boards_are_blocked,
)
