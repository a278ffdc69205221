"""Incidents of processors, memory, the kernel and the limits of a node."""

from tests.corpus.eighth.nodes import HOURS, cloud_volumes, kubelet_node
from tests.corpus.labels import incident
from tests.corpus.parts import DIMM, GIB
from tests.corpus.seventh.node_itself import KILLS, MEMORY
from tests.corpus.seventh.nodes import hgx
from tests.corpus.sixth.nodes import h200s, rack_server
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER, STARVED

OF_A = ("MemoryErrors", "controllers", "mc1", "dimms", "a")
WHERE = "(channel:0 slot:0 page:0x{:x} offset:0xc0 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090)"


@incident(
    f"memory_corrected_rate@*{DIMM}*|memory_corrected_rate@mc1*",
    may=MEMORY,
    never=("memory_uncorrected",),
    unfit=False,
    fit_at_end=True,
    node=h200s,
)
def module_of_a_trainer_corrects_all_day(node: Story) -> None:
    """Ten corrected errors a minute of one module, thinned out by the kernel in storms."""
    node.wait(60)
    for count in range(20, 1220, 20):
        node.log(
            "mce: [Hardware Error]: Machine check events logged",
            f"EDAC MC1: 1 CE memory read error on {DIMM} {WHERE.format(0x4A1B20 + count)}",
        )
        if count % 400 == 0:
            node.log("mce: CMCI storm detected: switching to poll mode")
        node.put("MemoryErrors", "controllers", "mc1", corrected_errors=count)
        node.put(*OF_A, corrected_errors=count)
        node.wait(120, 60)


@incident(
    f"memory_uncorrected@*{DIMM}*|memory_uncorrected@mc1*",
    may=(*MEMORY, "memory_page_offlined", "process_crashed"),
    unfit=True,
    node=rack_server,
)
def patrol_scrub_finds_a_bad_word(node: Story) -> None:
    """Corrected errors for an hour, then an uncorrected one of the same module, seen by a scrub."""
    node.wait(60)
    for count in (4, 9, 15):
        node.log(f"EDAC MC1: {count} CE memory scrubbing error on {DIMM} {WHERE.format(0x77A00)}")
        node.put("MemoryErrors", "controllers", "mc1", corrected_errors=count)
        node.put(*OF_A, corrected_errors=count)
        node.wait(1200, 60)
    node.log(
        f"EDAC MC1: 1 UE memory scrubbing error on {DIMM} {WHERE.format(0x77A00)}",
        "Memory failure: 0x77a00: recovery action for free buddy page: Recovered",
    )
    node.put("MemoryErrors", "controllers", "mc1", uncorrected_errors=1)
    node.put(*OF_A, uncorrected_errors=1)
    node.wait(HOURS, 120)


@incident(
    "node_oom_kill@node",
    may=(*KILLS, "memory_pressure", "io_stall", "cpu_saturated"),
    unfit=True,
    node=kubelet_node,
)
def pods_without_limits_eat_a_worker(node: Story) -> None:
    """Pods without limits take all memory of a worker; the kernel kills two of them in a minute."""
    node.wait(120)
    for left in (30, 8, 2):
        node.put("Memory", available_bytes=left * GIB, free_bytes=GIB)
        node.pressure("memory", "some", 55.0)
        node.pressure("memory", "full", 38.0)
        node.wait(60, 15)
    group = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{0}1b2c3d_4e5f.slice"
    for number, pid in enumerate((71_402, 70_118)):
        node.log(
            "kubelet invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, "
            "oom_score_adj=-999",
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=kubelet.service,"
            f"mems_allowed=0-1,global_oom,task_memcg={group.format(number)}/cri-containerd-9a.scope,"
            f"task=java,pid={pid},uid=1000",
            f"Out of memory: Killed process {pid} (java) total-vm:498211044kB, "
            "anon-rss:411102992kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:811204kB "
            "oom_score_adj:1000",
        )
        node.put("Paging", oom_kills=number + 1)
        node.wait(30, 15)
    node.put("Memory", available_bytes=820 * GIB, free_bytes=600 * GIB)
    node.pressure("memory", "some", 0.0)
    node.pressure("memory", "full", 0.0)
    node.wait(3600, 60)


@incident(
    *("pod_oom_loop@*", "pod_oom_kill@*"),
    root=("pod_oom_loop@*|pod_oom_kill@*|process_oom_kill@*",),
    may=("process_oom_kill", "gpu_app_fault"),
    never=("node_oom_kill",),
    unfit=False,
    node=hgx,
)
def data_loader_meets_its_limit_all_night(node: Story) -> None:
    """A container of a data loader is killed at its limit nine times within two hours."""
    group = (
        "/kubepods.slice/kubepods-burstable.slice/"
        "kubepods-burstable-pod6f0e2d4c_1111_2222_3333_444455556666.slice"
    )
    node.wait(60)
    for number in range(9):
        pid = 60_500 + 97 * number
        node.log(
            "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=870",
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-5d.scope,"
            f"mems_allowed=0-1,oom_memcg={group}/cri-containerd-5d.scope,task_memcg={group}/"
            f"cri-containerd-5d.scope,task=python3,pid={pid},uid=0",
            f"Memory cgroup out of memory: Killed process {pid} (python3) total-vm:71204412kB, "
            "anon-rss:67102208kB, file-rss:12kB, shmem-rss:0kB, UID:0 pgtables:131800kB "
            "oom_score_adj:870",
        )
        node.put("Paging", oom_kills=number + 1)
        node.wait(800, 60)


@incident(
    "cpu_lockup@*",
    may=("rcu_stall", "hung_task", "cpu_saturated", "cpu_lockup", *STARVED),
    node=rack_server,
)
def two_processors_spin_on_one_lock(node: Story) -> None:
    """Two processors are stuck for more than a minute; a stall of RCU is reported beside them."""
    node.wait(120)
    for secs in (22, 48, 74):
        for cpu, pid in ((41, 3_308_112), (77, 3_308_140)):
            node.log(
                f"watchdog: BUG: soft lockup - CPU#{cpu} stuck for {secs}s! "
                f"[containerd-shim:{pid}]",
                f"CPU: {cpu} PID: {pid} Comm: containerd-shim Not tainted 5.15.0-130-generic #140",
                "RIP: 0010:native_queued_spin_lock_slowpath+0x64/0x1e0",
            )
        node.log(
            "rcu: INFO: rcu_sched self-detected stall on CPU",
            "rcu: \t41-....: (14999 ticks this GP) idle=5f3/1/0x4000000000000000 softirq=110/110 "
            "fqs=7301",
        )
        node.wait(26, 13)
    node.wait(900, 30)


@incident(
    "kernel_panic@node",
    may=(*MEMORY, "cpu_lockup", "kernel_oops", *GPU_AFTER),
    unfit=True,
    fit_at_end=False,
    node=hgx,
)
def node_panics_under_load(node: Story) -> None:
    """The kernel does not know how to go on, and nothing is seen after its last line."""
    node.wait(600, 60)
    node.log(
        "Kernel panic - not syncing: Timeout: Not all CPUs entered broadcast exception handler",
        "Kernel Offset: 0x1a000000 from 0xffffffff81000000",
    )
    node.now()


@incident(
    "kernel_oops@node",
    may=("hung_task", "process_crashed", *STARVED),
    unfit=True,
    lasts=("kernel_oops@node",),
    fit_at_end=False,
    node=cloud_volumes,
)
def driver_of_a_sensor_agent_trips(node: Story) -> None:
    """A module of a security agent follows a null pointer; the node goes on half alive."""
    node.wait(120)
    node.log(
        "BUG: kernel NULL pointer dereference, address: 0000000000000058",
        "#PF: supervisor read access in kernel mode",
        "#PF: error_code(0x0000) - not-present page",
        "Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "CPU: 5 PID: 2210 Comm: agentd Tainted: G           OE      6.1.119-129.201.amzn2023 #1",
        "RIP: 0010:trace_exit+0x1f/0x80 [agent_kmod]",
    )
    node.wait(HOURS, 120)


@incident(
    "clock_not_synced@node",
    unfit=False,
    gone=("clock_not_synced",),
    fit_at_end=True,
    node=kubelet_node,
)
def time_service_has_died(node: Story) -> None:
    """The daemon of the time has died: the error grows until the kernel says so; after a day."""
    node.wait(600, 60)
    for error in (2.0, 6.0, 11.0):
        node.put("Clock", error_seconds=error)
        node.wait(3600, 300)
    node.put("Clock", synchronized=False, error_seconds=16.0, offset_seconds=0.0)
    node.wait(6 * 3600, 600)
    node.put("Clock", synchronized=True, error_seconds=0.004, offset_seconds=3e-5)
    node.wait(3600, 120)


@incident("conntrack_full@node", may=("tcp_retransmit_burst",), unfit=False, node=kubelet_node)
def scan_fills_the_table_of_connections(node: Story) -> None:
    """A scanner in a pod opens connections until the table is full and packets are dropped."""
    node.wait(60)
    for entries in (120_000, 215_000, 262_144):
        node.put("NetworkStack", conntrack_entries=entries)
        node.wait(180, 30)
    for _ in range(4):
        node.log(
            "nf_conntrack: nf_conntrack: table full, dropping packet",
            "net_ratelimit: 9102 callbacks suppressed",
        )
        node.wait(120, 30)
    node.put("NetworkStack", conntrack_entries=21_000)
    node.wait(1800, 60)


@incident(
    "process_ids_low@node",
    unfit=False,
    gone=("process_ids_low",),
    fit_at_end=True,
    node=kubelet_node,
)
def pool_of_a_proxy_never_ends_its_threads(node: Story) -> None:
    """Threads of a proxy use up 97 of a hundred ids of a worker until it is restarted."""
    node.put("ProcessCounts", processes_limit=131_072)
    node.wait(120)
    for threads in (90_000, 115_000, 127_400):
        node.put("ProcessCounts", threads=threads)
        node.wait(600, 60)
    node.log("cgroup: fork rejected by pids controller in /kubepods.slice/kubepods-burstable.slice")
    node.wait(600, 60)
    node.put("ProcessCounts", threads=4100)
    node.wait(1800, 60)


CASES = (
    module_of_a_trainer_corrects_all_day,
    patrol_scrub_finds_a_bad_word,
    pods_without_limits_eat_a_worker,
    data_loader_meets_its_limit_all_night,
    two_processors_spin_on_one_lock,
    node_panics_under_load,
    driver_of_a_sensor_agent_trips,
    time_service_has_died,
    scan_fills_the_table_of_connections,
    pool_of_a_proxy_never_ends_its_threads,
)
