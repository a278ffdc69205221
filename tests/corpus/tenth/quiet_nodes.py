"""Quiet nodes: heavy disks and networks, harmless errors, logs that quote frightening words."""

from tests.corpus.eighth.nodes import cloud_volumes, kubelet_node
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import hpc_worker, object_store, roce_box
from tests.corpus.parts import DIMM, GIB
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    HOUR,
    database,
    file_server,
    inference_l40s,
    pod_of_a100,
    pod_of_h100,
)

BUSY = ("disk_slow", "cpu_saturated", "memory_swapping", "softnet_drops")
PODS = ("pod_oom_kill", "process_oom_kill", "pod_oom_loop")


@healthy(*BUSY, node=file_server)
def array_is_checked_on_sunday(node: Story) -> None:
    """The monthly check of a RAID reads all members for six hours; all of them are well."""
    node.log("md: data-check of RAID array md127")
    node.put("MdArrays", "arrays", "md127", resync_ratio=0.0)
    for letter in "abcdef":
        node.rate(210e6, "Disks", "disks", f"sd{letter}", "read_bytes")
        node.rate(400.0, "Disks", "disks", f"sd{letter}", "reads_completed")
        node.rate(0.9, "Disks", "disks", f"sd{letter}", "io_time_seconds")
        node.rate(4.0, "Disks", "disks", f"sd{letter}", "read_time_seconds")
    for part in (0.2, 0.4, 0.6, 0.8):
        node.wait(HOUR, 120)
        node.put("MdArrays", "arrays", "md127", resync_ratio=part)
    node.log("md: md127: data-check done.")
    node.put("MdArrays", "arrays", "md127", resync_ratio=None)
    node.wait(HOUR, 120)


@healthy(*BUSY, node=database)
def backup_writes_at_full_speed(node: Story) -> None:
    """A backup keeps a disk busy at 3 GB/s for two hours; tasks wait a little."""
    node.wait(300, 60)
    node.rate(3e9, "Disks", "disks", "nvme1n1", "written_bytes")
    node.rate(24_000.0, "Disks", "disks", "nvme1n1", "writes_completed")
    node.rate(30.0, "Disks", "disks", "nvme1n1", "write_time_seconds")
    node.rate(0.99, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=31)
    node.pressure("io", "some", 22.0)
    node.pressure("io", "full", 9.0)
    node.wait(2 * HOUR, 60)
    node.pressure("io", "some", 0.5)
    node.pressure("io", "full", 0.1)
    node.wait(HOUR, 60)


@healthy(*BUSY, node=hpc_worker)
def all_cores_compute_for_a_day(node: Story) -> None:
    """An MPI program uses every core, as it should; load is the number of cores."""
    node.put("Cpu", usage_percent=99.8, used_cores=127.7, load1=128.4, load5=128.2, load15=128.0)
    node.put("Cpu", processes_running=129)
    node.put("CpuHealth", frequencies={"min": 3.05e9, "avg": 3.1e9, "max": 3.2e9})
    node.wait(6 * HOUR, 300)


@healthy(node=kubelet_node)
def pods_come_and_go_with_their_links(node: Story) -> None:
    """Veth pairs of pods are made and taken away all day, and the log is full of it."""
    for number in range(30):
        pair = f"veth{0xA10 + number:x}"
        node.log(
            f"cni0: port {number + 3}({pair}) entered blocking state",
            f"device {pair} entered promiscuous mode",
            f"cni0: port {number + 3}({pair}) entered forwarding state",
        )
        node.wait(240, 60)
        node.log(
            f"cni0: port {number + 3}({pair}) entered disabled state",
            f"device {pair} left promiscuous mode",
        )
    node.wait(600, 60)


@healthy(*PODS, expect=("pod_oom_kill@*|process_oom_kill@*|pod_oom_loop@*",), node=kubelet_node)
def container_is_killed_at_its_own_limit(node: Story) -> None:
    """A container reaches its limit of 4 GiB while half of the node's memory is free."""
    node.wait(600, 60)
    slice_ = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
    slice_ += "0a1b2c3d_1111_2222_3333_444455556666.slice"
    node.log(
        "java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985",
        "memory: usage 4194304kB, limit 4194304kB, failcnt 9917",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-8d1e.scope,"
        f"mems_allowed=0-1,oom_memcg={slice_},task_memcg={slice_}/cri-containerd-8d1e.scope,"
        "task=java,pid=71902,uid=1000",
        "Memory cgroup out of memory: Killed process 71902 (java) total-vm:9911024kB, "
        "anon-rss:4170912kB, file-rss:19220kB, shmem-rss:0kB, UID:1000 pgtables:9012kB "
        "oom_score_adj:985",
    )
    node.put("Paging", oom_kills=1)
    node.wait(2 * HOUR, 120)


@healthy(node=pod_of_h100)
def few_corrected_bits_in_the_main_memory(node: Story) -> None:
    """Three corrected errors of one module within six hours: such things happen."""
    node.wait(600, 60)
    place = ("MemoryErrors", "controllers", "mc1")
    for number in (1, 2, 3):
        node.log(f"EDAC MC1: 1 CE memory read error on {DIMM} (channel:0 slot:0 page:0x5512c1)")
        node.put(*place, corrected_errors=number)
        node.put(*place, "dimms", "a", corrected_errors=number)
        node.wait(2 * HOUR, 120)


@healthy(node=inference_l40s)
def correctable_aer_once_an_hour(node: Story) -> None:
    """A link of a board has one corrected error an hour, which the kernel logs at length."""
    for number in range(5):
        node.wait(HOUR, 120)
        node.log(
            "pcieport 0000:40:00.0: AER: Corrected error message received from 0000:41:00.0",
            "nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
            "(Transmitter ID)",
            "nvidia 0000:41:00.0:   device [10de:26b9] error status/mask=00001000/0000a000",
            "nvidia 0000:41:00.0:    [12] Timeout",
        )
        node.put("Pcie", "devices", "41", errors_by_severity={"correctable": number + 1})
        node.gpu("41", pcie_replays_total=5 + number)


@healthy(node=kubelet_node)
def log_quotes_frightening_words(node: Story) -> None:
    """A firewall, an audit daemon and systemd print words that sound like faults."""
    node.wait(300, 60)
    node.log(
        'audit: type=1400 audit(1731.1:8): apparmor="DENIED" operation="open" name="/panic.log"',
        "systemd[1]: run-fatal_error_test.mount: Deactivated successfully.",
        "IPTABLES-DROP: IN=ens1f0 OUT= SRC=203.0.113.9 DST=192.0.2.4 PROTO=TCP DPT=22",
        "testsuite: simulating 'GPU has fallen off the bus' for the training of operators",
        "my-app[9912]: I/O error while parsing page: hardware error is a possible cause",
        "nvme nvme0: 64/0/0 default/read/poll queues",
        "systemd-journald[811]: Suppressed 212 messages from kubelet.service",
        "EXT4-fs (dm-3): errors=remount-ro",
    )
    node.wait(3 * HOUR, 120)


@healthy("tcp_retransmit_burst", *BUSY, node=object_store)
def rebalancing_fills_both_ports(node: Story) -> None:
    """A store moves data at 20 GB/s for three hours; one packet of a million is dropped."""
    for name in ("bond0", "enp65s0f0", "enp65s0f1"):
        node.rate(1_900_000.0, "Network", "interfaces", name, "receive_packets")
        node.rate(1_900_000.0, "Network", "interfaces", name, "transmit_packets")
        node.rate(2.0, "Network", "interfaces", name, "receive_drops")
    node.rate(3_000_000.0, "NetworkStack", "tcp_segments_sent")
    node.rate(600.0, "NetworkStack", "tcp_retransmitted_segments")
    for letter in "abcdefghijkl":
        node.rate(180e6, "Disks", "disks", f"sd{letter}", "read_bytes")
        node.rate(190.0, "Disks", "disks", f"sd{letter}", "reads_completed")
        node.rate(5.0, "Disks", "disks", f"sd{letter}", "read_time_seconds")
    node.wait(3 * HOUR, 120)


@healthy(node=roce_box)
def congestion_control_does_its_work(node: Story) -> None:
    """Eight ports of RoCE mark and slow down as they should; nothing is sent twice."""
    for number in range(8):
        place = ("Infiniband", "ports", f"mlx5_{number}", "events")
        node.rate(3500.0, *place, "np_cnp_sent")
        node.rate(2900.0, *place, "rp_cnp_handled")
    node.wait(3 * HOUR, 120)


@healthy(node=pod_of_a100)
def counters_of_last_year_stand_still(node: Story) -> None:
    """Ports, links and the bus have old errors in their counters, none is added."""
    node.put("Infiniband", "ports", "mlx5_1", errors={"symbol_error": 7731, "link_downed": 9})
    node.put("Network", "interfaces", "eth0", receive_errors=4411, receive_drops=92_000)
    node.gpu("62", nvlink_errors_total={"crc_flit": 91_233, "replay": 880, "recovery": 3})
    node.gpu("62", pcie_replays_total=3120)
    node.put("Pcie", "devices", "62", errors_by_severity={"correctable": 612})
    node.wait(3 * HOUR, 120)


@healthy(node=cloud_volumes)
def guest_with_volumes_does_little(node: Story) -> None:
    """A guest without cards and sensors serves some pages; its hypervisor is silent."""
    node.put("Cpu", usage_percent=2.0, used_cores=2.5, load1=0.4, load5=0.3, load15=0.3)
    node.wait(5 * HOUR, 300)


@healthy("memory_swapping", *BUSY, node=database)
def cache_uses_most_of_the_memory(node: Story) -> None:
    """Free memory is nearly nothing because files are cached; 40 % can be had at any time."""
    node.put("Memory", free_bytes=3 * GIB, available_bytes=410 * GIB, cached_bytes=600 * GIB)
    node.wait(4 * HOUR, 300)


@healthy(node=kubelet_node)
def unused_port_was_never_plugged_in(node: Story) -> None:
    """A third port has no cable and never had one; nobody has enabled it."""
    node.put(
        "Network",
        "interfaces",
        "ens3f0",
        device="ens3f0",
        driver="ice",
        pci_bus_id="0000:5c:00.3",
        up=False,
        admin_up=False,
        operstate="down",
        carrier_changes=0,
        receive_packets=0,
        transmit_packets=0,
        link_was_up=False,
    )
    node.wait(3 * HOUR, 120)


CASES = (
    array_is_checked_on_sunday,
    backup_writes_at_full_speed,
    all_cores_compute_for_a_day,
    pods_come_and_go_with_their_links,
    container_is_killed_at_its_own_limit,
    few_corrected_bits_in_the_main_memory,
    correctable_aer_once_an_hour,
    log_quotes_frightening_words,
    rebalancing_fills_both_ports,
    congestion_control_does_its_work,
    counters_of_last_year_stand_still,
    guest_with_volumes_does_little,
    cache_uses_most_of_the_memory,
    unused_port_was_never_plugged_in,
)
