"""Nodes that are noisy and well: what they show looks like a fault and is none."""

from tests.corpus.labels import healthy
from tests.corpus.machines import (
    processors_only,
    trainer,
)
from tests.corpus.story import Story


@healthy(node=processors_only)
def server_without_a_gpu(node: Story) -> None:
    """No card, no driver, no wish for either."""
    node.wait(1800, 60)


@healthy(node=processors_only)
def backup_writes_all_night(node: Story) -> None:
    """A disk is busy all the time with long queues, and answers in time."""
    node.wait(60)
    node.rate(2000.0, "Disks", "disks", "nvme1n1", "writes_completed")
    node.rate(1.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.rate(30.0, "Disks", "disks", "nvme1n1", "queue_time_seconds")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=32)
    node.pressure("io", "some", 25.0)
    node.pressure("io", "full", 4.0)
    node.wait(1800, 60)


@healthy("driver_version_mismatch", "gpu_count_low")
def driver_is_upgraded(node: Story) -> None:
    """The module is unloaded and a newer one loaded: the cards vanish for a minute and return."""
    node.wait(60)
    node.job_ends()
    node.wait(30)
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.put("Gpus", states=dict.fromkeys(("1b", "3b", "9b", "bb")))
    node.wait(45)
    node.log("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  595.45.04")
    node.wait(30)
    node.put(Gpus=trainer()["Gpus"])
    node.put("Gpus", "backend", driver_version="595.45.04")
    node.idle_clocks()
    node.gpus(fabric_state="in_progress")
    node.wait(45)
    node.gpus(fabric_state="completed", processes=[], memory_used_bytes=0)
    node.wait(600, 30)


@healthy(never=("net_link_flap",))
def link_is_reset_on_purpose(node: Story) -> None:
    """An operator takes an interface down and up again once."""
    node.wait(60)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link down")
    node.put("Network", "interfaces", "eth0", up=False, admin_up=False, operstate="down")
    node.put("Network", "interfaces", "eth0", carrier_changes=3)
    node.wait(45)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link up")
    node.put("Network", "interfaces", "eth0", up=True, admin_up=True, operstate="up")
    node.put("Network", "interfaces", "eth0", carrier_changes=4)
    node.wait(900, 60)


@healthy()
def node_has_just_booted(node: Story) -> None:
    """Boot lines of drivers, cards that are not in the fabric yet, a clock not in step yet."""
    node.gpus(fabric_state="in_progress")
    node.put("Clock", synchronized=False, offset_seconds=0.4)
    node.log(
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.124.06",
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0",
        "pcieport 0000:3a:00.0: AER: enabled with IRQ 124",
        "mce: CPU supports 32 MCE banks",
        "nvme nvme0: 63/0/0 default/read/poll queues",
        "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
        "mlx5_core 0000:5c:00.0: mlx5_pcie_event:301:(pid 812): Detected insufficient power on "
        "the PCIe slot (27W).",
        "NVRM: GPU at PCI:0000:3b:00: GPU-3b",
    )
    node.wait(60)
    node.gpus(fabric_state="completed")
    node.put("Clock", synchronized=True, offset_seconds=0.0001)
    node.wait(600, 60)


@healthy()
def exporter_was_restarted(node: Story) -> None:
    """The first look of a new process at counters with a long history and an old gap."""
    node.gpus(
        ecc_errors_total={
            "corrected": {"volatile": 480, "aggregate": 9000},
            "uncorrected": {"volatile": 0, "aggregate": 4},
        },
        remapped_rows_total={"corrected": 2, "uncorrected": 4},
        pcie_replays_total=3000,
    )
    node.put("CpuHealth", thermal_throttles={"core": 9000, "package": 9000})
    node.put("MemoryErrors", "controllers", "mc1", "dimms", "a", corrected_errors=700)
    node.put("Network", "interfaces", "eth0", receive_drops=900_000, receive_errors=12)
    node.put("Pcie", "devices", "3b", errors_by_severity={"correctable": 900, "nonfatal": 2})
    node.wait(1200, 60)


@healthy()
def trickle_of_small_errors(node: Story) -> None:
    """A few corrected errors here and there: within the budget of every link."""
    node.rate(0.001, "Pcie", "devices", "3b", "errors_by_severity", "correctable")
    node.rate(1.5, "Gpus", "states", "3b", "gpu", "nvlink_errors_total", "crc_flit")
    node.rate(0.02, "Infiniband", "ports", "mlx5_0", "errors", "symbol_error")
    node.rate(0.01, "Network", "interfaces", "eth0", "receive_drops")
    node.wait(3600, 60)


@healthy()
def neighbours_that_were_never_used(node: Story) -> None:
    """A fabric port and an interface that have been down since boot: nobody cabled them."""
    down = {"state": "down", "phys_state": "disabled", "receive_bytes": 0, "transmit_bytes": 0}
    node.put("Infiniband", "ports", "mlx5_2", device="mlx5_2", port="1", link_layer="InfiniBand")
    node.put("Infiniband", "ports", "mlx5_2", **down)
    idle = {"device": "eth1", "up": False, "admin_up": True, "operstate": "down"}
    node.put("Network", "interfaces", "eth1", **idle, receive_packets=0, transmit_packets=0)
    node.put("Network", "interfaces", "veth12ab", device="veth12ab", up=True, admin_up=True)
    node.wait(120, 60)
    node.put("Network", "interfaces", veth12ab=None)
    node.wait(600, 60)


@healthy()
def forged_lines_in_names(node: Story) -> None:
    """Names of processes that pretend to be lines of the driver, and chatter of a switch."""
    node.log(
        "NVRM: Xid (PCI: invoked oom-killer: gfp_mask=0x0, order=0, oom_score_adj=985",
        'audit: type=1400 comm="NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen"',
        "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 22013, Non-fatal, Link 03 Minion Link DLREQ",
    )
    node.wait(300, 30)


@healthy("pod_oom_kill", "process_oom_kill")
def short_pods_die_at_their_limits(node: Story) -> None:
    """A pod that has nothing to do with GPUs is killed at its own limit: a remark at most."""
    node.wait(30)
    group = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podaaaa_1.slice"
    node.log(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-3f.scope,"
        f"mems_allowed=0-1,oom_memcg={group},task_memcg={group},task=cron,pid=99,uid=0",
        "Memory cgroup out of memory: Killed process 99 (cron) total-vm:8kB, anon-rss:4kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:985",
    )
    node.wait(120, 30)


@healthy(node=processors_only)
def memory_full_of_page_cache(node: Story) -> None:
    """Nothing is free, but almost all is available; short peaks of pressure."""
    node.put("Memory", free_bytes=2**29, cached_bytes=600 * 2**30)
    for _ in range(4):
        node.pressure("memory", "some", 12.0)
        node.pressure("cpu", "some", 70.0)
        node.wait(30)
        node.pressure("memory", "some", 0.0)
        node.pressure("cpu", "some", 5.0)
        node.wait(120, 30)


CASES = (
    server_without_a_gpu,
    backup_writes_all_night,
    driver_is_upgraded,
    link_is_reset_on_purpose,
    node_has_just_booted,
    exporter_was_restarted,
    trickle_of_small_errors,
    neighbours_that_were_never_used,
    forged_lines_in_names,
    short_pods_die_at_their_limits,
    memory_full_of_page_cache,
)
