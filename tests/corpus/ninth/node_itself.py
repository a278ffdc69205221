"""Incidents of memory modules, processors, the kernel, the clock and the limits of a node."""

from tests.corpus.eighth.nodes import kubelet_node
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import HOUR, delta_a100s, hpc_worker, roce_box
from tests.corpus.parts import DIMM, GIB
from tests.corpus.seventh.nodes import SPINS, epyc, guest, hgx
from tests.corpus.sixth.nodes import h200s, rack_server
from tests.corpus.story import Story
from tests.corpus.words import STARVED

OF_A = ("MemoryErrors", "controllers", "mc1", "dimms", "a")
MEMORY = ("memory_corrected_rate", "memory_page_offlined", "machine_check_corrected_rate")
DEADLY = ("firmware_hardware_error", "machine_check", "machine_check_exceptions", *MEMORY)
TIGHT = ("memory_pressure", "memory_swapping", "io_stall", "oom_kill_without_log")
KILLED = ("process_oom_kill", "pod_oom_kill", "pod_oom_loop", "process_crashed", "gpu_app_fault")


@incident(
    "memory_corrected_rate@*",
    may=("memory_page_offlined", "machine_check_corrected_rate"),
    unfit=False,
    fit_at_end=True,
    node=hpc_worker,
)
def row_of_a_module_corrects_all_afternoon(node: Story) -> None:
    """Ten corrected errors a minute of one module, as its controller counts and the log says."""
    node.wait(300, 60)
    for number in range(1, 31):
        node.put(*OF_A, corrected_errors=20 * number)
        node.put("MemoryErrors", "controllers", "mc1", corrected_errors=20 * number)
        node.log(
            f"EDAC MC1: 20 CE memory read error on {DIMM} (channel:0 slot:0 page:0x3f2a91 "
            "offset:0x840 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090  "
            "SystemAddress:0x3f2a91840 ProcessorSocketId:0x0 MemoryControllerId:0x1 "
            "ChannelId:0x0 RankId:0x1 Row:0x9c01 Column:0x2a8 Bank:0x3 BankGroup:0x1)"
        )
        node.wait(240, 60)


@incident(
    "memory_uncorrected@*",
    root=("memory_uncorrected@*|machine_check@*",),
    may=(*DEADLY, "process_crashed"),
    unfit=True,
    fit_at_end=False,
    node=hgx,
)
def process_reads_a_poisoned_page(node: Story) -> None:
    """An uncorrected error of a module: the page is taken away, one data loader is killed."""
    node.wait(300, 60)
    node.log(
        "mce: Uncorrected hardware memory error in user-access at 7f2c4e1840",
        f"EDAC MC1: 1 UE memory read error on {DIMM} (channel:0 slot:0 page:0x7f2c4e1 offset:0x840 "
        "grain:32 -  err_code:0x00a0:0x0092)",
        "Memory failure: 0x7f2c4e1: Sending SIGBUS to python3:51822 due to hardware memory "
        "corruption",
        "Memory failure: 0x7f2c4e1: recovery action for dirty LRU page: Recovered",
    )
    node.put(*OF_A, uncorrected_errors=1)
    node.put("MemoryErrors", "controllers", "mc1", uncorrected_errors=1)
    node.put("CpuHealth", machine_checks=1)
    node.wait(3 * HOUR, 240)


@incident(
    "machine_check_corrected_rate@*|memory_corrected_rate@*",
    may=("memory_corrected_rate", "machine_check_corrected_rate", "firmware_hardware_error"),
    unfit=False,
    node=epyc,
)
def cache_of_a_core_corrects_itself(node: Story) -> None:
    """A core of an EPYC logs two corrected errors of its L2 cache each minute for an hour."""
    node.wait(120)
    for number in range(60):
        node.log(
            "mce: [Hardware Error]: Machine check events logged",
            "[Hardware Error]: Corrected error, no action required.",
            "[Hardware Error]: CPU:41 (19:1:1) "
            "MC2_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000000011b",
            "[Hardware Error]: Error Addr: 0x00000007d1c9a340",
            f"[Hardware Error]: IPID: 0x000200b000000000, Syndrome: 0x00001a030b2401{number:02x}",
            "[Hardware Error]: L2 Cache Ext. Error Code: 2",
            "[Hardware Error]: cache level: L3/GEN, tx: GEN, mem-tx: RD",
        )
        node.wait(60)


@incident(
    "cpu_lockup@*",
    root=("cpu_lockup@*|rcu_stall@node",),
    may=("rcu_stall", "hung_task", "cpu_saturated", "clocksource_unstable", *SPINS),
    node=hgx,
)
def driver_holds_a_core_for_minutes(node: Story) -> None:
    """A core spins in the driver while a job ends: the watchdog prints four times, it stops."""
    node.wait(300, 60)
    for secs in (26, 52, 78, 104):
        node.log(
            f"watchdog: BUG: soft lockup - CPU#57 stuck for {secs}s! [nvidia-smi:88112]",
            "CPU: 57 PID: 88112 Comm: nvidia-smi Tainted: P           OEL    5.15.0-1074-nvidia",
            "RIP: 0010:_nv044632rm+0x1f/0x40 [nvidia]",
        )
        node.wait(28, 14)
    node.log(
        "rcu: INFO: rcu_sched self-detected stall on CPU",
        "rcu: \t57-....: (60001 ticks this GP) idle=6b7/1/0x4000000000000000 softirq=1/2 fqs=14980",
    )
    node.wait(2 * HOUR, 120)


@incident(
    "kernel_oops@node",
    may=(*SPINS, *STARVED, "cpu_lockup", "rcu_stall", "process_crashed"),
    unfit=True,
    fit_at_end=False,
    node=delta_a100s,
)
def client_of_lustre_has_a_bug(node: Story) -> None:
    """A thread of the client of Lustre dies with an oops; the node goes on without it."""
    node.wait(300, 60)
    node.log(
        "BUG: unable to handle kernel NULL pointer dereference at 0000000000000048",
        "PGD 0 P4D 0 ",
        "Oops: 0000 [#1] SMP NOPTI",
        "CPU: 12 PID: 3391 Comm: ldlm_bl_04 Kdump: loaded Tainted: P           OE    "
        "--------- -  - 4.18.0-477.el8.x86_64 #1",
        "RIP: 0010:osc_lock_ast_data+0x41/0x90 [osc]",
        "---[ end trace 6c6a0b3a2c1d7e55 ]---",
    )
    node.wait(2 * HOUR, 240)


@incident(
    "node_oom_kill@node",
    root=("node_oom_kill@node|memory_pressure@node|memory_swapping@node",),
    may=(*TIGHT, *KILLED),
    unfit=True,
    gone=("node_oom_kill", "memory_pressure"),
    fit_at_end=True,
    node=hpc_worker,
)
def simulation_takes_the_memory_of_the_node(node: Story) -> None:
    """A job without a limit takes everything, the kernel kills it, and memory is free again."""
    for left in (300, 120, 50, 18, 6):
        node.put("Memory", available_bytes=left * GIB, free_bytes=min(left, 4) * GIB)
        node.wait(60, 15)
    node.pressure("memory", "full", 46.0)
    node.pressure("memory", "some", 71.0)
    node.put("Memory", available_bytes=GIB, free_bytes=GIB)
    node.wait(60, 15)
    node.log(
        "vasp_std invoked oom-killer: gfp_mask=0x6200ca(GFP_HIGHUSER_MOVABLE), order=0, "
        "oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/slurm/uid_5012/job_77120/step_0/task_0,task=vasp_std,pid=61220,uid=5012",
        "Out of memory: Killed process 61220 (vasp_std) total-vm:1066231848kB, "
        "anon-rss:1031200112kB, file-rss:0kB, shmem-rss:1240kB, UID:5012 pgtables:2018400kB "
        "oom_score_adj:0",
        "oom_reaper: reaped process 61220 (vasp_std), now anon-rss:0kB, file-rss:0kB, "
        "shmem-rss:0kB",
    )
    node.put("Paging", oom_kills=1)
    node.wait(15)
    node.put("Memory", available_bytes=940 * GIB, free_bytes=930 * GIB)
    node.put("Cpu", usage_percent=2.0, used_cores=2.0, load1=30.0)
    node.pressure("memory", "full", 0.0)
    node.pressure("memory", "some", 0.0)
    node.wait(2 * HOUR, 120)


@incident(
    "kernel_memory_corrupted@node",
    may=("memory_uncorrected", "process_crashed", "kernel_oops"),
    unfit=True,
    fit_at_end=False,
    node=rack_server,
)
def pages_of_the_kernel_are_in_a_bad_state(node: Story) -> None:
    """The kernel finds two pages whose state cannot be, in two different processes."""
    node.wait(300, 60)
    for process, page in (("kswapd0", "12a5f70"), ("etcd", "12a5f71")):
        node.log(
            f"BUG: Bad page state in process {process}  pfn:{page}",
            f"page:00000000c1a2f3{page[-2:]} refcount:0 mapcount:-128 mapping:0000000000000000 "
            f"index:0x0 pfn:0x{page}",
            "page dumped because: nonzero mapcount",
        )
        node.wait(1200, 60)
    node.wait(HOUR, 120)


@incident(
    "clock_not_synced@node",
    unfit=False,
    gone=("clock_not_synced",),
    fit_at_end=True,
    node=roce_box,
)
def servers_of_time_cannot_be_reached(node: Story) -> None:
    """A firewall shuts NTP out: the bound of the error grows, the kernel calls itself unsynced."""
    node.wait(300, 60)
    for hours in range(1, 9):
        node.put("Clock", error_seconds=0.002 + 1.8 * hours, offset_seconds=2e-4 * hours)
        node.wait(HOUR, 300)
    node.put("Clock", synchronized=False, error_seconds=16.0, offset_seconds=0.004)
    node.wait(2 * HOUR, 300)
    node.put("Clock", synchronized=True, error_seconds=0.001, offset_seconds=2e-5)
    node.wait(HOUR, 120)


@incident(
    "process_ids_low@node",
    may=("cpu_saturated",),
    unfit=False,
    gone=("process_ids_low",),
    fit_at_end=True,
    node=kubelet_node,
)
def script_starts_itself_without_end(node: Story) -> None:
    """A node of 32768 process numbers: a script takes 31000 of them until it is killed."""
    node.put("ProcessCounts", processes_limit=32_768)
    for threads in (3000, 9000, 21_000, 31_000):
        node.put("ProcessCounts", threads=threads)
        node.put("Cpu", load1=float(threads // 20), processes_running=threads // 100)
        node.wait(60, 15)
    node.log(
        "cgroup: fork rejected by pids controller in /kubepods.slice/kubepods-besteffort.slice/"
        "kubepods-besteffort-pod77.slice"
    )
    node.wait(900, 30)
    node.put("ProcessCounts", threads=3100)
    node.put("Cpu", load1=26.0, processes_running=26)
    node.wait(HOUR, 60)


@incident(
    "file_handles_exhausted@node",
    root=("file_handles_exhausted@node|file_handles_low@node",),
    may=("file_handles_low", "source_failed", "tcp_listen_overflow"),
    unfit=True,
    gone=("file_handles_exhausted", "file_handles_low"),
    fit_at_end=True,
    node=rack_server,
)
def database_leaks_file_handles(node: Story) -> None:
    """Open files climb to the limit of the kernel in an hour, until the database is restarted."""
    node.put("ProcessCounts", file_descriptors_max=1_000_000)
    for handles in (300_000, 600_000, 850_000, 960_000):
        node.put("ProcessCounts", file_descriptors_open=handles)
        node.wait(900, 60)
    node.put("ProcessCounts", file_descriptors_open=1_000_000)
    for _ in range(3):
        node.log("VFS: file-max limit 1000000 reached")
        node.wait(120, 30)
    node.put("ProcessCounts", file_descriptors_open=24_000)
    node.wait(HOUR, 60)


@incident(
    "memory_pressure@node",
    root=("memory_pressure@node|memory_swapping@node",),
    may=(*TIGHT, "filesystem_stuck", "disk_slow"),
    gone=("memory_pressure", "memory_swapping"),
    fit_at_end=True,
    node=guest,
)
def guest_swaps_until_a_job_ends(node: Story) -> None:
    """A guest has two gibibytes too few: it swaps for half an hour, and recovers."""
    node.put("Memory", total_bytes=32 * GIB, available_bytes=12 * GIB, free_bytes=2 * GIB)
    node.put("Memory", swap_total_bytes=8 * GIB, swap_free_bytes=8 * GIB)
    node.wait(300, 60)
    node.put("Memory", available_bytes=700 * 2**20, free_bytes=300 * 2**20)
    node.put("Memory", swap_free_bytes=5 * GIB)
    node.rate(60_000_000.0, "Paging", "swap_in_bytes")
    node.rate(64_000_000.0, "Paging", "swap_out_bytes")
    node.rate(16_000.0, "Paging", "major_faults")
    node.pressure("memory", "full", 34.0)
    node.pressure("memory", "some", 52.0)
    node.wait(1800, 30)
    node.put("Memory", available_bytes=14 * GIB, free_bytes=9 * GIB, swap_free_bytes=7 * GIB)
    for name in ("swap_in_bytes", "swap_out_bytes", "major_faults"):
        node.rate(0.0, "Paging", name)
    node.pressure("memory", "full", 0.0)
    node.pressure("memory", "some", 0.0)
    node.wait(HOUR, 60)


@incident(
    "pod_oom_kill@*|process_oom_kill@*",
    may=(*KILLED, *SPINS),
    never=("node_oom_kill",),
    unfit=False,
    fit_at_end=True,
    node=h200s,
)
def loader_of_a_trainer_exceeds_the_limit_of_its_pod(node: Story) -> None:
    """The cgroup of a pod is full: its main process is killed, and its seven cards wait."""
    node.wait(300, 60)
    pod = (
        "/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice/"
        "cri-containerd-91f2.scope"
    )
    node.log(
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-997",
        "memory: usage 268435456kB, limit 268435456kB, failcnt 30811",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-91f2.scope,"
        f"mems_allowed=0-1,oom_memcg={pod},task_memcg={pod},task=python3,pid=4714,uid=0",
        "Memory cgroup out of memory: Killed process 4714 (python3) total-vm:390212044kB, "
        "anon-rss:248310220kB, file-rss:410112kB, shmem-rss:16777216kB, UID:0 pgtables:520112kB "
        "oom_score_adj:-997",
    )
    node.put("Paging", oom_kills=1)
    node.put("Workloads", "clients", **{"4714": None})
    node.gpu("63", processes=[], utilization_percent=0.0, memory_used_bytes=0)
    node.gpu("63", power_draw_watts=78.0, temperature_celsius=37.0)
    node.wait(2 * HOUR, 120)


CASES = (
    row_of_a_module_corrects_all_afternoon,
    process_reads_a_poisoned_page,
    cache_of_a_core_corrects_itself,
    driver_holds_a_core_for_minutes,
    client_of_lustre_has_a_bug,
    simulation_takes_the_memory_of_the_node,
    pages_of_the_kernel_are_in_a_bad_state,
    servers_of_time_cannot_be_reached,
    script_starts_itself_without_end,
    database_leaks_file_handles,
    guest_swaps_until_a_job_ends,
    loader_of_a_trainer_exceeds_the_limit_of_its_pod,
)
