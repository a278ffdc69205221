"""Quiet nodes: heavy disks and networks, harmless errors, logs that quote frightening words."""

from tests.corpus.eighth.nodes import cloud_volumes
from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    cluster_worker,
    disk_server,
    mirrored_server,
    pair_of_a100,
    quad_of_l4,
    volume_server,
)
from tests.corpus.eleventh.nodes import HOUR
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import hpc_worker, roce_box
from tests.corpus.parts import DIMM, GIB
from tests.corpus.seventh.nodes import epyc, guest
from tests.corpus.story import Story

BUSY = ("disk_slow", "cpu_saturated", "memory_swapping", "softnet_drops")
PODS = ("pod_oom_kill", "process_oom_kill", "pod_oom_loop")
POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"


@healthy(*BUSY, node=mirrored_server)
def mirror_is_compared_on_the_first_sunday(node: Story) -> None:
    """The monthly check reads both halves of a mirror for two hours and finds them equal."""
    node.log("md: data-check of RAID array md0")
    node.put("MdArrays", "arrays", "md0", resync_ratio=0.0)
    for name in ("nvme0n1", "nvme1n1"):
        node.rate(520e6, "Disks", "disks", name, "read_bytes")
        node.rate(4100.0, "Disks", "disks", name, "reads_completed")
        node.rate(3.0, "Disks", "disks", name, "read_time_seconds")
    for part in (0.25, 0.5, 0.75):
        node.wait(1800, 60)
        node.put("MdArrays", "arrays", "md0", resync_ratio=part)
    node.wait(1800, 60)
    node.log("md: md0: data-check done.")
    node.put("MdArrays", "arrays", "md0", resync_ratio=None)
    for name in ("nvme0n1", "nvme1n1"):
        for counter in ("read_bytes", "reads_completed", "read_time_seconds"):
            node.rate(0.0, "Disks", "disks", name, counter)
    node.wait(HOUR, 60)


@healthy(*BUSY, "tcp_retransmit_burst", node=disk_server)
def scrub_reads_all_disks_of_a_store(node: Story) -> None:
    """A deep scrub reads sixteen disks at full speed for four hours; nothing is found."""
    for letter in "abcdefghijklmnop":
        node.rate(190e6, "Disks", "disks", f"sd{letter}", "read_bytes")
        node.rate(370.0, "Disks", "disks", f"sd{letter}", "reads_completed")
        node.rate(5.5, "Disks", "disks", f"sd{letter}", "read_time_seconds")
        node.put("Disks", "disks", f"sd{letter}", io_in_flight=4)
    node.pressure("io", "some", 14.0)
    node.pressure("io", "full", 4.0)
    node.wait(4 * HOUR, 120)


@healthy(*BUSY, node=hpc_worker)
def simulation_uses_each_core_for_two_days(node: Story) -> None:
    """A code of weather keeps all 128 cores at work, as its user has asked for."""
    node.put("Cpu", usage_percent=99.6, used_cores=127.5, load1=128.6, load5=128.3, load15=128.1)
    node.put("Cpu", processes_running=130)
    node.put("Memory", available_bytes=210 * GIB, free_bytes=9 * GIB)
    node.wait(8 * HOUR, 300)


@healthy(
    *PODS,
    expect=("pod_oom_kill@*|process_oom_kill@*|pod_oom_loop@*",),
    never=("node_oom_kill", "memory_pressure"),
    node=cluster_worker,
)
def cache_of_a_pod_is_larger_than_its_limit(node: Story) -> None:
    """A pod of a cache is killed at its limit of 2 GiB, started anew, and killed once more."""
    path = f"{POD}7c1f0a2e_9d44_4b1c_8a55_0e6f1c2b3a4d.slice"
    for number in range(2):
        node.wait(2400, 60)
        pid = 81_204 + 9113 * number
        scope = f"cri-containerd-{number}f6b02.scope"
        node.log(
            "redis-server invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
            "oom_score_adj=997",
            "memory: usage 2097152kB, limit 2097152kB, failcnt 0",
            f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={scope},"
            f"mems_allowed=0,oom_memcg={path}/{scope},task_memcg={path}/{scope},"
            f"task=redis-server,pid={pid},uid=999",
            f"Memory cgroup out of memory: Killed process {pid} (redis-server) "
            "total-vm:2411220kB, anon-rss:2088112kB, file-rss:4096kB, shmem-rss:0kB, UID:999 "
            "pgtables:4408kB oom_score_adj:997",
        )
        node.put("Paging", oom_kills=number + 1)
    node.wait(2 * HOUR, 60)


@healthy(node=chassis_of_b200)
def four_corrected_errors_in_a_terabyte(node: Story) -> None:
    """A module of a large node has four corrected errors in eight hours, as happens."""
    place = ("MemoryErrors", "controllers", "mc1")
    for number in (1, 2, 3, 4):
        node.wait(2 * HOUR, 120)
        node.log(
            f"EDAC MC1: 1 CE memory scrubbing error on {DIMM} (channel:0 slot:0 page:0xee30a0 "
            "offset:0x0 grain:32 syndrome:0x0 -  err_code:0x0008:0x00c2)"
        )
        node.put(*place, corrected_errors=number)
        node.put(*place, "dimms", "a", corrected_errors=number)
    node.wait(HOUR, 120)


@healthy(node=pair_of_a100)
def single_bad_packets_of_a_riser(node: Story) -> None:
    """A board has a corrected error of its link every two hours, and the kernel says so."""
    for number in range(4):
        node.wait(2 * HOUR, 120)
        node.log(
            "pcieport 0000:ae:00.0: AER: Corrected error message received from 0000:af:00.0",
            "nvidia 0000:af:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
            "(Receiver ID)",
            "nvidia 0000:af:00.0:   device [10de:20b5] error status/mask=00000001/0000a000",
            "nvidia 0000:af:00.0:    [ 0] RxErr                  (First)",
        )
        node.put("Pcie", "devices", "af", errors_by_severity={"correctable": number + 1})
    node.wait(HOUR, 120)


@healthy("tcp_listen_overflow", node=cluster_worker)
def messages_of_others_sound_like_faults(node: Story) -> None:
    """Tests and daemons write words of faults into the log of the kernel; nothing is wrong."""
    node.wait(600, 60)
    node.log(
        'audit: type=1400 audit(1736.4:88): apparmor="DENIED" operation="mount" '
        'profile="cri-containerd.apparmor.d" name="/mnt/io_error/"',
        "systemd-coredump[9118]: Process 9114 (panic-exporter) of user 0 dumped core.",
        "cilium: xx drop (Policy denied) flow 0x0 to endpoint 1204, ifindex 31",
        "chaos-agent: NVRM: Xid (PCI:0000:00:00): 79, pretended for a drill",
        "chaos-agent: nvme nvme0: controller is down; will reset: pretended for a drill",
        "TCP: request_sock_TCP: Possible SYN flooding on port 8443. Sending cookies.",
        "nvme nvme1: 96/0/0 default/read/poll queues",
        "perf: interrupt took too long (2510 > 2500), lowering kernel.perf_event_max_sample_rate "
        "to 79500",
    )
    node.wait(4 * HOUR, 120)


@healthy(node=cluster_worker)
def pods_are_started_and_ended_all_day(node: Story) -> None:
    """Jobs of a minute come and go: each brings a pair of links and some lines."""
    for number in range(50):
        link = f"lxc{0xA3F2 + 977 * number:08x}"
        node.log(f"eth0: renamed from tmp{number:05x}", f"{link}: Caught tx_queue_len zero misconf")
        node.wait(120, 30)
        node.log(f"{link}: left promiscuous mode")
        node.wait(60, 30)
    node.wait(600, 60)


@healthy("tcp_retransmit_burst", *BUSY, node=disk_server)
def copy_to_another_site_fills_a_port(node: Story) -> None:
    """A copy sends ten gigabits a second over a long line for three hours; few packets are lost."""
    node.rate(850_000.0, "Network", "interfaces", "ens2f0", "transmit_packets")
    node.rate(310_000.0, "Network", "interfaces", "ens2f0", "receive_packets")
    node.rate(1.0, "Network", "interfaces", "ens2f0", "receive_drops")
    node.rate(850_000.0, "NetworkStack", "tcp_segments_sent")
    node.rate(420.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(3 * HOUR, 60)


@healthy(node=roce_box)
def rails_of_ethernet_are_marked_and_slow_down(node: Story) -> None:
    """A shuffle of data makes eight ports mark packets by the thousand; none is sent again."""
    for number in range(8):
        place = ("Infiniband", "ports", f"mlx5_{number}", "events")
        node.rate(9000.0, *place, "np_cnp_sent")
        node.rate(8100.0, *place, "rp_cnp_handled")
    node.wait(4 * HOUR, 120)


@healthy(node=chassis_of_h100)
def rails_remember_the_day_of_their_cabling(node: Story) -> None:
    """Ports have the errors of the day they were cabled in their counters; none is added."""
    node.put("Infiniband", "ports", "mlx5_2", errors={"symbol_error": 65_535, "link_downed": 14})
    node.put("Infiniband", "ports", "mlx5_7", errors={"link_error_recovery": 3, "link_downed": 6})
    node.put("Network", "interfaces", "eth0", receive_errors=212, receive_drops=31_044)
    node.put("Pcie", "devices", "39", errors_by_severity={"correctable": 44})
    node.wait(4 * HOUR, 120)


@healthy(node=cloud_volumes)
def guest_waits_for_work(node: Story) -> None:
    """A guest without cards answers a health check each minute and does nothing else."""
    node.put("Cpu", usage_percent=0.7, used_cores=0.9, load1=0.05, load5=0.04, load15=0.01)
    node.rate(3.0, "Network", "interfaces", "ens5", "receive_packets")
    node.wait(6 * HOUR, 300)


@healthy("memory_swapping", *BUSY, node=volume_server)
def backup_pushes_files_into_the_cache(node: Story) -> None:
    """A backup reads ten terabytes: free memory is nearly none, most of it can be had again."""
    node.put("Memory", free_bytes=2 * GIB, available_bytes=880 * GIB, cached_bytes=930 * GIB)
    node.rate(900e6, "Disks", "disks", "sdb", "read_bytes")
    node.rate(1800.0, "Disks", "disks", "sdb", "reads_completed")
    node.rate(14.0, "Disks", "disks", "sdb", "read_time_seconds")
    node.pressure("io", "some", 11.0)
    node.pressure("io", "full", 6.0)
    node.wait(3 * HOUR, 120)


@healthy(node=chassis_of_h200)
def spare_port_of_a_node_is_not_cabled(node: Story) -> None:
    """A fifth adapter is there for later; its port has never had a link."""
    node.put(
        *("Infiniband", "ports", "mlx5_4"),
        device="mlx5_4",
        port="1",
        state="down",
        phys_state="polling",
        link_layer="InfiniBand",
        pci_bus_id="0000:d8:00.0",
        receive_bytes=0,
        transmit_bytes=0,
        link_was_up=False,
        errors={"symbol_error": 0, "link_downed": 0},
    )
    node.wait(5 * HOUR, 120)


@healthy("process_crashed", node=epyc)
def program_of_a_user_crashes_each_hour(node: Story) -> None:
    """A program of a user has a fault in its own library and is started by cron each hour."""
    for number in range(6):
        node.log(
            f"solver[{44_120 + 811 * number}]: segfault at 10 ip 00007f12aa0b3c21 sp "
            "00007ffd1c0e9a10 error 4 in libmatrix.so.3[7f12a9e00000+2c0000] likely on CPU 17 "
            "(core 17, socket 0)"
        )
        node.wait(HOUR, 120)


@healthy(node=guest)
def guest_runs_on_a_busy_host(node: Story) -> None:
    """A guest shares its host with others: its load goes up and down, its clock is right."""
    for load in (12.0, 48.0, 71.0, 33.0):
        node.put("Cpu", usage_percent=load, used_cores=1.28 * load, load1=1.3 * load)
        node.put("Clock", offset_seconds=0.0004, error_seconds=0.011)
        node.wait(HOUR, 120)


@healthy(node=quad_of_l4)
def disk_is_warm_in_the_afternoon(node: Story) -> None:
    """A disk has 66 degrees while videos are copied, eleven below its warning."""
    for heat in (48.0, 59.0, 66.0, 66.0, 52.0):
        node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=heat)
        node.wait(HOUR, 120)


CASES = (
    mirror_is_compared_on_the_first_sunday,
    scrub_reads_all_disks_of_a_store,
    simulation_uses_each_core_for_two_days,
    cache_of_a_pod_is_larger_than_its_limit,
    four_corrected_errors_in_a_terabyte,
    single_bad_packets_of_a_riser,
    messages_of_others_sound_like_faults,
    pods_are_started_and_ended_all_day,
    copy_to_another_site_fills_a_port,
    rails_of_ethernet_are_marked_and_slow_down,
    rails_remember_the_day_of_their_cabling,
    guest_waits_for_work,
    backup_pushes_files_into_the_cache,
    spare_port_of_a_node_is_not_cabled,
    program_of_a_user_crashes_each_hour,
    guest_runs_on_a_busy_host,
    disk_is_warm_in_the_afternoon,
)
