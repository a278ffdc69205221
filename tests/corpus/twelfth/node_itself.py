"""Incidents of the node itself: memory, processors, kernel, clock, limits."""

from tests.corpus.eleventh.nodes import GONE, HOUR, MACHINE, WAITING, aborts, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import hpc_worker
from tests.corpus.parts import DIMM, GIB
from tests.corpus.seventh.nodes import guest
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    boot_server,
    box_of_b200,
    box_of_h100,
    database_server,
    four_a100,
    four_l40s,
    web_worker,
)

CORRECTED = ("machine_check_corrected_rate", "memory_page_offlined", "firmware_hardware_error")
BUSY = ("cpu_saturated", "memory_pressure", "memory_swapping", "io_stall", "disk_slow")


@incident(
    "memory_corrected_rate@*",
    may=CORRECTED,
    never=("memory_uncorrected", "machine_check", "node_oom_kill"),
    unfit=False,
    node=box_of_b200,
)
def module_of_a_granite_corrects_by_the_minute(node: Story) -> None:
    """A module of a node at work has two corrected errors each second, all the afternoon."""
    node.wait(900, 60)
    place = ("MemoryErrors", "controllers", "mc1")
    node.rate(2.0, *place, "corrected_errors")
    node.rate(2.0, *place, "dimms", "a", "corrected_errors")
    for number in range(40):
        node.log(
            f"EDAC MC1: {30 + number % 7} CE memory read error on {DIMM} (channel:0 slot:0 "
            f"page:0x2c81f{number:02x} offset:0x480 grain:32 syndrome:0x0 -  "
            "err_code:0x0101:0x0090 SystemAddress:0x2c81f480 socket:0 imc:1 channel:0)"
        )
        node.wait(420, 60)


@incident(
    "memory_uncorrected@*|firmware_hardware_error@*|machine_check@*|memory_page_offlined@*",
    may=(*MACHINE, "process_crashed", *GONE),
    never=("gpu_ecc_uncorrected", "node_oom_kill", "gpu_lost"),
    node=database_server,
)
def scrubber_finds_a_page_that_cannot_be_read(node: Story) -> None:
    """The firmware reports an uncorrected error that a scrub found; its page is given up."""
    node.wait(1800, 60)
    said = "{2}[Hardware Error]:"
    node.log(
        f"{said} Hardware error from APEI Generic Hardware Error Source: 0",
        f"{said} event severity: recoverable",
        f"{said}  Error 0, type: recoverable",
        f"{said}  fru_text: Card04, ChnE, DIMM0",
        f"{said}   section_type: memory error",
        f"{said}    error_status: Storage error in DRAM memory (0x0000000000000400)",
        f"{said}   physical_address: 0x0000004c0e7ad900",
        f"{said}   node:1 card:4 module:0 rank:0 bank:13 device:0 row:21408 column:712 ",
        f"{said}   error_type: 5, multi-bit ECC",
        "Memory failure: 0x4c0e7ad: recovery action for clean LRU page: Recovered",
    )
    node.wait(4 * HOUR, 120)


@incident(
    "machine_check_corrected_rate@*",
    may=("firmware_hardware_error", "memory_corrected_rate"),
    never=("machine_check", "memory_uncorrected", "machine_check_exceptions"),
    unfit=False,
    node=boot_server,
)
def third_cache_of_an_epyc_corrects_itself(node: Story) -> None:
    """The L3 of a core complex of an EPYC logs several corrected errors each minute, for hours."""
    node.wait(900, 60)
    for number in range(150):
        for _ in range(4):
            node.log(
                "mce: [Hardware Error]: Machine check events logged",
                "[Hardware Error]: Corrected error, no action required.",
                "[Hardware Error]: CPU:4 (17:31:0) MC7_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-"
                "|-|-]: 0xdc20400003020108",
                f"[Hardware Error]: Error Addr: 0x{0x1C8E40 + 64 * number:016x}",
                "[Hardware Error]: IPID: 0x000700b020650300, Syndrome: 0x000000002a000501",
                "[Hardware Error]: L3 Cache Ext. Error Code: 2, L3M Tag ECC Error.",
                "[Hardware Error]: cache level: RESV, tx: INSN, mem-tx: RD",
            )
        node.wait(60, 30)


@incident(
    "cpu_lockup@*",
    may=("rcu_stall", "hung_task", "cpu_saturated", "clocksource_unstable", *WAITING),
    never=("kernel_panic", "machine_check", "memory_uncorrected"),
    node=four_l40s,
)
def processor_spins_in_a_driver_of_storage(node: Story) -> None:
    """A soft lockup of forty-eight seconds, twice within an hour, while a volume is mounted."""
    for secs in ((26, 48), (22, 45)):
        node.wait(1800, 60)
        for each in secs:
            node.log(
                f"watchdog: BUG: soft lockup - CPU#44 stuck for {each}s! [mount:102911]",
                "CPU: 44 PID: 102911 Comm: mount Tainted: P           OEL    -------  ---  "
                "5.14.0-503.el9.x86_64 #1",
                "RIP: 0010:smp_call_function_many_cond+0x12a/0x560",
            )
            node.wait(24, 12)
    node.wait(2 * HOUR, 120)


@incident(
    "rcu_stall@*",
    may=("cpu_lockup", "hung_task", "clocksource_unstable", "workqueue_lockup", *WAITING),
    never=("kernel_panic", "machine_check", "memory_uncorrected"),
    node=guest,
)
def guest_is_not_scheduled_by_its_host(node: Story) -> None:
    """A host that is too full does not run a processor of a guest: RCU stalls for a minute."""
    node.wait(1800, 60)
    for number in range(3):
        node.log(
            "rcu: INFO: rcu_preempt self-detected stall on CPU",
            f"rcu: \t3-....: ({60_002 + 52_500 * number} ticks this GP) "
            "idle=ec04/1/0x4000000000000000 softirq=8124099/8124099 fqs=12877",
            f"rcu: \t(t={60_008 + 52_500 * number} jiffies g=19204417 q=4422 ncpus=128)",
        )
        node.wait(210, 30)
    node.wait(2 * HOUR, 120)


@incident(
    "kernel_oops@*",
    may=("process_crashed", "hung_task", "cpu_lockup", "rcu_stall", *GONE),
    never=("kernel_panic", "machine_check", "gpu_lost"),
    unfit=True,
    node=web_worker,
)
def kernel_follows_a_pointer_to_nowhere(node: Story) -> None:
    """The kernel of a worker oopses when a pod leaves its network; the worker goes on."""
    node.wait(1800, 60)
    node.log(
        "BUG: kernel NULL pointer dereference, address: 0000000000000058",
        "#PF: supervisor read access in kernel mode",
        "#PF: error_code(0x0000) - not-present page",
        "Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "CPU: 9 PID: 441207 Comm: kworker/u385:2 Kdump: loaded Not tainted "
        "5.14.0-427.42.1.el9_4.x86_64 #1",
        "Workqueue: netns cleanup_net",
        "RIP: 0010:fib6_walk_continue+0x2b/0x190",
        "---[ end trace 0000000000000000 ]---",
    )
    node.wait(4 * HOUR, 120)


@incident(
    "node_oom_kill@*",
    root="node_oom_kill@*|memory_pressure@*",
    may=(*BUSY, "process_oom_kill", "oom_kill_without_log", *WAITING),
    never=("pod_oom_kill", "memory_uncorrected", "disk_io_errors"),
    unfit=True,
    node=hpc_worker,
)
def assembly_of_a_genome_needs_too_much(node: Story) -> None:
    """A job without a limit takes all memory of a worker within half an hour and is killed."""
    node.wait(900, 60)
    for left in (420, 180, 60, 12, 2):
        node.put("Memory", available_bytes=left * GIB, free_bytes=min(left, 2) * GIB)
        node.wait(300, 60)
    node.pressure("memory", "some", 82.0)
    node.pressure("memory", "full", 61.0)
    node.wait(60)
    node.log(
        "spades-core invoked oom-killer: gfp_mask=0x6200ca(GFP_HIGHUSER_MOVABLE), order=0, "
        "oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-7,global_oom,"
        "task_memcg=/slurm/uid_4120/job_881204/step_batch,task=spades-core,pid=120448,uid=4120",
        "Out of memory: Killed process 120448 (spades-core) total-vm:1081240112kB, "
        "anon-rss:1040220180kB, file-rss:1204kB, shmem-rss:0kB, UID:4120 pgtables:2044108kB "
        "oom_score_adj:0",
        "oom_reaper: reaped process 120448 (spades-core), now anon-rss:0kB, file-rss:0kB, "
        "shmem-rss:0kB",
    )
    node.put("Paging", oom_kills=1)
    node.put("Memory", available_bytes=990 * GIB, free_bytes=960 * GIB)
    node.put("Cpu", usage_percent=3.0, used_cores=4.0, load1=40.0)
    node.pressure("memory", "some", 0.0)
    node.pressure("memory", "full", 0.0)
    node.wait(2 * HOUR, 60)


@incident(
    "clock_not_synced@*",
    unfit=False,
    gone=("clock_not_synced",),
    fit_at_end=True,
    node=box_of_h100,
)
def time_servers_of_a_hall_cannot_be_reached(node: Story) -> None:
    """A rule of a firewall cuts a hall off its time servers for a night; it is mended at nine."""
    node.wait(900, 60)
    for hour in range(4):
        node.put("Clock", error_seconds=0.02 + 1.8 * (hour + 1))
        node.wait(HOUR, 300)
    node.put("Clock", synchronized=False, error_seconds=16.0, was_synchronized=True)
    node.wait(5 * HOUR, 300)
    node.put("Clock", synchronized=True, error_seconds=0.004, offset_seconds=2e-4)
    node.wait(2 * HOUR, 300)


@incident(
    "file_handles_exhausted@*|file_handles_low@*",
    may=("file_handles_low", "process_crashed", "tcp_listen_overflow"),
    never=("filesystem_full", "kernel_oops", "memory_pressure"),
    node=web_worker,
)
def proxy_of_a_cluster_forgets_to_close(node: Story) -> None:
    """A proxy leaks sockets until the node has no handle left; it is restarted after an hour."""
    node.put("ProcessCounts", file_descriptors_max=2_097_152)
    node.wait(900, 60)
    for number in (700_000, 1_300_000, 1_900_000, 2_060_000):
        node.put("ProcessCounts", file_descriptors_open=number)
        node.wait(900, 60)
    node.put("ProcessCounts", file_descriptors_open=2_097_152)
    node.log("VFS: file-max limit 2097152 reached")
    node.wait(HOUR, 60)
    node.put("ProcessCounts", file_descriptors_open=61_000)
    node.wait(2 * HOUR, 60)


@incident(
    "kernel_memory_corrupted@*",
    may=("process_crashed", "kernel_oops", *GONE),
    never=("kernel_panic", "gpu_lost", "memory_uncorrected"),
    unfit=True,
    node=four_a100,
)
def page_is_freed_with_a_count_of_its_own(node: Story) -> None:
    """The kernel finds a bad page state as a job ends; nothing else is seen, jobs go on."""
    node.wait(1800, 60)
    node.log(
        "BUG: Bad page state in process lmp_kokkos  pfn:2d8e41f",
        "page:00000000a0b7d1c4 refcount:-1 mapcount:0 mapping:0000000000000000 index:0x0 "
        "pfn:0x2d8e41f",
        "flags: 0x57ffffc0000000(node=2|zone=2|lastcpupid=0x1fffff)",
        "page dumped because: nonzero _refcount",
    )
    aborts(node, watts=62.0, heat=30.0)
    node.wait(600, 60)
    starts(node, four_a100, 44_800)
    node.wait(4 * HOUR, 120)


CASES = (
    module_of_a_granite_corrects_by_the_minute,
    scrubber_finds_a_page_that_cannot_be_read,
    third_cache_of_an_epyc_corrects_itself,
    processor_spins_in_a_driver_of_storage,
    guest_is_not_scheduled_by_its_host,
    kernel_follows_a_pointer_to_nowhere,
    assembly_of_a_genome_needs_too_much,
    time_servers_of_a_hall_cannot_be_reached,
    proxy_of_a_cluster_forgets_to_close,
    page_is_freed_with_a_count_of_its_own,
)
