"""Trials of the rules about memory, processors, sensors, and the node as a whole."""

from tests.faults.rules.trials import Given, Goes, Rises, Row

HE = "[Hardware Error]:"
POD = "11111111-2222-3333-4444-555555555555"
GROUP = f"/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-{'a' * 64}.scope"
NODE_OOM = (
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
    "task_memcg=/user.slice,task=trainer,pid=4242,uid=0\n"
    "Out of memory: Killed process 4242 (trainer) total-vm:900kB, anon-rss:800kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:0"
)
POD_OOM = (
    f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,"
    f"oom_memcg={GROUP},task_memcg={GROUP},task=trainer,pid=4242,uid=0\n"
    "Memory cgroup out of memory: Killed process 4242 (trainer) total-vm:900kB, anon-rss:800kB, "
    "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:0"
)
PLAIN_OOM = POD_OOM.replace(GROUP, "/system.slice/batch.service")
MEMORY: Given = {"memory_ordinary_bytes": 100e9, "memory_usage_percent": 96.0}
SYNCED: Given = {"clock_offset_seconds": 0.0, "clock_error_seconds": 16.0}
FAN: Given = {"value": Goes(5400.0, 0.0)}
INLET: Given = {"sensor": "Inlet Temp", "high_degraded": 40.0}
HOT: Given = {"hw_name": "coretemp", "high_critical": 100.0}


def machine_check(cpu: int, status: str) -> str:
    """The line of one bank."""
    return f"mce: {HE} CPU {cpu}: Machine Check: 0 Bank 8: {status}"


def lines(text: str, count: int) -> str:
    """The same so often."""
    return "\n".join([text] * count)


THROTTLED = "mce: CPU9: Package temperature is above threshold, cpu clock is throttled"
STUCK = "BUG: workqueue lockup - pool cpus=3 node=0 flags=0x0 nice=0 stuck for"

ROWS = (
    Row(
        "kernel_memory_corrupted",
        "node",
        holds={"kernel": "BUG: Bad page state in process trainer  pfn:12f3456"},
        holds_not={"kernel": "BUG: workqueue lockup - pool cpus=3 node=0"},
        severity="critical",
        summary="in trainer",
    ),
    Row(
        "kernel_bug",
        "node",
        holds={"kernel": "BUG: scheduling while atomic: kworker/3:1/77/0x00000002"},
        holds_not={"kernel": "BUG: workqueue lockup - pool cpus=3 node=0"},
        severity="warning",
        summary="scheduling while atomic",
    ),
    Row(
        "clocksource_unstable",
        "node",
        holds={
            "kernel": "clocksource: timekeeping watchdog on CPU12: Marking clocksource 'tsc' as "
            "unstable because the skew is too large:"
        },
        holds_not={"kernel": "clocksource: Switched to clocksource tsc"},
        severity="info",
        summary="tsc",
    ),
    Row(
        "memory_corrected_rate",
        "dimm",
        holds={"corrected_errors": Rises(1.0)},
        holds_not={"corrected_errors": Goes(0, 20)},
        clears={"corrected_errors": Rises(0.0)},
    ),
    Row(
        "memory_uncorrected",
        "dimm",
        about="CPU0_DIMM_A1",
        holds={
            "kernel": "EDAC MC0: 1 UE memory read error on CPU0_DIMM_A1 (channel:0 slot:0 page:0x1)"
        },
        holds_not={
            "uncorrected_errors": 3,
            "kernel": "EDAC MC0: 1 CE memory read error on CPU0_DIMM_A1 (channel:0 slot:0)",
        },
        severity="critical",
    ),
    Row(
        "memory_page_offlined",
        "node",
        holds={"kernel": "Memory failure: 0x12f345: recovery action for dirty LRU page: Failed"},
        holds_not={"kernel": machine_check(1, "cc00010000010091")},
        severity="critical",
        summary="12f345",
    ),
    Row(
        "firmware_hardware_error",
        "node",
        holds={
            "kernel": f"{{1}}{HE} Hardware error from APEI Generic Hardware Error Source: 4\n"
            f"{{1}}{HE} event severity: recoverable\n"
            f"{{1}}{HE}   section_type: memory error"
        },
        holds_not={
            "kernel": f"{{1}}{HE} Hardware error from APEI Generic Hardware Error Source: 4\n"
            f"{{1}}{HE} event severity: corrected"
        },
        summary="memory error",
    ),
    Row(
        "hardware_error_before_boot",
        "node",
        holds={
            "kernel": f"BERT: Error records from previous boot:\n{HE} event severity: fatal\n"
            f"{HE}  Error 0, type: fatal\n{HE}   section_type: memory error"
        },
        holds_not={"kernel": machine_check(0, "a600000000020408")},
        severity="info",
        summary="memory error",
    ),
    Row(
        "memory_pressure",
        "node",
        holds={**MEMORY, "memory_available_bytes": 4e9, "pressure_memory_full_avg60": 0.0},
        holds_not={**MEMORY, "memory_available_bytes": 50e9, "pressure_memory_full_avg60": 2.0},
        clears={"memory_available_bytes": 50e9},
        unknown={},
        summary="96 %",
    ),
    Row(
        "memory_swapping",
        "node",
        holds={"memory_swap_in_bytes": Rises(30e6), "memory_swap_out_bytes": Rises(30e6)},
        holds_not={"memory_swap_in_bytes": 9e9, "memory_swap_out_bytes": Rises(1e6)},
        clears={"memory_swap_in_bytes": Rises(0), "memory_swap_out_bytes": Rises(0)},
        unknown={},
    ),
    Row(
        "node_oom_kill",
        "node",
        holds={"kernel": NODE_OOM},
        holds_not={"kernel": POD_OOM},
        severity="critical",
        summary="trainer (4242)",
    ),
    Row(
        "pod_oom_kill",
        "workload",
        about=POD,
        holds={"kernel": POD_OOM},
        holds_not={"kernel": NODE_OOM},
        severity="info",
        summary="trainer (4242)",
    ),
    Row(
        "pod_oom_loop",
        "workload",
        about=POD,
        holds={"kernel": "\n".join(POD_OOM.replace("4242", str(n)) for n in (1, 2, 3))},
        holds_not={"kernel": POD_OOM},
        severity="info",
    ),
    Row(
        "process_oom_kill",
        "process",
        about="4242",
        holds={"kernel": PLAIN_OOM},
        holds_not={"kernel": NODE_OOM},
    ),
    Row(
        "oom_kill_without_log",
        "node",
        holds={"memory_oom_kills": Goes(0, 1)},
        holds_not={"memory_oom_kills": Goes(0, 1), "kernel_log_records": 100},
        unknown={},
    ),
    Row(
        "machine_check",
        "cpu",
        about="18",
        holds={"kernel": f"mce: {HE} CPU 18: Machine Check Exception: 5 Bank 7: be00000001010091"},
        holds_not={"kernel": machine_check(18, "cc00010000010091")},
        severity="critical",
        summary="bank 7",
    ),
    Row(
        "machine_check_corrected_rate",
        "cpu",
        about="3",
        holds={"kernel": lines(machine_check(3, "cc00010000010091"), 12)},
        holds_not={"kernel": lines(machine_check(3, "cc00010000010091"), 3)},
    ),
    Row(
        "machine_check_exceptions",
        "node",
        holds={"cpu_machine_checks": Goes(2, 3)},
        holds_not={"cpu_machine_checks": 2},
        unknown={},
    ),
    Row(
        "cpu_thermal_throttle",
        "node",
        holds={"cpu_thermal_throttles[package]": Rises(1.0)},
        holds_not={"cpu_thermal_throttles[package]": 100_000},
        clears={"cpu_thermal_throttles[package]": Rises(0)},
    ),
    Row(
        "cpu_thermal_throttle",
        "node",
        holds={"cpu_thermal_throttles[package]": 4, "kernel": THROTTLED},
        holds_not={
            "cpu_thermal_throttles[package]": 4,
            "kernel": f"{THROTTLED}\nmce: CPU9: Package temperature/speed normal",
        },
        clears={"kernel": "mce: CPU9: Package temperature/speed normal"},
    ),
    Row(
        "cpu_lockup",
        "cpu",
        about="3",
        holds={
            "kernel": "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4242]\n"
            "watchdog: BUG: soft lockup - CPU#3 stuck for 45s! [python3:4242]"
        },
        holds_not={"kernel": "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4242]"},
        severity="warning",
        summary="python3",
    ),
    Row(
        "rcu_stall",
        "node",
        holds={"kernel": "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"},
        holds_not={"kernel": "rcu: RCU calculated value of scheduler-enlistment delay is 25"},
    ),
    Row(
        "workqueue_lockup",
        "node",
        holds={"kernel": f"{STUCK} 34s!\n{STUCK} 64s!"},
        holds_not={"kernel": f"{STUCK} 34s!\n{STUCK.replace('nice=0', 'nice=-20')} 34s!"},
        summary="64 s (cpus=3 node=0 flags=0x0 nice=0)",
    ),
    Row(
        "cpu_saturated",
        "node",
        holds={"cpu_usage_percent": 99.0, "pressure_cpu_some_avg60": 80.0},
        holds_not={"cpu_usage_percent": 99.0, "pressure_cpu_some_avg60": 10.0},
        clears={"cpu_usage_percent": 50.0},
        unknown={"pressure_cpu_some_avg60": 80.0},
    ),
    Row(
        "kernel_oops",
        "node",
        holds={"kernel": "BUG: unable to handle page fault for address: ffffffffc0a1b2c3"},
        holds_not={"kernel": "BUG: soft lockup - CPU#3 stuck for 22s! [python3:4242]"},
        severity="critical",
    ),
    Row(
        "kernel_panic",
        "node",
        holds={"kernel": "Out of memory and no killable processes..."},
        holds_not={"kernel": NODE_OOM},
        severity="critical",
        summary="no killable",
    ),
    Row(
        "hung_task",
        "process",
        about="4242",
        holds={"kernel": "INFO: task trainer:4242 blocked for more than 120 seconds."},
        holds_not={"waiting_secs": 200.0},
        summary="trainer (4242)",
    ),
    Row(
        "clock_not_synced",
        "node",
        holds={**SYNCED, "clock_synchronized": Goes(before=True, after=False)},
        holds_not={**SYNCED, "clock_synchronized": False},
        clears={"clock_synchronized": True},
        unknown={},
    ),
    Row(
        "file_handles_low",
        "node",
        holds={"file_descriptors_open": 950, "file_descriptors_max": 1000},
        holds_not={"file_descriptors_open": 850, "file_descriptors_max": 1000},
        clears={"file_descriptors_open": 700},
        unknown={"file_descriptors_open": 950},
    ),
    Row(
        "file_handles_exhausted",
        "node",
        holds={"kernel": "VFS: file-max limit 9223 reached"},
        holds_not={"file_descriptors_open": 990, "file_descriptors_max": 1000},
        clears={"file_descriptors_open": 900, "file_descriptors_max": 1000},
    ),
    Row(
        "process_ids_low",
        "node",
        holds={"threads": 31_000, "processes_limit": 32_768},
        holds_not={"threads": 2_000, "processes_limit": 32_768},
        clears={"threads": 2_000},
        unknown={},
    ),
    Row(
        "conntrack_full",
        "node",
        holds={"conntrack_entries": 95, "conntrack_limit": 100},
        holds_not={"conntrack_entries": 80, "conntrack_limit": 100},
        clears={"conntrack_entries": 10},
        unknown={},
    ),
    Row(
        "fan_stopped",
        "fan",
        holds=FAN,
        holds_not={"value": 0.0},
        clears={"value": 5400.0},
        unknown={},
        is_gated=True,
        severity="critical",
    ),
    Row(
        "board_too_hot",
        "temperature",
        holds={**HOT, "value": 101.0},
        holds_not={**HOT, "value": 101.0, "hw_name": "nct6775"},
        clears={"value": 60.0},
        unknown={"hw_name": "coretemp", "value": 101.0},
        is_gated=True,
        summary="101 °C",
    ),
    Row(
        "node_inlet_hot",
        "temperature",
        holds={**INLET, "value": 43.0},
        holds_not={**INLET, "value": 43.0, "sensor": "SYSTIN"},
        clears={"value": 24.0},
        unknown={"sensor": "Inlet Temp", "value": 43.0},
        is_gated=True,
        summary="43 °C",
    ),
    Row(
        "power_supply_alarm",
        "power_supply",
        holds={"alarm": True, "value": 0.0},
        holds_not={"alarm": False, "value": 900.0},
        clears={"alarm": False},
        unknown={"value": 900.0},
        is_gated=True,
    ),
)
