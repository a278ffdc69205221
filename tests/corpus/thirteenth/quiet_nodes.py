"""Quiet nodes: heavy disks and networks, harmless errors, logs that quote frightening words."""

from tests.corpus.eighth.nodes import cloud_volumes
from tests.corpus.eleventh.nodes import HOUR
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import object_store, roce_box
from tests.corpus.parts import DIMM, GIB
from tests.corpus.seventh.nodes import guest
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    batch_worker,
    eight_a100,
    mirror_server,
    new_h100,
    osd_server,
    pod_worker,
    raid_server,
    some_b200,
    some_h200,
)

BUSY = ("disk_slow", "cpu_saturated", "memory_swapping", "softnet_drops")
PODS = ("pod_oom_kill", "process_oom_kill", "pod_oom_loop")
PATH = (
    "/kubepods.slice/kubepods-burstable.slice/"
    "kubepods-burstable-pod9d21c7e4_0b6f_4c1a_8a57_e0f1b2c3d4e5.slice"
)


@healthy(*BUSY, node=mirror_server)
def mirror_is_compared_once_a_month(node: Story) -> None:
    """The check of a mirror reads both disks for an hour and finds no difference."""
    node.wait(900, 60)
    node.log("md: data-check of RAID array md0")
    for part in (0.0, 0.35, 0.7):
        node.put("MdArrays", "arrays", "md0", resync_ratio=part)
        for name in ("nvme0n1", "nvme1n1"):
            node.rate(900e6, "Disks", "disks", name, "read_bytes")
            node.rate(1800.0, "Disks", "disks", name, "reads_completed")
            node.rate(1.1, "Disks", "disks", name, "read_time_seconds")
        node.wait(1200, 60)
    node.log("md: md0: data-check done.")
    node.put("MdArrays", "arrays", "md0", resync_ratio=None)
    for name in ("nvme0n1", "nvme1n1"):
        for counter in ("read_bytes", "reads_completed", "read_time_seconds"):
            node.rate(0.0, "Disks", "disks", name, counter)
    node.wait(HOUR, 120)


@healthy("tcp_retransmit_burst", *BUSY, node=osd_server)
def store_fills_up_a_new_disk_again(node: Story) -> None:
    """A store moves objects to one of its disks for hours, which is busy but quick enough."""
    node.rate(150e6, "Disks", "disks", "sdc", "written_bytes")
    node.rate(310.0, "Disks", "disks", "sdc", "writes_completed")
    node.rate(7.0, "Disks", "disks", "sdc", "write_time_seconds")
    node.put("Disks", "disks", "sdc", io_in_flight=6)
    node.pressure("io", "some", 9.0)
    node.pressure("io", "full", 2.0)
    node.wait(6 * HOUR, 180)


@healthy(
    *PODS,
    expect=("pod_oom_kill@*|process_oom_kill@*|pod_oom_loop@*",),
    never=("node_oom_kill", "memory_pressure"),
    node=pod_worker,
)
def parser_of_a_pod_is_killed_twice_at_its_limit(node: Story) -> None:
    """A parser in a pod meets a document that is too large, twice within a morning."""
    scope = "cri-containerd-7b20c9aa41.scope"
    for number in range(2):
        node.wait(5400, 180)
        pid = 80_412 + 7700 * number
        node.log(
            "java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984",
            f"memory: usage 8388608kB, limit 8388608kB, failcnt {96 + 40 * number}",
            f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={scope},"
            f"mems_allowed=0-1,oom_memcg={PATH}/{scope},task_memcg={PATH}/{scope},task=java,"
            f"pid={pid},uid=185",
            f"Memory cgroup out of memory: Killed process {pid} (java) total-vm:19730112kB, "
            "anon-rss:8341004kB, file-rss:22108kB, shmem-rss:0kB, UID:185 pgtables:17220kB "
            "oom_score_adj:984",
        )
        node.put("Paging", oom_kills=1 + number)
    node.wait(2 * HOUR, 180)


@healthy(node=new_h100)
def module_of_a_trainer_corrects_one_bit_a_watch(node: Story) -> None:
    """A module of a node has one corrected error every three hours."""
    place = ("MemoryErrors", "controllers", "mc1")
    for number in (1, 2, 3):
        node.wait(3 * HOUR, 300)
        node.log(
            f"EDAC MC1: 1 CE memory scrubbing error on {DIMM} (channel:0 slot:0 "
            f"page:0x10c7f{number} offset:0x340 grain:32 syndrome:0x0 -  err_code:0x0008:0x00c0)"
        )
        node.put(*place, corrected_errors=number)
        node.put(*place, "dimms", "a", corrected_errors=number)
    node.wait(HOUR, 300)


@healthy(node=eight_a100)
def adapter_reports_a_lonely_corrected_error(node: Story) -> None:
    """An adapter of the fabric has two corrected errors of its link in a whole day."""
    for number in range(2):
        node.wait(4 * HOUR, 300)
        node.log(
            "pcieport 0000:17:01.0: AER: Corrected error message received from 0000:12:00.0",
            "mlx5_core 0000:12:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
            "(Receiver ID)",
            "mlx5_core 0000:12:00.0:   device [15b3:101b] error status/mask=00000001/0000a000",
            "mlx5_core 0000:12:00.0:    [ 0] RxErr                  (First)",
        )
        node.put("Pcie", "devices", "rail 12", errors_by_severity={"correctable": number + 1})
    node.wait(HOUR, 300)


@healthy("tcp_listen_overflow", node=pod_worker)
def words_of_users_look_like_faults(node: Story) -> None:
    """A firewall and audits fill the log of a worker with names that sound like broken parts."""
    for number in range(30):
        node.log(
            f"[UFW BLOCK] IN=bond0 OUT= MAC=3c:ec:ef:77:10:02 SRC=203.0.113.{number + 9} "
            f"DST=192.0.2.61 LEN=44 TTL=238 ID={20_110 + number} PROTO=TCP SPT=51877 DPT=5900 SYN",
            f'audit: type=1400 audit(1752.{number}:{40 + number}): apparmor="DENIED" '
            f'operation="open" class="file" profile="cri-containerd.apparmor.d" '
            f'name="/proc/kernel-panic-xid79" pid={4100 + number} comm="gpu-lost-check" '
            'requested_mask="r" denied_mask="r" fsuid=1000 ouid=0',
        )
        node.wait(600, 200)


@healthy(node=some_h200)
def disk_is_warm_below_its_warning(node: Story) -> None:
    """A disk climbs to 68 degrees while shards are written, nine below its first limit."""
    for heat in (44.0, 57.0, 66.0, 68.0, 59.0, 46.0):
        node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=heat)
        node.wait(HOUR, 180)


@healthy(node=some_b200)
def ports_remember_the_week_of_cabling(node: Story) -> None:
    """Ports of a young node have counters from the week of its cabling; none goes up."""
    node.put("Infiniband", "ports", "mlx5_1", errors={"symbol_error": 31_008, "link_downed": 14})
    node.put("Infiniband", "ports", "mlx5_6", errors={"link_error_recovery": 7, "link_downed": 12})
    node.put("Pcie", "devices", "0f", errors_by_severity={"correctable": 44})
    node.put("Network", "interfaces", "eth0", receive_errors=12, receive_drops=3_190)
    node.wait(6 * HOUR, 180)


@healthy(node=roce_box)
def marks_of_congestion_slow_an_exchange(node: Story) -> None:
    """Marks of congestion slow eight ports down in each exchange of a job; nothing is resent."""
    for _ in range(3):
        for number in range(8):
            place = ("Infiniband", "ports", f"mlx5_{number}", "events")
            node.rate(14_000.0, *place, "np_cnp_sent")
            node.rate(13_200.0, *place, "rp_cnp_handled")
        node.wait(HOUR, 120)
        for number in range(8):
            place = ("Infiniband", "ports", f"mlx5_{number}", "events")
            node.rate(0.0, *place, "np_cnp_sent")
            node.rate(0.0, *place, "rp_cnp_handled")
        node.wait(1200, 120)


@healthy(*BUSY, node=batch_worker)
def fluids_flow_on_all_cores(node: Story) -> None:
    """A code of fluids uses every core of a worker for nine hours."""
    node.put("Cpu", usage_percent=99.4, used_cores=127.2, load1=128.3, load5=128.2, load15=128.1)
    node.put("Cpu", processes_running=129)
    node.put("Memory", available_bytes=270 * GIB, free_bytes=21 * GIB)
    node.wait(9 * HOUR, 300)


@healthy(*BUSY, node=raid_server)
def homes_are_saved_in_the_night(node: Story) -> None:
    """A backup reads all homes for four hours, and the cache takes what memory is free."""
    node.put("Memory", free_bytes=5 * GIB, available_bytes=930 * GIB, cached_bytes=940 * GIB)
    node.rate(420e6, "Disks", "disks", "sdb", "read_bytes")
    node.rate(1100.0, "Disks", "disks", "sdb", "reads_completed")
    node.rate(9.0, "Disks", "disks", "sdb", "read_time_seconds")
    node.pressure("io", "some", 11.0)
    node.pressure("io", "full", 6.0)
    node.wait(4 * HOUR, 150)


@healthy("process_crashed", node=guest)
def program_of_a_site_crashes_on_bad_pictures(node: Story) -> None:
    """A program that makes small pictures crashes five times in a day on files that are damaged."""
    for number in range(5):
        node.wait(5400, 225)
        node.log(
            f"convert[{20_117 + 311 * number}]: segfault at 0 ip 00007f0a5c21{number}e40 sp "
            "00007ffd92b1c0a0 error 4 in libMagickCore-6.Q16.so.6.0.0[7f0a5c100000+1f4000] likely "
            "on CPU 3 (core 3, socket 0)"
        )
    node.wait(HOUR, 200)


@healthy("disk_slow", node=cloud_volumes)
def volume_of_a_guest_is_saved_as_a_snapshot(node: Story) -> None:
    """A guest reads more from a volume for an hour after a snapshot; all else is as always."""
    node.wait(1800, 120)
    node.rate(120e6, "Disks", "disks", "nvme1n1", "read_bytes")
    node.rate(900.0, "Disks", "disks", "nvme1n1", "reads_completed")
    node.rate(3.0, "Disks", "disks", "nvme1n1", "read_time_seconds")
    node.wait(HOUR, 120)
    for counter in ("read_bytes", "reads_completed", "read_time_seconds"):
        node.rate(0.0, "Disks", "disks", "nvme1n1", counter)
    node.wait(3 * HOUR, 180)


@healthy(*BUSY, node=object_store)
def store_reads_everything_to_compare_sums(node: Story) -> None:
    """A store compares the sums of all its objects on a Sunday, and all of them are right."""
    for letter in "abcdefghijkl":
        node.rate(95e6, "Disks", "disks", f"sd{letter}", "read_bytes")
        node.rate(190.0, "Disks", "disks", f"sd{letter}", "reads_completed")
        node.rate(2.1, "Disks", "disks", f"sd{letter}", "read_time_seconds")
    node.wait(7 * HOUR, 240)


CASES = (
    mirror_is_compared_once_a_month,
    store_fills_up_a_new_disk_again,
    parser_of_a_pod_is_killed_twice_at_its_limit,
    module_of_a_trainer_corrects_one_bit_a_watch,
    adapter_reports_a_lonely_corrected_error,
    words_of_users_look_like_faults,
    disk_is_warm_below_its_warning,
    ports_remember_the_week_of_cabling,
    marks_of_congestion_slow_an_exchange,
    fluids_flow_on_all_cores,
    homes_are_saved_in_the_night,
    program_of_a_site_crashes_on_bad_pictures,
    volume_of_a_guest_is_saved_as_a_snapshot,
    store_reads_everything_to_compare_sums,
)
