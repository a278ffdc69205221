"""Lines about memory kills, lockups, stalls, panics and limits."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event, only_event

NODE = ("node", "")
POD = "0a1b2c3d-1111-2222-3333-444455556666"
CONTAINER = "3f" * 32
SLICE = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}"
DECISION = (
    f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-{CONTAINER}.scope,"
    f"mems_allowed=0-1,oom_memcg={SLICE}.slice,"
    f"task_memcg={SLICE}.slice/cri-containerd-{CONTAINER}.scope,task=trainer,pid=4711,uid=0"
)
KILL = (
    "Memory cgroup out of memory: Killed process 4711 (trainer) total-vm:81920000kB, "
    "anon-rss:62914560kB, file-rss:10240kB, shmem-rss:0kB, UID:0 pgtables:123456kB "
    "oom_score_adj:985"
)

CASES: tuple[Case, ...] = (
    (
        "oom_invoked",
        NODE,
        {"name": "trainer"},
        (
            (
                "trainer invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), "
                "order=0, oom_score_adj=985"
            ),
        ),
    ),
    (
        "oom_kill",
        ("workload", POD),
        {
            "scope": "group",
            "pid": "4711",
            "name": "trainer",
            "pod_uid": POD,
            "container_id": CONTAINER,
            "anon_rss_kilobytes": "62914560",
        },
        (DECISION, KILL),
    ),
    ("oom_kill", ("process", "4711"), {"scope": "group", "pod_uid": None}, (KILL,)),
    (
        "oom_kill",
        NODE,
        {"scope": "node", "task_memcg": "/system.slice/app.service", "pid": "900"},
        (
            (
                "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,"
                "global_oom,task_memcg=/system.slice/app.service,task=app,pid=900,uid=0"
            ),
            "Out of memory: Killed process 900 (app) total-vm:1kB, anon-rss:2kB, file-rss:0kB",
        ),
    ),
    (
        "oom_kill",
        ("process", "4712"),
        {"pid": "4712", "scope": "group", "anon_rss_kilobytes": "7"},
        (
            "Task in /mem2 killed as a result of limit of /mem3",
            (
                "Memory cgroup out of memory: Kill process 4711 (trainer) score 1985 or sacrifice "
                "child"
            ),
            "Killed process 4712 (child) total-vm:1460016kB, anon-rss:7kB, file-rss:4kB",
        ),
    ),
    (
        "oom_kill",
        ("process", "19667"),
        {"name": "a (b) c"},
        ("Killed process 19667 (a (b) c) total-vm:1460016kB, anon-rss:1414008kB, file-rss:4kB",),
    ),
    (
        "oom_kill",
        ("workload", POD),
        {"pod_uid": POD},
        (
            (
                f"Tasks in {SLICE}.slice/cri-containerd-{CONTAINER}.scope are "
                "going to be killed due "
                "to memory.oom.group set"
            ),
        ),
    ),
    ("kernel_panic", NODE, {}, ("Out of memory and no killable processes...",)),
    (
        "soft_lockup",
        ("cpu", "37"),
        {"seconds": "26", "name": "kworker/37:1", "pid": "20331"},
        ("watchdog: BUG: soft lockup - CPU#37 stuck for 26s! [kworker/37:1:20331]",),
    ),
    ("soft_lockup", ("cpu", "1"), {}, ("BUG: soft lockup - CPU#1 stuck for 23s! [x:2]",)),
    ("hard_lockup", ("cpu", "5"), {}, ("watchdog: Watchdog detected hard LOCKUP on cpu 5",)),
    ("hard_lockup", ("cpu", "5"), {}, ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 5",)),
    (
        "hard_lockup",
        ("cpu", "5"),
        {},
        ("watchdog: CPU5: Watchdog detected hard LOCKUP on cpu 5",),
    ),
    (
        "workqueue_lockup",
        NODE,
        {"pool": "cpus=93 node=1 flags=0x1 nice=0", "seconds": "32"},
        ("BUG: workqueue lockup - pool cpus=93 node=1 flags=0x1 nice=0 stuck for 32s!",),
    ),
    (
        "workqueue_lockup",
        NODE,
        {"pool": "cpus=0-3,8 flags=0x4 nice=-20"},
        ("BUG: workqueue lockup - pool cpus=0-3,8 flags=0x4 nice=-20 stuck for 1381s!",),
    ),
    (
        "rcu_stall",
        NODE,
        {"flavour": "rcu_sched"},
        ("rcu: INFO: rcu_sched self-detected stall on CPU",),
    ),
    (
        "rcu_stall",
        NODE,
        {"flavour": "rcu_preempt"},
        ("INFO: rcu_preempt detected stalls on CPUs/tasks:",),
    ),
    (
        "rcu_stall",
        NODE,
        {},
        ("rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 12-... } 21 jiffies",),
    ),
    (
        "hung_task",
        ("process", "2210"),
        {"name": "nvidia-smi", "seconds": "122"},
        ("INFO: task nvidia-smi:2210 blocked for more than 122 seconds.",),
    ),
    (
        "hung_task",
        ("process", "9"),
        {"name": "kworker/0:1", "wait": "in I/O wait"},
        ("INFO: task kworker/0:1:9 blocked in I/O wait for more than 122 seconds.",),
    ),
    (
        "hung_task_owner",
        ("process", "2210"),
        {"owner": "trainer", "owner_pid": "4711", "lock": "mutex"},
        ("INFO: task nvidia-smi:2210 is blocked on a mutex likely owned by task trainer:4711.",),
    ),
    (
        "hung_task_owner",
        ("process", "2210"),
        {"lock": "rw-semaphore", "owner_pid": "4711"},
        (
            (
                "INFO: task a:2210 <reader> is blocked on an rw-semaphore likely owned by task "
                "trainer:4711 <writer>"
            ),
        ),
    ),
    (
        "kernel_panic",
        NODE,
        {"text": "Fatal hardware error!"},
        ("Kernel panic - not syncing: Fatal hardware error!",),
    ),
    (
        "kernel_oops",
        NODE,
        {},
        (
            "BUG: unable to handle page fault for address: 0000000000000010",
            "Oops: 0000 [#1] SMP NOPTI",
        ),
    ),
    (
        "kernel_oops",
        NODE,
        {},
        ("BUG: kernel NULL pointer dereference, address: 0000000000000010",),
    ),
    ("kernel_oops", NODE, {}, ("divide error: 0000 [#1] SMP",)),
    (
        "kernel_oops",
        NODE,
        {},
        (
            (
                "general protection fault, probably for non-canonical address 0xdead000000000110: "
                "0000 [#1] PREEMPT SMP"
            ),
        ),
    ),
    ("kernel_oops", NODE, {}, ("kernel BUG at mm/slub.c:4242!",)),
    ("kernel_oops", NODE, {}, ("Internal error: Oops: 0000000096000004 [#1] SMP",)),
    ("file_max", NODE, {"limit": "1048576"}, ("VFS: file-max limit 1048576 reached",)),
    (
        "netdev_unregister_wait",
        ("network", "eth0"),
        {"count": "2"},
        ("unregister_netdevice: waiting for eth0 to become free. Usage count = 2",),
    ),
    (
        "cpu_thermal",
        ("cpu", "9"),
        {"level": "Package", "total": "214"},
        (
            (
                "CPU9: Package temperature is above threshold, cpu clock is throttled "
                "(total events = 214)"
            ),
        ),
    ),
    (
        "cpu_thermal",
        ("cpu", "9"),
        {"level": "Core"},
        ("mce: CPU9: Core temperature above threshold, cpu clock throttled (total events = 1)",),
    ),
    (
        "segfault",
        ("process", "4711"),
        {"name": "trainer", "library": "libnccl.so.2.21.5"},
        (
            (
                "trainer[4711]: segfault at 18 ip 00007f12aa0b3c21 sp 00007ffd1c0e9a10 error 4 in "
                "libnccl.so.2.21.5[7f12a9e00000+8a00000] likely on CPU 12 (core 12, socket 0)"
            ),
        ),
    ),
    (
        "segfault",
        ("process", "7"),
        {"name": "a[b]: c", "library": None},
        ("a[b]: c[7]: segfault at 0 ip 0000000000000000 sp 00007ffd1c0e9a10 error 14",),
    ),
    (
        "process_trap",
        ("process", "4711"),
        {"name": "trainer", "trap": "general protection fault", "library": "libtorch_cuda.so"},
        (
            "traps: trainer[4711] general protection fault ip:7f12aa0b3c21 sp:7ffd1c0e9a10 "
            "error:0 in libtorch_cuda.so[7f12a9e00000+8a00000]"
        ),
    ),
    (
        "process_trap",
        ("process", "7"),
        {"trap": "invalid opcode", "library": None},
        "traps: a[7] trap invalid opcode ip:55ed sp:7ffd error:0",
    ),
    (
        "bad_page",
        NODE,
        {"what": "state", "pfn": "12f345", "name": "trainer"},
        "BUG: Bad page state in process trainer  pfn:12f345",
    ),
    (
        "clocksource_unstable",
        NODE,
        {"clocksource": "tsc", "cpu": "17"},
        (
            "clocksource: timekeeping watchdog on CPU17: Marking clocksource 'tsc' as unstable "
            "because the skew is too large:"
        ),
    ),
    (
        "conntrack_full",
        NODE,
        {"netns": None},
        "nf_conntrack: nf_conntrack: table full, dropping packet",
    ),
    (
        "conntrack_full",
        NODE,
        {"netns": "4026531840"},
        "nf_conntrack: nf_conntrack: table full in netns 4026531840, dropping packet",
    ),
    (
        "kernel_oops",
        ("node", ""),
        {},
        "Internal error: synchronous external abort: 0000000096000410 [#1] SMP",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_trouble_of_a_process_or_the_kernel_is_one_event(case: Case) -> None:
    """Decision and kill are one event; names of processes may hold any sign."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "traps: trainer[4711] general protection fault ip:7f12 sp:7ffd error:0 in a[1+1] b",
        "clocksource: Switched to clocksource hpet",
        "tsc: Marking TSC unstable due to TSCs unsynchronized",
        "OOM killer enabled.",
        "OOM killer disabled.",
        "oom_reaper: reaped process 4711 (trainer), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name",
        "Memory cgroup stats for /mem2: cache:0KB rss:1KB",
        "Task in /mem2 killed as a result of limit of /mem3",
        "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "rcu: \trcu_sched kthread timer wakeup didn't happen for 14999 jiffies!",
        "rcu: Hierarchical RCU implementation.",
        "---[ end Kernel panic - not syncing: Fatal hardware error! ]---",
        "CPU9: Core power limit notification (total events = 1)",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        "task:cache_mgr_event state:D stack:    0 pid:620917 ppid:620571 flags:0x00000002",
        "INFO: lockdep is turned off.",
        "int3: 0000 [#1][4711]: bad frame in rt_sigreturn frame:0",
    ],
)
def test_other_words_of_the_kernel_are_no_event(line: str) -> None:
    """Notices, dumps and repetitions say nothing, nor does a process with a telling name."""
    assert events_of(line) == ()


def test_a_cool_processor_ends_what_a_hot_one_began() -> None:
    """The kernel's "normal" is an event that ends the kind, and is told so."""
    event = only_event("CPU9: Package temperature/speed normal")
    assert (event.kind, event.entity_id, event.fields["ended"]) == ("cpu_thermal", "9", "yes")


def test_each_victim_is_an_event() -> None:
    """A group kill names several processes: the decision belongs to its own victim only."""
    events = events_of(DECISION, KILL, KILL.replace("4711", "4712"))
    assert [event.entity_type for event in events] == ["workload", "process"]


def test_a_kill_that_is_said_late_is_not_counted_twice() -> None:
    """When the decision was published alone, the kill of the same process within a second is it."""
    assert len(events_of(DECISION, "Kernel panic - not syncing: x", KILL)) == 2


def test_a_group_with_a_misleading_name_names_no_pod() -> None:
    """Where the text can be read in two ways, nothing is said of groups."""
    fake = f"/x,oom_memcg=/a,task_memcg=/kubepods/pod{POD}"
    event = only_event(DECISION.replace("task_memcg=", f"task_memcg={fake},task_memcg="))
    assert "pod_uid" not in event.fields
    assert event.pid == 4711
