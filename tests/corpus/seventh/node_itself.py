"""Incidents of memory, processors, the kernel, its limits and the time."""

from tests.corpus.labels import incident
from tests.corpus.parts import GIB
from tests.corpus.seventh.nodes import altra, disk_shelf, epyc, guest, hgx
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER, STARVED

HOURS = 2 * 3600
ROW = "mc#0csrow#2channel#1"
OF_ROW = ("MemoryErrors", "controllers", "mc0", "dimms", "21")
MEMORY = (
    *("machine_check", "machine_check_exceptions", "machine_check_corrected_rate"),
    *("memory_uncorrected", "memory_corrected_rate", "firmware_hardware_error"),
)
KILLS = ("pod_oom_kill", "process_oom_kill", "oom_kill_without_log", "memory_swapping")
GHES = "{{{}}}[Hardware Error]: "


@incident(
    f"memory_corrected_rate@*{ROW}*|memory_corrected_rate@mc0*",
    may=MEMORY,
    never=("memory_uncorrected",),
    unfit=False,
    fit_at_end=True,
    node=epyc,
)
def module_of_an_epyc_corrects_by_the_hundred(node: Story) -> None:
    """Six corrected errors a minute of one row of a module, in the words of AMD, for an hour."""
    node.wait(60)
    for count in range(6, 366, 6):
        node.log(
            "mce: [Hardware Error]: Machine check events logged",
            "[Hardware Error]: Corrected error, no action required.",
            "[Hardware Error]: CPU:2 (19:1:1) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]"
            ": 0xdc2040000000011b",
            "[Hardware Error]: Error Addr: 0x00000007ff7e93c0",
            "[Hardware Error]: IPID: 0x0000009600150f00, Syndrome: 0x000040000a801103",
            "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0, DRAM ECC error.",
            f"EDAC MC0: 6 CE on {ROW} (csrow:2 channel:1 page:0x3ff{count:03x} offset:0x3c0 "
            "grain:64 syndrome:0x4000)",
            "[Hardware Error]: cache level: L3/GEN, tx: GEN, mem-tx: RD",
        )
        node.put("MemoryErrors", "controllers", "mc0", corrected_errors=count)
        node.put(*OF_ROW, corrected_errors=count)
        node.wait(60, 30)


@incident(
    f"memory_uncorrected@*{ROW}*|memory_uncorrected@mc0*",
    "memory_page_offlined@node",
    may=(*MEMORY, "process_crashed"),
    unfit=True,
    node=epyc,
)
def module_of_an_epyc_has_a_poisoned_word(node: Story) -> None:
    """A deferred error of a module; a program reads the word and is ended."""
    node.wait(60)
    node.log(
        "mce: [Hardware Error]: Machine check events logged",
        "[Hardware Error]: Deferred error, no action required.",
        "[Hardware Error]: CPU:0 (19:1:1) MC18_STATUS[-|UE|MiscV|AddrV|-|-|SyndV|UECC|Deferred|-|-]"
        ": 0x9c2030000000011b",
        "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0, DRAM ECC error.",
        f"EDAC MC0: 1 UE on {ROW} (csrow:2 channel:1 page:0x79d6c8 offset:0x440 grain:64)",
    )
    node.put("MemoryErrors", "controllers", "mc0", uncorrected_errors=1)
    node.put(*OF_ROW, uncorrected_errors=1)
    node.wait(20, 10)
    node.log(
        "mce: Uncorrected hardware memory error in user-access at 79d6c8440",
        "Memory failure: 0x79d6c8: Sending SIGBUS to postgres:4120 due to hardware memory "
        "corruption",
        "Memory failure: 0x79d6c8: recovery action for dirty LRU page: Recovered",
    )
    node.wait(HOURS, 120)


@incident(
    "memory_corrected_rate@*|firmware_hardware_error@node",
    may=MEMORY,
    unfit=False,
    fit_at_end=True,
    node=altra,
)
def firmware_of_an_altra_reports_many_corrections(node: Story) -> None:
    """Forty records of corrected errors of one module within twenty minutes."""
    node.wait(60)
    for number in range(1, 41):
        head = GHES.format(number)
        node.log(
            f"{head}Hardware error from APEI Generic Hardware Error Source: 1\n"
            f"{head}event severity: corrected\n"
            f"{head} Error 0, type: corrected\n"
            f"{head}  section_type: memory error\n"
            f"{head}  node:0 card:5 module:0 rank:1 bank:257 device:8 row:75492 column:8",
            "EDAC MC0: 1 CE single-symbol chipkill ECC on unknown memory (node:0 card:5 module:0 "
            "rank:1 bank:257 device:8 row:75492 column:8 page:0x93724c offset:0x20 grain:1 "
            "syndrome:0x0 - APEI location: node:0 card:5 module:0 rank:1 bank:257)",
        )
        node.wait(30, 15)


@incident(
    "firmware_hardware_error@node|memory_uncorrected@*",
    "memory_page_offlined@node",
    may=(*MEMORY, "process_crashed"),
    node=altra,
)
def firmware_of_an_altra_reports_a_bad_word(node: Story) -> None:
    """A recoverable record of several bits; the page is taken out of use, its reader killed."""
    head = GHES.format(3)
    node.wait(60)
    node.log(
        f"{head}Hardware error from APEI Generic Hardware Error Source: 2\n"
        f"{head}event severity: recoverable\n"
        f"{head} Error 0, type: recoverable\n"
        f"{head}  section_type: memory error\n"
        f"{head}  physical_address: 0x000000089c033400\n"
        f"{head}  error_type: 3, multi-bit ECC",
        "EDAC MC0: 1 UE multi-bit ECC on unknown memory (node:0 card:3 module:0 rank:0 row:624 "
        "column:384 page:0x89c033 offset:0x400 grain:1)",
        "Memory failure: 0x89c033: Sending SIGBUS to java:22104 due to hardware memory corruption",
        "Memory failure: 0x89c033: recovery action for dirty LRU page: Recovered",
    )
    node.wait(3600, 60)


@incident(
    *("machine_check@7", "kernel_panic@node"),
    root=("machine_check@7",),
    may=("machine_check_exceptions", "machine_check"),
    unfit=True,
    fit_at_end=False,
    node=disk_shelf,
)
def processor_takes_the_kernel_down(node: Story) -> None:
    """A fatal machine check of one processor, and the panic that follows; no look after it."""
    node.wait(600, 60)
    node.log(
        "mce: [Hardware Error]: CPU 7: Machine Check Exception: 5 Bank 4: b200000000100402",
        "mce: [Hardware Error]: RIP !INEXACT! 10:<ffffffff9e2b1c64> {intel_idle+0x74/0xb0}",
        "mce: [Hardware Error]: TSC 9b2a771f2e6b3 ",
        "mce: [Hardware Error]: PROCESSOR 0:606a6 TIME 1763802133 SOCKET 0 APIC e microcode "
        "d0003e7",
        "mce: [Hardware Error]: Run the above through 'mcelog --ascii'",
        "mce: [Hardware Error]: Machine check: Processor context corrupt",
        "Kernel panic - not syncing: Fatal machine check",
    )
    node.now()


@incident(
    "cpu_lockup@*",
    may=("rcu_stall", "hung_task", "cpu_saturated", "cpu_lockup"),
    node=epyc,
)
def kernel_spins_on_one_processor(node: Story) -> None:
    """One processor is stuck in the kernel, longer with each line, for two minutes."""
    node.wait(60)
    for secs in (26, 52, 78, 104, 130):
        node.log(
            f"watchdog: BUG: soft lockup - CPU#19 stuck for {secs}s! [kworker/19:2:88121]",
            "CPU: 19 PID: 88121 Comm: kworker/19:2 Tainted: G             L    6.1.0-28-amd64",
            "RIP: 0010:native_queued_spin_lock_slowpath+0x2b2/0x2e0",
        )
        node.wait(28, 14)
    node.wait(300, 30)


@incident(
    "node_oom_kill@node",
    may=(*KILLS, "memory_pressure", "io_stall", "cpu_saturated"),
    unfit=True,
    node=guest,
)
def database_eats_the_memory_of_a_guest(node: Story) -> None:
    """All memory of a guest is used within minutes, and the kernel kills the largest process."""
    node.put("Memory", total_bytes=64 * GIB, available_bytes=30 * GIB, free_bytes=4 * GIB)
    node.wait(120)
    for left in (9, 3, 1):
        node.put("Memory", available_bytes=left * GIB, free_bytes=GIB)
        node.pressure("memory", "full", 25.0)
        node.pressure("memory", "some", 40.0)
        node.wait(60, 15)
    node.log(
        "mysqld invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, "
        "oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
        "task_memcg=/system.slice/mysql.service,task=mysqld,pid=1190,uid=112",
        "Out of memory: Killed process 1190 (mysqld) total-vm:71303168kB, anon-rss:60817408kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:112 pgtables:121040kB oom_score_adj:0",
        "oom_reaper: reaped process 1190 (mysqld), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    )
    node.put("Paging", oom_kills=1)
    node.put("Memory", available_bytes=59 * GIB, free_bytes=55 * GIB)
    node.pressure("memory", "full", 0.0)
    node.pressure("memory", "some", 0.0)
    node.wait(1800, 60)


@incident(
    "kernel_oops@node",
    may=(*GPU_AFTER, *STARVED),
    unfit=True,
    lasts=("kernel_oops@node",),
    fit_at_end=False,
    node=hgx,
)
def slab_of_the_kernel_is_damaged(node: Story) -> None:
    """A check of the allocator finds damage: a BUG in the kernel, and the process is ended."""
    node.wait(60)
    node.log(
        "kernel BUG at mm/slub.c:379!",
        "invalid opcode: 0000 [#1] SMP NOPTI",
        "CPU: 61 PID: 71180 Comm: nv-hostengine Tainted: P           OE     5.15.0-1074 #83",
        "RIP: 0010:__slab_free+0x1c8/0x370",
        "---[ end trace 7d1c0a6e55b2f1c4 ]---",
    )
    node.wait(HOURS, 120)


@incident(
    "file_handles_exhausted@node",
    may=("file_handles_low",),
    unfit=True,
    node=epyc,
)
def leak_of_a_proxy_takes_all_file_handles(node: Story) -> None:
    """A proxy leaks connections until the node has no file handle left, and is restarted."""
    node.put("ProcessCounts", file_descriptors_max=1_048_576, file_descriptors_open=400_000)
    node.wait(120)
    for used in (700_000, 900_000, 1_020_000, 1_048_576):
        node.put("ProcessCounts", file_descriptors_open=used)
        node.wait(180, 30)
    node.log("VFS: file-max limit 1048576 reached")
    node.wait(300, 30)
    node.put("ProcessCounts", file_descriptors_open=52_000)
    node.wait(3600, 60)


@incident(
    "process_ids_low@node",
    unfit=False,
    gone=("process_ids_low",),
    fit_at_end=True,
    node=epyc,
)
def threads_of_a_server_multiply(node: Story) -> None:
    """A server starts threads without end: ninety-four of a hundred ids are used."""
    node.put("ProcessCounts", processes_limit=32_768)
    node.wait(120)
    node.put("ProcessCounts", threads=30_900)
    node.wait(1200, 30)
    node.put("ProcessCounts", threads=2100)
    node.wait(1800, 60)


@incident(
    "clock_not_synced@node",
    unfit=False,
    gone=("clock_not_synced",),
    fit_at_end=True,
    node=guest,
)
def time_servers_cannot_be_reached(node: Story) -> None:
    """A firewall blocks the time servers for three hours: the clock is no longer in step."""
    node.wait(300, 60)
    for error in (1.0, 4.0, 12.0, 16.0):
        node.put("Clock", synchronized=error < 16.0, error_seconds=error)
        node.wait(600, 60)
    node.wait(HOURS, 120)
    node.put("Clock", synchronized=True, error_seconds=0.01, offset_seconds=2e-4)
    node.wait(1800, 60)


@incident(
    *("memory_pressure@node", "memory_swapping@node"),
    root=("memory_pressure@node|memory_swapping@node",),
    may=("io_stall", "cpu_saturated", "disk_slow"),
    node=epyc,
)
def build_swaps_for_half_an_hour(node: Story) -> None:
    """A build needs more than the memory: pages move to swap and back, tasks wait for it."""
    node.put("Memory", swap_total_bytes=64 * GIB, swap_free_bytes=60 * GIB)
    node.wait(120)
    node.put("Memory", available_bytes=9 * GIB, free_bytes=2 * GIB, swap_free_bytes=12 * GIB)
    node.rate(6e7, "Paging", "swap_in_bytes")
    node.rate(7e7, "Paging", "swap_out_bytes")
    node.rate(9000.0, "Paging", "major_faults")
    node.pressure("memory", "some", 61.0)
    node.pressure("memory", "full", 44.0)
    node.wait(1800, 30)


@incident(
    "clocksource_unstable@node",
    root=("clocksource_unstable@node",),
    unfit=False,
    fit_at_end=True,
    node=epyc,
)
def kernel_gives_its_fast_clock_up(node: Story) -> None:
    """The time stamp counter drifts against the watchdog: a slow clock is used from now on."""
    node.wait(300, 60)
    node.log(
        "clocksource: timekeeping watchdog on CPU44: Marking clocksource 'tsc' as unstable because "
        "the skew is too large:",
        "clocksource:                       'hpet' wd_nsec: 503211041 wd_now: 6a2c10 wd_last: 1f",
        "clocksource:                       'tsc' cs_nsec: 511870322 cs_now: 1c2 cs_last: 1a0",
        "tsc: Marking TSC unstable due to clocksource watchdog",
        "clocksource: Switched to clocksource hpet",
    )
    node.wait(1800, 60)


CASES = (
    module_of_an_epyc_corrects_by_the_hundred,
    module_of_an_epyc_has_a_poisoned_word,
    firmware_of_an_altra_reports_many_corrections,
    firmware_of_an_altra_reports_a_bad_word,
    processor_takes_the_kernel_down,
    kernel_spins_on_one_processor,
    database_eats_the_memory_of_a_guest,
    slab_of_the_kernel_is_damaged,
    leak_of_a_proxy_takes_all_file_handles,
    threads_of_a_server_multiply,
    time_servers_cannot_be_reached,
    build_swaps_for_half_an_hour,
    kernel_gives_its_fast_clock_up,
)
