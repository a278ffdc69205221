"""Incidents of the node: memory, processors, the kernel, limits, time."""

from tests.corpus.fifth.nodes import a100s, l40s
from tests.corpus.labels import incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import DIMM, GIB, POD_UID
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER

HOURS = 3 * 3600
POD = f"/kubepods.slice/kubepods-pod{POD_UID.replace('-', '_')}.slice"
DIMM_PLACE = ("MemoryErrors", "controllers", "mc1", "dimms", "a")
SIZES = "total-vm:68157440kB, anon-rss:66060288kB, file-rss:4096kB, shmem-rss:0kB, UID:1000"


@incident(
    "memory_corrected_rate@mc1/*",
    may=("machine_check_corrected_rate", "firmware_hardware_error"),
    unfit=False,
    node=processors_only,
)
def module_of_an_amd_board_corrects_a_lot(node: Story) -> None:
    """A memory module of an EPYC board corrects six hundred errors within half an hour."""
    node.wait(60)
    for count in range(20, 601, 20):
        node.log(
            "[Hardware Error]: Corrected error, no action required.",
            "[Hardware Error]: CPU:0 (19:11:1) MC18_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-"
            "]: 0xdc2041000000011b",
            "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0, DRAM ECC error.",
            "EDAC MC1: 20 CE on mc#1csrow#1channel#3 (csrow:1 channel:3 page:0x3e1a4f offset:0x700 "
            "grain:64 syndrome:0x40)",
            "[Hardware Error]: cache level: L3/GEN, tx: GEN, mem-tx: RD",
        )
        node.put("MemoryErrors", "controllers", "mc1", corrected_errors=count)
        node.put(*DIMM_PLACE, corrected_errors=count)
        node.wait(60)


@incident(
    *(f"memory_uncorrected@*{DIMM}|memory_uncorrected@mc1*", "memory_page_offlined@node"),
    may=("machine_check", "machine_check_exceptions", "memory_uncorrected"),
    unfit=True,
    lasts=("memory_uncorrected",),
    fit_at_end=False,
    node=a100s,
)
def page_cannot_be_taken_away(node: Story) -> None:
    """An uncorrected error in a page of the kernel: giving the page up fails."""
    node.wait(60)
    node.log(
        f"EDAC MC1: 1 UE memory read error on {DIMM} (channel:0 slot:0 page:0x1f2ab34 offset:0x40 "
        "grain:32 -  err_code:0x00a0:0x0090  SystemAddress:0x1f2ab34040 ProcessorSocketId:0x0)",
        "Memory failure: 0x1f2ab34: unhandlable page.",
        "Memory failure: 0x1f2ab34: recovery action for reserved kernel page: Failed",
    )
    node.put("MemoryErrors", "controllers", "mc1", uncorrected_errors=1)
    node.put(*DIMM_PLACE, uncorrected_errors=1)
    node.wait(HOURS, 300)


@incident(
    "memory_page_offlined@node",
    may=("machine_check", "memory_uncorrected", "machine_check_exceptions", "gpu_app_fault"),
    root=("memory_page_offlined@node|machine_check@*|memory_uncorrected@*",),
    node=a100s,
)
def rank_reads_poisoned_memory(node: Story) -> None:
    """A rank touches a page with an uncorrected error and is ended; no module is named."""
    node.wait(60)
    node.log(
        "mce: Uncorrected hardware memory error in user-access at 1f2ab3c440",
        "Memory failure: 0x1f2ab3c: Sending SIGBUS to trainer:4712 due to hardware memory "
        "corruption",
        "Memory failure: 0x1f2ab3c: recovery action for dirty LRU page: Recovered",
    )
    node.put("Workloads", "clients", **{"4712": None})
    node.xid("0b", 45, "Ch 00000008", pid="4712", name="trainer")
    node.wait(600, 60)


@incident(
    *("cpu_lockup@37", "rcu_stall@node"), unfit=False, may=("hung_task",), node=processors_only
)
def kernel_thread_hogs_a_processor(node: Story) -> None:
    """A processor is stuck in a worker for two minutes, and the kernel waits for it."""
    node.wait(60)
    for secs in (26, 52, 78, 104):
        node.log(f"watchdog: BUG: soft lockup - CPU#37 stuck for {secs}s! [kworker/37:1:20331]")
        node.wait(15)
    node.log(
        "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "rcu: \t37-....: (14997 ticks this GP) idle=2b4c/1/0x4000000000000000 softirq=811/811",
    )
    node.wait(60)
    node.log("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:")
    node.wait(120)


@incident("cpu_lockup@11", unfit=True, may=("rcu_stall",), node=l40s)
def processor_locks_up_hard(node: Story) -> None:
    """A processor does not even take interrupts, in the words of an older kernel."""
    node.wait(60)
    node.log("NMI watchdog: Watchdog detected hard LOCKUP on cpu 11")
    node.wait(300, 30)


@incident("hung_task@1822", unfit=False, may=("hung_task", "io_stall"), node=processors_only)
def writeback_is_blocked(node: Story) -> None:
    """A worker of the kernel is blocked for six minutes, for no known reason."""
    node.wait(60)
    for secs in (122, 245, 368):
        node.log(
            f"INFO: task kworker/u256:3:1822 blocked for more than {secs} seconds.",
            "      Tainted: P           OE      5.15.0-1056-generic #66-Ubuntu",
            '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        )
        node.wait(120, 30)


@incident(
    "node_oom_kill@node",
    may=("memory_pressure", "pod_oom_kill", "process_oom_kill", "oom_kill_without_log"),
    unfit=True,
    fit_at_end=True,
    node=processors_only,
)
def build_eats_the_node(node: Story) -> None:
    """A build outside pods takes all memory within a minute; its death frees everything."""
    node.wait(60)
    node.put("Memory", available_bytes=2 * GIB, free_bytes=GIB)
    node.wait(30)
    node.log(
        "cc1plus invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, "
        "oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/user.slice/user-1000.slice/session-3.scope,task=cc1plus,pid=30221,uid=1000",
        f"Out of memory: Killed process 30221 (cc1plus) {SIZES} pgtables:129240kB oom_score_adj:0",
        "oom_reaper: reaped process 30221 (cc1plus), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    )
    node.put("Paging", oom_kills=1)
    node.put("Memory", available_bytes=690 * GIB, free_bytes=600 * GIB)
    node.wait(1200, 60)


@incident(
    *("pod_oom_loop@*", "pod_oom_kill@*"),
    root=("pod_oom_loop@*|pod_oom_kill@*|process_oom_kill@*",),
    may=("process_oom_kill",),
    never=("node_oom_kill",),
    unfit=False,
    node=l40s,
)
def pod_is_killed_five_times_an_hour(node: Story) -> None:
    """The same pod meets its limit every ten minutes."""
    node.wait(60)
    for number in range(5):
        pid = 52000 + 310 * number
        node.log(
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-4be.scope,"
            f"mems_allowed=0-1,oom_memcg={POD},task_memcg={POD}/cri-containerd-4be.scope,"
            f"task=python3,pid={pid},uid=1000",
            f"Memory cgroup out of memory: Killed process {pid} (python3) {SIZES} "
            "pgtables:129240kB oom_score_adj:-997",
        )
        node.put("Paging", oom_kills=number + 1)
        node.wait(600, 60)


@incident(
    "kernel_oops@node",
    unfit=True,
    lasts=("kernel_oops@node",),
    may=GPU_AFTER,
    fit_at_end=False,
    node=l40s,
)
def driver_trips_inside_the_kernel(node: Story) -> None:
    """A page fault inside the GPU driver: the kernel goes on, and is not to be trusted."""
    node.wait(60)
    node.log(
        "BUG: unable to handle page fault for address: ffffa1d0c4e7f018",
        "#PF: supervisor read access in kernel mode",
        "#PF: error_code(0x0000) - not-present page",
        "Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "CPU: 22 PID: 4711 Comm: python3 Tainted: P           OE      6.8.0-45-generic #45-Ubuntu",
        "RIP: 0010:_nv012345rm+0x24/0x60 [nvidia]",
    )
    node.wait(HOURS, 300)


@incident("kernel_oops@node", unfit=True, node=processors_only)
def kernel_follows_a_wild_pointer(node: Story) -> None:
    """A general protection fault in the kernel itself."""
    node.wait(60)
    node.log(
        "general protection fault, probably for non-canonical address 0xdead000000000108: 0000 "
        "[#1] SMP PTI",
        "CPU: 4 PID: 991 Comm: kswapd0 Not tainted 5.15.0-119-generic #129-Ubuntu",
    )
    node.wait(600, 60)


@incident(
    "file_handles_exhausted@node",
    may=("file_handles_low",),
    unfit=True,
    gone=("file_handles_exhausted",),
    fit_at_end=True,
    node=processors_only,
)
def open_files_reach_the_limit(node: Story) -> None:
    """The limit of open files is reached; the program that leaked them is ended."""
    node.put("ProcessCounts", file_descriptors_max=1_048_576)
    node.wait(60)
    node.put("ProcessCounts", file_descriptors_open=1_048_500)
    for _ in range(4):
        node.log("VFS: file-max limit 1048576 reached")
        node.wait(60)
    node.put("ProcessCounts", file_descriptors_open=20_000)
    node.wait(2 * 3600, 300)


@incident("process_ids_low@node", unfit=False, node=processors_only)
def threads_reach_the_limit(node: Story) -> None:
    """Nearly as many threads as the kernel has numbers for."""
    node.wait(60)
    node.put("ProcessCounts", threads=32_400, processes_limit=32_768)
    node.wait(1200, 60)


@incident("clock_not_synced@node", unfit=False, node=processors_only)
def clock_is_off_by_a_fifth_of_a_second(node: Story) -> None:
    """The time service runs, and cannot bring the clock into step for half an hour."""
    node.wait(300, 60)
    node.put("Clock", offset_seconds=0.21, error_seconds=0.4)
    node.wait(1800, 60)


CASES = (
    module_of_an_amd_board_corrects_a_lot,
    page_cannot_be_taken_away,
    rank_reads_poisoned_memory,
    kernel_thread_hogs_a_processor,
    processor_locks_up_hard,
    writeback_is_blocked,
    build_eats_the_node,
    pod_is_killed_five_times_an_hour,
    driver_trips_inside_the_kernel,
    kernel_follows_a_wild_pointer,
    open_files_reach_the_limit,
    threads_reach_the_limit,
    clock_is_off_by_a_fifth_of_a_second,
)
