"""Quiet nodes: heavy disks and networks, harmless errors, logs that quote frightening words."""

from tests.corpus.eighth.nodes import cloud_volumes
from tests.corpus.eleventh.nodes import HOUR
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import hpc_worker, object_store, roce_box
from tests.corpus.parts import GIB, disk
from tests.corpus.seventh.nodes import epyc, guest
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    backup_server,
    boot_server,
    box_of_b200,
    box_of_h200,
    database_server,
    four_a100,
    four_l40s,
    web_worker,
)

BUSY = ("disk_slow", "cpu_saturated", "memory_swapping", "softnet_drops")
PODS = ("pod_oom_kill", "process_oom_kill", "pod_oom_loop")
PATH = "/kubepods.slice/kubepods-pod3f0c8d11_7a20_4e6b_9b1e_5d2c7f80a114.slice"


@healthy(*BUSY, node=backup_server)
def array_is_checked_on_a_sunday(node: Story) -> None:
    """The check of a RAID 6 reads all eight disks for three hours and finds nothing."""
    node.log("md: data-check of RAID array md5")
    node.put("MdArrays", "arrays", "md5", resync_ratio=0.0)
    for letter in "abcdefgh":
        node.rate(170e6, "Disks", "disks", f"sd{letter}", "read_bytes")
        node.rate(340.0, "Disks", "disks", f"sd{letter}", "reads_completed")
        node.rate(4.0, "Disks", "disks", f"sd{letter}", "read_time_seconds")
    for part in (0.3, 0.6, 0.9):
        node.wait(HOUR, 60)
        node.put("MdArrays", "arrays", "md5", resync_ratio=part)
    node.wait(1200, 60)
    node.log("md: md5: data-check done.")
    node.put("MdArrays", "arrays", "md5", resync_ratio=None)
    for letter in "abcdefgh":
        for counter in ("read_bytes", "reads_completed", "read_time_seconds"):
            node.rate(0.0, "Disks", "disks", f"sd{letter}", counter)
    node.wait(HOUR, 60)


@healthy("tcp_retransmit_burst", *BUSY, node=object_store)
def store_moves_its_objects_to_a_new_neighbour(node: Story) -> None:
    """A new server joins a store: for four hours disks and ports of the old one are busy."""
    for letter in "abcdefghijkl":
        node.rate(120e6, "Disks", "disks", f"sd{letter}", "read_bytes")
        node.rate(260.0, "Disks", "disks", f"sd{letter}", "reads_completed")
        node.rate(3.6, "Disks", "disks", f"sd{letter}", "read_time_seconds")
        node.put("Disks", "disks", f"sd{letter}", io_in_flight=3)
    node.rate(400_000.0, "Network", "interfaces", "bond0", "transmit_packets")
    node.pressure("io", "some", 12.0)
    node.pressure("io", "full", 3.0)
    node.wait(4 * HOUR, 120)


@healthy(*BUSY, node=hpc_worker)
def chemistry_fills_a_worker(node: Story) -> None:
    """A code of chemistry uses all cores of a worker and writes scratch files all day."""
    node.put("Cpu", usage_percent=99.1, used_cores=126.8, load1=128.2, load5=128.1, load15=128.0)
    node.put("Cpu", processes_running=129)
    node.put("Memory", available_bytes=330 * GIB, free_bytes=14 * GIB)
    node.rate(300e6, "Disks", "disks", "nvme1n1", "written_bytes")
    node.rate(1200.0, "Disks", "disks", "nvme1n1", "writes_completed")
    node.wait(7 * HOUR, 300)


@healthy(
    *PODS,
    expect=("pod_oom_kill@*|process_oom_kill@*|pod_oom_loop@*",),
    never=("node_oom_kill", "memory_pressure"),
    node=web_worker,
)
def report_of_a_pod_is_too_large_once(node: Story) -> None:
    """A pod makes a report that does not fit its limit of 4 GiB, is killed, and does not retry."""
    node.wait(3000, 60)
    scope = "crio-6c1d0b7e2a.scope"
    node.log(
        "node invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-997",
        "memory: usage 4194304kB, limit 4194304kB, failcnt 211",
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={scope},mems_allowed=0,"
        f"oom_memcg={PATH}/{scope},task_memcg={PATH}/{scope},task=node,pid=310771,uid=1001",
        "Memory cgroup out of memory: Killed process 310771 (node) total-vm:23911004kB, "
        "anon-rss:4170112kB, file-rss:41200kB, shmem-rss:0kB, UID:1001 pgtables:14408kB "
        "oom_score_adj:-997",
    )
    node.put("Paging", oom_kills=1)
    node.wait(4 * HOUR, 60)


@healthy(node=epyc)
def three_corrected_errors_between_two_moons(node: Story) -> None:
    """A module of an EPYC has three corrected errors in nine hours."""
    place = ("MemoryErrors", "controllers", "mc0")
    for number in (1, 2, 3):
        node.wait(3 * HOUR, 120)
        node.log(
            "mce: [Hardware Error]: Machine check events logged",
            "[Hardware Error]: Corrected error, no action required.",
            "[Hardware Error]: CPU:2 (19:1:1) MC17_STATUS[-|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: "
            "0x9c2040000000011b",
            f"[Hardware Error]: Error Addr: 0x{0x2B80C4A00 + 4096 * number:016x}",
            "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0, DRAM ECC error.",
            f"EDAC MC0: 1 CE on mc#0csrow#2channel#5 (csrow:2 channel:5 page:0xae03{number:02x} "
            "offset:0xa00 grain:64 syndrome:0x40)",
        )
        node.put(*place, corrected_errors=number)
        node.put(*place, "dimms", "25", corrected_errors=number)
    node.wait(HOUR, 120)


@healthy(node=database_server)
def adapter_has_a_corrected_error_each_watch(node: Story) -> None:
    """A network adapter reports a single corrected error of its link every three hours."""
    node.put("Pcie", "devices", "5c", driver="ice")
    for number in range(3):
        node.wait(3 * HOUR, 120)
        node.log(
            "pcieport 0000:5b:00.0: AER: Corrected error message received from 0000:5c:00.0",
            "ice 0000:5c:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
            "(Transmitter ID)",
            "ice 0000:5c:00.0:   device [8086:1592] error status/mask=00001000/00002000",
            "ice 0000:5c:00.0:    [12] Timeout               ",
        )
        node.put("Pcie", "devices", "5c", errors_by_severity={"correctable": number + 1})
    node.wait(HOUR, 120)


@healthy("tcp_listen_overflow", node=web_worker)
def log_is_full_of_refused_packets(node: Story) -> None:
    """A firewall logs what it refuses, audits tell of denials, and somebody floods a port."""
    for number in range(40):
        node.log(
            f"FW-DROP: IN=bond0 OUT= MAC=3c:ec:ef:10:22:41 SRC=198.51.100.{number + 4} "
            f"DST=192.0.2.33 LEN=40 TTL=241 ID={54_321 + number} PROTO=TCP SPT=40112 DPT=23 SYN",
            f"audit: type=1400 audit(1741.{number}:{900 + number}): avc:  denied  {{ read }} for  "
            f'pid={7000 + number} comm="fatal-error-col" name="panic.log" dev="nvme0n1p3"',
        )
        node.wait(240, 60)
    node.log("TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:6443. Sending cookies.")
    node.wait(2 * HOUR, 60)


@healthy(node=box_of_h200)
def disk_gets_warm_while_a_dataset_is_copied(node: Story) -> None:
    """A disk has 67 degrees while a dataset is unpacked, under its warning at 77."""
    for heat in (47.0, 58.0, 67.0, 66.0, 51.0):
        node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=heat)
        node.wait(HOUR, 120)


@healthy(node=box_of_b200)
def counters_tell_of_the_day_of_assembly(node: Story) -> None:
    """Ports and devices keep the errors of the day a node was put together; none is new."""
    node.put("Infiniband", "ports", "mlx5_4", errors={"symbol_error": 9120, "link_downed": 11})
    node.put("Infiniband", "ports", "mlx5_7", errors={"link_error_recovery": 4, "link_downed": 9})
    node.put("Network", "interfaces", "eth0", receive_errors=77, receive_drops=8_412)
    node.put("Pcie", "devices", "c3", errors_by_severity={"correctable": 19})
    node.put("NvmeHealths", "controllers", "nvme0", unsafe_shutdowns=61)
    node.wait(5 * HOUR, 120)


@healthy(node=roce_box)
def switches_mark_packets_in_a_shuffle(node: Story) -> None:
    """All ports slow down by marks of congestion for hours, as they are meant to; none resends."""
    for number in range(8):
        place = ("Infiniband", "ports", f"mlx5_{number}", "events")
        node.rate(21_000.0, *place, "np_cnp_sent")
        node.rate(19_500.0, *place, "rp_cnp_handled")
    node.wait(5 * HOUR, 120)


@healthy(node=cloud_volumes)
def guest_runs_a_job_at_midnight_only(node: Story) -> None:
    """A guest rests all evening, computes for twenty minutes at midnight, and rests again."""
    for load in (0.8, 0.9, 64.0, 1.1):
        node.put("Cpu", usage_percent=load, used_cores=1.28 * load, load1=1.28 * load)
        node.wait(HOUR if load < 10.0 else 1200, 120)


@healthy("memory_swapping", *BUSY, node=backup_server)
def restore_turns_memory_into_cache(node: Story) -> None:
    """A restore writes eight terabytes: nearly all memory is cache, which can be had again."""
    node.put("Memory", free_bytes=3 * GIB, available_bytes=905 * GIB, cached_bytes=960 * GIB)
    node.rate(700e6, "Disks", "disks", "md5", "written_bytes")
    node.rate(1400.0, "Disks", "disks", "md5", "writes_completed")
    node.rate(16.0, "Disks", "disks", "md5", "write_time_seconds")
    node.pressure("io", "some", 13.0)
    node.pressure("io", "full", 7.0)
    node.wait(3 * HOUR, 120)


@healthy(node=four_l40s)
def second_port_of_a_node_waits_for_its_cable(node: Story) -> None:
    """The second port of a node has never been cabled: its interface is wanted and has no link."""
    node.put(
        *("Network", "interfaces", "eth1"),
        device="eth1",
        receive_packets=0,
        receive_bytes=0,
        transmit_packets=0,
        transmit_bytes=0,
        up=False,
        admin_up=True,
        operstate="down",
        carrier_changes=1,
        carrier_up_count=0,
        link_was_up=False,
        peers_up=1,
        driver="mlx5_core",
        pci_bus_id="0000:5c:00.1",
        mtu=1500,
    )
    node.wait(6 * HOUR, 120)


@healthy("process_crashed", node=four_a100)
def editor_of_a_user_crashes_now_and_then(node: Story) -> None:
    """A server of an editor that a user left running crashes every two hours and comes back."""
    for number in range(4):
        node.wait(2 * HOUR, 120)
        node.log(
            f"cpptools[{51_300 + 907 * number}]: segfault at 8 ip 00000000006f1c40 sp "
            "00007f3b2e1fdc10 error 4 in cpptools[400000+12f8000] likely on CPU 40 (core 40, "
            "socket 0)"
        )
    node.wait(HOUR, 120)


@healthy(node=guest)
def image_is_attached_and_detached(node: Story) -> None:
    """A disk of an image is attached to a guest for half an hour and detached in good order."""
    node.wait(1200, 60)
    node.log(
        "scsi 6:0:0:1: Direct-Access     QEMU     QEMU HARDDISK    2.5+ PQ: 0 ANSI: 5",
        "sd 6:0:0:1: Power-on or device reset occurred",
        "sd 6:0:0:1: [sda] 251658240 512-byte logical blocks: (129 GB/120 GiB)",
        "sd 6:0:0:1: [sda] Attached SCSI disk",
    )
    there = {"transport": "scsi", "scsi_address": "6:0:0:1", "scsi_state": "running"}
    node.put("Disks", disks={"sda": disk("sda", **there, size_bytes=128_849_018_880)})
    node.wait(1800, 60)
    node.log("sd 6:0:0:1: [sda] Synchronizing SCSI cache")
    node.put("Disks", disks={"sda": None})
    node.wait(2 * HOUR, 60)


@healthy(node=boot_server)
def builds_start_thousands_of_programs(node: Story) -> None:
    """A server of builds is busy for minutes again and again, and a limit stops one of them."""
    for number in range(8):
        node.put("Cpu", usage_percent=93.0, used_cores=29.8, load1=41.0)
        node.wait(900, 60)
        node.put("Cpu", usage_percent=4.0, used_cores=1.2, load1=6.0)
        if number == 3:
            node.log(
                "cgroup: fork rejected by pids controller in /system.slice/build-agent.service"
            )
        node.wait(600, 60)


CASES = (
    array_is_checked_on_a_sunday,
    store_moves_its_objects_to_a_new_neighbour,
    chemistry_fills_a_worker,
    report_of_a_pod_is_too_large_once,
    three_corrected_errors_between_two_moons,
    adapter_has_a_corrected_error_each_watch,
    log_is_full_of_refused_packets,
    disk_gets_warm_while_a_dataset_is_copied,
    counters_tell_of_the_day_of_assembly,
    switches_mark_packets_in_a_shuffle,
    guest_runs_a_job_at_midnight_only,
    restore_turns_memory_into_cache,
    second_port_of_a_node_waits_for_its_cable,
    editor_of_a_user_crashes_now_and_then,
    image_is_attached_and_detached,
    builds_start_thousands_of_programs,
)
