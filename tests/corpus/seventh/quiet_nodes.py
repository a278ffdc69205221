"""Nodes around the cards that look ill and are well."""

from tests.corpus.labels import healthy
from tests.corpus.parts import GIB, filesystem, nic
from tests.corpus.seventh.nodes import altra, disk_shelf, epyc, guest, hgx, mi300s, pro_6000s
from tests.corpus.story import Story

ROW = "mc#0csrow#3channel#1"
KILLED = "total-vm:1048576kB, anon-rss:524288kB, file-rss:0kB, shmem-rss:0kB, UID:1000"


@healthy(node=epyc)
def module_of_an_epyc_corrects_twice_a_day(node: Story) -> None:
    """Two corrected errors of one row of a module within a day, in the words of AMD."""
    for count in (1, 2):
        node.log(
            "mce: [Hardware Error]: Machine check events logged",
            "[Hardware Error]: Corrected error, no action required.",
            "[Hardware Error]: CPU:2 (19:1:1) MC17_STATUS[-|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: "
            "0x9c2040000000011b",
            "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0, DRAM ECC error.",
            f"EDAC MC0: 1 CE on {ROW} (csrow:3 channel:1 page:0x117fcc offset:0xb40 grain:64 "
            "syndrome:0xc00)",
        )
        node.put("MemoryErrors", "controllers", "mc0", corrected_errors=count)
        node.put("MemoryErrors", "controllers", "mc0", "dimms", "31", corrected_errors=count)
        node.wait(12 * 3600, 1800)


@healthy(node=altra)
def firmware_of_an_altra_corrects_one_word(node: Story) -> None:
    """One corrected record of the firmware about memory, and one about the bus."""
    node.wait(60)
    node.log(
        "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1\n"
        "{1}[Hardware Error]: event severity: corrected\n"
        "{1}[Hardware Error]:  Error 0, type: corrected\n"
        "{1}[Hardware Error]:   section_type: memory error\n"
        "{1}[Hardware Error]:   node:0 card:1 module:0 rank:0 bank:513 row:4887 column:1032",
        "EDAC MC0: 1 CE single-symbol chipkill ECC on unknown memory (node:0 card:1 module:0 "
        "rank:0 bank:513 row:4887 column:1032 page:0x8a5f45 offset:0x20 grain:1 syndrome:0x0)",
    )
    node.wait(7200, 240)


@healthy(node=pro_6000s)
def adapter_corrects_a_packet_now_and_then(node: Story) -> None:
    """One corrected error of a network card each half hour, for six hours."""
    for count in range(1, 13):
        node.log(
            "pcieport 0000:5b:00.0: AER: Correctable error message received from 0000:5c:00.0\n"
            "mlx5_core 0000:5c:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, "
            "(Transmitter ID)\n"
            "mlx5_core 0000:5c:00.0:   device [15b3:1021] error status/mask=00001000/0000e000\n"
            "mlx5_core 0000:5c:00.0:    [12] Timeout               "
        )
        node.put("Pcie", "devices", "5c", errors_by_severity={"correctable": count})
        node.wait(1800, 120)


@healthy(never=("disk_offline", "disk_io_errors"), node=disk_shelf)
def spare_disk_is_taken_out_by_hand(node: Story) -> None:
    """An unmounted disk is deleted from the kernel and pulled; another is put in its place."""
    node.wait(300, 60)
    node.log(
        "sd 7:0:7:0: [sdh] Synchronizing SCSI cache",
        "mpt3sas_cm0: removing handle(0x0012), sas_addr(0x5000c500a1b2c3d5)",
        "mpt3sas_cm0: enclosure logical id(0x5b8ca3a0f0c1d2e0), slot(7)",
    )
    gone = node.take_away("Disks", "disks", "sdh")
    node.wait(900, 60)
    node.log(
        "scsi 7:0:8:0: Direct-Access     SEAGATE  ST16000NM004J    E004 PQ: 0 ANSI: 7",
        "scsi 7:0:8:0: Power-on or device reset occurred",
        "sd 7:0:8:0: [sdi] 31251759104 512-byte logical blocks: (16.0 TB/14.6 TiB)",
        "sd 7:0:8:0: [sdi] Attached SCSI disk",
    )
    gone |= {"device": "sdi", "scsi_address": "7:0:8:0"}
    node.put("Disks", "disks", sdi=gone)
    node.wait(1800, 60)


@healthy("disk_slow", never=("md_array_degraded",), node=disk_shelf)
def mirror_is_checked_on_the_first_sunday(node: Story) -> None:
    """The monthly check of the mirror runs for three hours at full speed beside a scrub of ZFS."""
    node.wait(60)
    node.log("md: data-check of RAID array md127")
    node.rate(1.0, "Disks", "disks", "sdy", "io_time_seconds")
    node.rate(300.0, "Disks", "disks", "sdy", "reads_completed")
    node.rate(2.0, "Disks", "disks", "sdy", "read_time_seconds")
    for share in (0.1, 0.4, 0.7, 0.95):
        node.put("MdArrays", "arrays", "md127", resync_ratio=share)
        node.pressure("io", "some", 12.0)
        node.wait(2700, 120)
    node.log("md: md127: data-check done.")
    node.put("MdArrays", "arrays", "md127", resync_ratio=None)
    node.pressure("io", "some", 0.0)
    node.wait(900, 60)


@healthy("pod_oom_kill", "process_oom_kill", "pod_oom_loop", never=("node_oom_kill",), node=mi300s)
def test_of_a_build_meets_its_limit(node: Story) -> None:
    """A container of a build is killed at its limit, once, beside a training of eight cards."""
    group = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3b1f.slice"
    node.wait(60)
    node.log(
        "cc1plus invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=936",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-44.scope,"
        f"mems_allowed=0-1,oom_memcg={group},task_memcg={group}/cri-containerd-44.scope,"
        "task=cc1plus,pid=201177,uid=1000",
        f"Memory cgroup out of memory: Killed process 201177 (cc1plus) {KILLED} pgtables:2120kB "
        "oom_score_adj:936",
    )
    node.put("Paging", oom_kills=1)
    node.wait(3600, 120)


@healthy("process_crashed", node=hgx)
def data_loader_of_a_user_crashes(node: Story) -> None:
    """A helper of a job divides by zero, others fault in a library: the bugs of their authors."""
    node.wait(60)
    node.log(
        "traps: pt_data_worker[90312] trap divide error ip:7f2a3c0d1f12 sp:7ffd0c1e8a10 error:0 in "
        "_decode.cpython-311-x86_64-linux-gnu.so[7f2a3c000000+41000]",
        "julia[90440]: segfault at 7f0010 ip 00007f11c00d1234 sp 00007ffd0c1e8a10 error 4 in "
        "libopenblas64_.so[7f11c0000000+1f00000] likely on CPU 70 (core 14, socket 1)",
        "R[90512]: segfault at 8 ip 0000557d0c0de010 sp 00007ffc1e0a4ff8 error 6 in "
        "libR.so[557d0c000000+300000] likely on CPU 2 (core 2, socket 0)",
    )
    node.wait(1800, 60)


@healthy("rcu_stall", node=guest)
def guest_is_moved_to_another_host(node: Story) -> None:
    """A guest stands still for four seconds while it is moved; a virtual processor complains."""
    node.wait(300, 60)
    node.wait(95, 95)
    node.log(
        "rcu: INFO: rcu_preempt self-detected stall on CPU",
        "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 4012370104 wd_nsec: "
        "4012370044",
    )
    node.put("Clock", offset_seconds=0.03, error_seconds=0.2)
    node.wait(60, 15)
    node.put("Clock", offset_seconds=2e-4, error_seconds=0.02)
    node.wait(3600, 60)


@healthy("tcp_listen_overflow", "cpu_saturated", "tcp_retransmit_burst", node=guest)
def shop_has_its_sale(node: Story) -> None:
    """Ten times the usual traffic for half an hour: cookies instead of a queue, a busy guest."""
    node.wait(120)
    node.log("TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:443. Sending cookies.")
    node.rate(14_000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(12_000.0, "NetworkStack", "tcp_segments_sent")
    node.rate(9.0, "NetworkStack", "tcp_retransmitted_segments")
    node.rate(25.0, "NetworkStack", "tcp_listen_drops")
    node.put("NetworkStack", conntrack_entries=140_000)
    node.put("Cpu", usage_percent=93.0, load1=150.0)
    node.pressure("cpu", "some", 35.0)
    node.wait(1800, 30)
    node.rate(0.0, "NetworkStack", "tcp_listen_drops")
    node.put("Cpu", usage_percent=24.0, load1=20.0)
    node.pressure("cpu", "some", 1.0)
    node.wait(1800, 60)


@healthy(never=("kernel_panic", "kernel_oops", "nvme_controller_failed", "gpu_lost"), node=hgx)
def tenants_write_what_they_like(node: Story) -> None:
    """Firewall logs, audit lines, USB names and services with words of broken hardware."""
    node.wait(60)
    node.log(
        "IPTABLES-DROP: IN=eth0 OUT= SRC=203.0.113.9 DST=192.0.2.4 LEN=52 nvme nvme0: controller "
        "is down; will reset: CSTS=0xffffffff",
        'audit: type=1400 audit(1763803000.001:120): apparmor="DENIED" operation="open" '
        'name="/tmp/Kernel panic - not syncing: Fatal machine check" comm="EDAC MC0: 1 UE on"',
        "systemd[1]: Starting amdgpu 0000:66:00.0: amdgpu: device lost from bus!...",
        "usb 1-9: Manufacturer: XFS (nvme1n1): Filesystem has been shut down due to log error",
        "fuse: mounted by Out of memory: Killed process 1 (init)",
        "IPv6: ADDRCONF(NETDEV_CHANGE): BUG: link becomes ready",
        "gpu-burn[51200]: NVRM: Xid (PCI:0000:66:00): 48, pid=1, name=x, DBE",
    )
    node.wait(3600, 120)


@healthy(never=("net_link_down", "net_link_flap"), node=pro_6000s)
def containers_of_tests_come_and_go(node: Story) -> None:
    """Twenty-five containers with interfaces of their own within ten minutes."""
    for number in range(25):
        name = f"veth{0xA10 + number:07x}"
        virtual = {"driver": "veth", "pci_bus_id": None, "numa_node": None}
        node.put("Network", "interfaces", **{name: nic(name, **virtual)})
        node.log(
            f"docker0: port {number}({name}) entered blocking state",
            f"{name}: entered promiscuous mode",
            f"docker0: port {number}({name}) entered forwarding state",
        )
        node.wait(20, 10)
        node.put("Network", "interfaces", name, up=False, operstate="down", carrier_changes=4)
        node.log(f"docker0: port {number}({name}) entered disabled state")
        node.now()
        node.put("Network", "interfaces", **{name: None})
    node.wait(600, 60)


@healthy(never=("net_link_down", "ib_port_down"), node=epyc)
def unused_cage_is_cleaned_out(node: Story) -> None:
    """A forgotten cable is pulled out of a cage that never had a link."""
    cage = nic("eth3", pci_bus_id="0000:5c:00.1", up=False, operstate="down", carrier_changes=1)
    cage |= {"receive_packets": 0, "transmit_packets": 0, "speed_bytes_per_second": None}
    node.put("Network", "interfaces", eth3={**cage, "link_was_up": False, "peers_up": 1})
    node.wait(600, 60)
    node.log("mlx5_core 0000:5c:00.1: Port module event: module 1, Cable unplugged")
    node.wait(3600, 120)


@healthy("nvme_timeout", node=epyc)
def firmware_of_a_disk_is_updated(node: Story) -> None:
    """An operator activates new firmware of an unmounted disk: its controller is reset."""
    node.put("Filesystems", "filesystems", **{"/data": None})
    node.wait(300, 60)
    node.log(
        "nvme nvme1: Firmware is activated after next Controller Level Reset",
        "nvme nvme1: resetting controller",
        "nvme nvme1: Shutdown timeout set to 10 seconds",
        "nvme nvme1: 63/0/0 default/read/poll queues",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.wait(8, 4)
    node.put("NvmeControllers", "controllers", "nvme1", state="live")
    node.wait(1800, 60)


@healthy("cpu_saturated", node=epyc)
def compile_farm_is_full(node: Story) -> None:
    """All processors work, the load is three times their number, memory and disks are fine."""
    node.put("Cpu", usage_percent=100.0, used_cores=128.0, load1=390.0, load5=370.0, load15=360.0)
    node.put("Cpu", processes_running=380)
    node.pressure("cpu", "some", 74.0)
    node.wait(5400, 60)


@healthy(node=epyc)
def database_has_all_of_its_memory(node: Story) -> None:
    """Most of the memory belongs to a database, with huge pages; nobody waits."""
    node.put("Memory", available_bytes=170 * GIB, free_bytes=3 * GIB)
    node.put("Memory", hugepages_total_bytes=640 * GIB, hugepages_free_bytes=2 * GIB)
    node.wait(3600, 120)


@healthy(node=disk_shelf)
def volumes_of_many_kinds_are_mounted(node: Story) -> None:
    """An image that is full, a boot partition at eight tenths, and a snapshot that is read-only."""
    full = {"readonly": True, "available_bytes": 0, "free_bytes": 0, "size_bytes": 10**9}
    others = {
        "/media/iso": filesystem("/dev/loop4", "/media/iso", "iso9660", **full, files_free=0),
        "/boot/efi": filesystem("/dev/sdz1", "/boot/efi", "vfat", size_bytes=10**9, files=None)
        | {"free_bytes": 2 * 10**8, "available_bytes": 2 * 10**8, "files_free": None},
        "/tank/old": filesystem("tank/old@noon", "/tank/old", "zfs", readonly=True, files=None)
        | {"files_free": None},
    }
    node.put("Filesystems", "filesystems", **others)
    node.wait(3600, 120)


@healthy(node=disk_shelf)
def scsi_bus_settles_after_a_new_shelf(node: Story) -> None:
    """A second shelf is cabled: disks say that they were reset, the adapter logs its codes."""
    node.wait(300, 60)
    for target in range(8):
        node.log(
            f"sd 7:0:{target}:0: Power-on or device reset occurred",
            "mpt3sas_cm0: log_info(0x30030101): originator(IOP), code(0x03), sub_code(0x0101)",
        )
    node.log(
        "mpt3sas_cm0: log_info(0x31120302): originator(PL), code(0x12), sub_code(0x0302)",
        "ses 7:0:20:0: Attached Enclosure device",
    )
    node.wait(3600, 120)


@healthy(never=("nfs_server_stalled", "filesystem_stuck"), node=pro_6000s)
def filer_hands_over_within_seconds(node: Story) -> None:
    """A planned takeover of a file server: twelve seconds without an answer, twice."""
    node.wait(60)
    for _ in range(2):
        node.log("nfs: server 192.0.2.10 not responding, still trying")
        node.wait(12, 4)
        node.log("nfs: server 192.0.2.10 OK", "nfs: server 192.0.2.10 OK")
        node.wait(1800, 60)


CASES = (
    module_of_an_epyc_corrects_twice_a_day,
    firmware_of_an_altra_corrects_one_word,
    adapter_corrects_a_packet_now_and_then,
    spare_disk_is_taken_out_by_hand,
    mirror_is_checked_on_the_first_sunday,
    test_of_a_build_meets_its_limit,
    data_loader_of_a_user_crashes,
    guest_is_moved_to_another_host,
    shop_has_its_sale,
    tenants_write_what_they_like,
    containers_of_tests_come_and_go,
    unused_cage_is_cleaned_out,
    firmware_of_a_disk_is_updated,
    compile_farm_is_full,
    database_has_all_of_its_memory,
    volumes_of_many_kinds_are_mounted,
    scsi_bus_settles_after_a_new_shelf,
    filer_hands_over_within_seconds,
)
