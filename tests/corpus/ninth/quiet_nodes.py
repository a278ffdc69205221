"""Nodes that are well: heavy but healthy loads, harmless counts, and hard words in the log."""

from tests.corpus.eighth.nodes import cloud_volumes, kubelet_node
from tests.corpus.fifth.nodes import a100s, storage_server
from tests.corpus.labels import healthy
from tests.corpus.machines import processors_only
from tests.corpus.ninth.nodes import (
    HOUR,
    delta_a100s,
    hpc_worker,
    laptop,
    object_store,
    roce_box,
    works,
)
from tests.corpus.parts import GIB, disk, nic, pcie_device
from tests.corpus.seventh.nodes import altra, disk_shelf, epyc, guest, hgx
from tests.corpus.sixth.nodes import h200s, rack_server, raid_server
from tests.corpus.story import Story


@healthy(node=hpc_worker)
def filer_pauses_for_a_moment(node: Story) -> None:
    """A server of NFS says nothing for some seconds and is OK again, twice in a day."""
    for _ in range(2):
        node.wait(2 * HOUR, 120)
        node.log("nfs: server 192.0.2.10 not responding, still trying")
        node.wait(5, 5)
        node.log("nfs: server 192.0.2.10 OK")
    node.wait(2 * HOUR, 120)


@healthy(never=("gpu_lost", "gpu_ecc_uncorrected", "kernel_panic", "machine_check"), node=hgx)
def drill_of_alerts_quotes_error_words(node: Story) -> None:
    """Somebody writes famous lines to the log by a program, with its name before them."""
    node.wait(600, 60)
    node.log(
        "alert-drill[7712]: expected: 'NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the "
        "bus.'",
        "alert-drill[7712]: expected: 'EDAC MC0: 1 UE memory read error'",
        "runbook-bot[811]: Kernel panic - not syncing: see chapter 4",
        "python3[9911]: ValueError: uncorrectable ECC error encountered (mocked)",
        "sshd[4410]: error: kex_exchange_identification: Connection closed by remote host",
        'kubelet[2101]: E1121 remote_runtime.go:734] "Failed to pull image" err="rpc error"',
        'audit: type=1400 audit(1732190000.100:551): apparmor="DENIED" operation="ptrace" '
        'profile="docker-default" comm="py-spy"',
    )
    node.wait(HOUR, 120)


@healthy(node=raid_server)
def array_is_checked_on_the_first_sunday(node: Story) -> None:
    """The monthly check of a RAID 6 reads all disks for hours and finds nothing."""
    node.wait(300, 60)
    node.log("md: data-check of RAID array md5")
    for letter in "abcdef":
        node.rate(180.0, "Disks", "disks", f"sd{letter}", "reads_completed")
        node.rate(2.2, "Disks", "disks", f"sd{letter}", "read_time_seconds")
        node.rate(0.9, "Disks", "disks", f"sd{letter}", "io_time_seconds")
    for share in (0.1, 0.5, 0.9):
        node.put("MdArrays", "arrays", "md5", resync_ratio=share)
        node.wait(5400, 240)
    node.log("md: md5: data-check done.")
    node.put("MdArrays", "arrays", "md5", resync_ratio=None)
    node.wait(HOUR, 120)


@healthy(node=processors_only)
def backup_reads_as_fast_as_its_disk(node: Story) -> None:
    """A disk is busy all the time for two hours, each read takes half a millisecond."""
    place = ("Disks", "disks", "nvme1n1")
    node.wait(300, 60)
    node.rate(14_000.0, *place, "reads_completed")
    node.rate(7.0, *place, "read_time_seconds")
    node.rate(1.0, *place, "io_time_seconds")
    node.put(*place, io_in_flight=7)
    node.pressure("io", "some", 6.0)
    node.wait(2 * HOUR, 60)


@healthy("softnet_drops", node=object_store)
def rebalance_fills_both_ports(node: Story) -> None:
    """An object store moves data at full rate for three hours and drops one packet in a million."""
    for port in ("bond0", "enp65s0f0", "enp65s0f1"):
        for way in ("receive", "transmit"):
            node.rate(900_000.0, "Network", "interfaces", port, f"{way}_packets")
            node.rate(7e9, "Network", "interfaces", port, f"{way}_bytes")
        node.rate(0.9, "Network", "interfaces", port, "receive_drops")
    node.rate(700_000.0, "NetworkStack", "tcp_segments_sent")
    node.rate(60.0, "NetworkStack", "tcp_retransmitted_segments")
    for letter in "abcdefghijkl":
        node.rate(160.0, "Disks", "disks", f"sd{letter}", "writes_completed")
        node.rate(3.1, "Disks", "disks", f"sd{letter}", "write_time_seconds")
        node.rate(0.8, "Disks", "disks", f"sd{letter}", "io_time_seconds")
    node.put("Cpu", usage_percent=48.0, used_cores=30.0)
    node.wait(3 * HOUR, 60)


@healthy(never=("memory_corrected_rate",), node=epyc)
def module_corrects_three_errors_a_day(node: Story) -> None:
    """Three corrected errors of one row in nine hours, with all that the kernel prints of them."""
    rows = ("MemoryErrors", "controllers", "mc0", "dimms", "21")
    for count in (1, 2, 3):
        node.wait(3 * HOUR, 240)
        node.put(*rows, corrected_errors=count)
        node.put("MemoryErrors", "controllers", "mc0", corrected_errors=count)
        node.log(
            "mce: [Hardware Error]: Machine check events logged",
            "[Hardware Error]: Corrected error, no action required.",
            "[Hardware Error]: CPU:2 (19:1:1) "
            "MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000400011b",
            "EDAC MC0: 1 CE on mc#0csrow#2channel#1 (csrow:2 channel:1 page:0x1f2a880 offset:0x400 "
            "grain:64 syndrome:0x80)",
        )
    node.wait(HOUR, 240)


@healthy(never=("pcie_aer_corrected_rate", "gpu_pcie_replay_rate"), node=h200s)
def links_of_the_bus_correct_a_few_errors(node: Story) -> None:
    """One corrected error of a disk's link each half an hour, one replay of a card each hour."""
    for number in range(1, 9):
        node.wait(1800, 120)
        node.put("Pcie", "devices", "5e", errors_by_severity={"correctable": number})
        node.gpu("83", pcie_replays_total=4 + number // 2)
        node.log(
            "pcieport 0000:5b:00.0: AER: Corrected error message received from 0000:5e:00.0\n"
            "nvme 0000:5e:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
            "(Transmitter ID)\n"
            "nvme 0000:5e:00.0:   device [144d:a80a] error status/mask=00001000/0000e000\n"
            "nvme 0000:5e:00.0:    [12] Timeout               "
        )


@healthy("cpu_saturated", node=guest)
def compilers_use_every_core(node: Story) -> None:
    """A guest builds for two hours: every core is busy and three times as many tasks wait."""
    node.put("Cpu", usage_percent=99.0, used_cores=127.0, load1=390.0, load5=380.0, load15=310.0)
    node.put("Cpu", processes_running=384)
    node.pressure("cpu", "some", 88.0)
    node.wait(2 * HOUR, 120)


@healthy("pod_oom_kill", "process_oom_kill", "pod_oom_loop", "process_crashed", node=kubelet_node)
def batch_pods_of_a_tenant_exceed_their_limit(node: Story) -> None:
    """A tenant's pods are killed by their own cgroup once an hour; the node has memory enough."""
    for turn in range(4):
        node.wait(HOUR, 120)
        pid = 71_000 + turn
        pod = (
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{turn}c0ffee0_2222.slice"
            f"/cri-containerd-{turn}ab.scope"
        )
        node.log(
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),"
            f"cpuset=cri-containerd-{turn}ab.scope,mems_allowed=0,oom_memcg={pod},task_memcg={pod},"
            f"task=spark,pid={pid},uid=1000",
            f"Memory cgroup out of memory: Killed process {pid} (spark) total-vm:9100224kB, "
            "anon-rss:8301004kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:17220kB "
            "oom_score_adj:984",
        )
        node.put("Paging", oom_kills=turn + 1)
    node.wait(HOUR, 120)


@healthy(never=("disk_offline", "disk_io_errors", "filesystem_shutdown"), node=laptop)
def stick_leaves_a_laptop_too_early(node: Story) -> None:
    """A stick of a laptop is taken out too early: writes to it fail, and its device is gone."""
    stick = disk("sda", transport="usb", removable=True, size_bytes=31_000_000_000)
    node.put("Disks", "disks", sda={**stick, "scsi_address": "0:0:0:0"})
    node.wait(300, 60)
    node.log(
        "usb 2-1: USB disconnect, device number 4",
        "I/O error, dev sda, sector 81920 op 0x1:(WRITE) flags 0x100000 phys_seg 30 prio class 0",
        "Buffer I/O error on dev sda1, logical block 10240, lost async page write",
        "FAT-fs (sda1): unable to read inode block for updating (i_pos 4112)",
    )
    node.put("Disks", "disks", sda=None)
    node.wait(HOUR, 120)


@healthy(node=cloud_volumes)
def firewall_logs_each_packet_it_drops(node: Story) -> None:
    """A rule of a firewall writes twenty lines a minute about scans of strangers."""
    for minute in range(60):
        node.log(
            *(
                "[UFW BLOCK] IN=ens5 OUT= MAC=02:00:5e:00:00:01 "
                f"SRC=198.51.100.{minute % 250} DST=192.0.2.4 LEN=40 TTL=240 ID={port} PROTO=TCP "
                f"SPT={40_000 + port} DPT={port} WINDOW=1024 RES=0x00 SYN URGP=0"
                for port in range(20, 40)
            )
        )
        node.wait(60)


@healthy(node=a100s)
def root_is_nine_tenths_full_for_years(node: Story) -> None:
    """The root is full to 91 percent, two thirds of its inodes are used, and that never changes."""
    node.put("Filesystems", "filesystems", "/", available_bytes=9 * 10**10, free_bytes=10**11)
    node.put("Filesystems", "filesystems", "/", files_free=3 * 10**6)
    node.wait(4 * HOUR, 240)


@healthy("net_interface_leak", never=("net_link_flap", "net_link_down"), node=kubelet_node)
def pods_come_and_go_with_their_interfaces(node: Story) -> None:
    """A job of a scheduler makes a pod a minute: interfaces appear, are bridged, and vanish."""
    for number in range(60):
        name = f"veth{number:04x}"
        node.put(
            "Network",
            "interfaces",
            **{name: nic(name, driver="veth", pci_bus_id=None, mtu=1450, carrier_changes=1)},
        )
        node.log(
            f"cni0: port 7({name}) entered blocking state",
            f"cni0: port 7({name}) entered forwarding state",
            f"IPv6: ADDRCONF(NETDEV_CHANGE): {name}: link becomes ready",
        )
        node.wait(45, 15)
        node.log(
            f"cni0: port 7({name}) entered disabled state",
            f"{name} (unregistering): left promiscuous mode",
        )
        node.put("Network", "interfaces", **{name: None})
        node.wait(15)


@healthy(never=("net_link_down", "ib_port_down"), node=roce_box)
def cages_of_a_card_are_empty(node: Story) -> None:
    """Two ports of a management card have never had a cable, and nobody wants them to."""
    for number in (0, 1):
        name = f"eno{number}np{number}"
        empty = nic(name, driver="bnxt_en", pci_bus_id=f"0000:c4:00.{number}", up=False)
        empty |= {"operstate": "down", "carrier_changes": 1, "speed_bytes_per_second": None}
        empty |= {"receive_packets": 0, "transmit_packets": 0, "link_was_up": False}
        node.put("Network", "interfaces", **{name: {**empty, "admin_up": number == 0}})
    node.put("Pcie", "devices", c4=pcie_device("0000:c4:00.0", "network"))
    node.wait(3 * HOUR, 240)


@healthy("cpu_thermal_throttle", never=("board_too_hot",), node=storage_server)
def core_is_throttled_for_a_millisecond(node: Story) -> None:
    """One core was above its limit for a moment under a benchmark, once in two hours."""
    node.wait(HOUR, 120)
    node.put("CpuHealth", thermal_throttles={"core": 4})
    node.log(
        "CPU9: Core temperature above threshold, cpu clock throttled (total events = 4)",
        "CPU9: Core temperature/speed normal",
    )
    node.wait(2 * HOUR, 120)


@healthy(node=altra)
def clock_is_stepped_by_some_milliseconds(node: Story) -> None:
    """A new server of time: the clock is five milliseconds off and slewed within minutes."""
    for offset in (0.0, 0.005, 0.003, 0.001, 0.00002):
        node.put("Clock", offset_seconds=offset, error_seconds=0.006)
        node.wait(300, 60)
    node.wait(HOUR, 120)


@healthy(node=hpc_worker)
def files_of_the_cache_fill_the_memory(node: Story) -> None:
    """Almost nothing is free, since the kernel caches files; half of it can be had at any time."""
    node.put("Memory", free_bytes=3 * GIB, available_bytes=510 * GIB, cached_bytes=520 * GIB)
    node.rate(400_000_000.0, "Disks", "disks", "nvme1n1", "read_bytes")
    node.rate(3000.0, "Disks", "disks", "nvme1n1", "reads_completed")
    node.rate(1.2, "Disks", "disks", "nvme1n1", "read_time_seconds")
    node.wait(3 * HOUR, 240)


@healthy(node=disk_shelf)
def tapes_and_enclosures_ask_for_attention(node: Story) -> None:
    """An enclosure wants to be asked again after a reset, and a scrub of ZFS finds nothing."""
    node.wait(600, 60)
    node.log(
        "sd 7:0:3:0: Power-on or device reset occurred",
        "ses 7:0:8:0: Attached Enclosure device",
        "sd 7:0:5:0: Mode parameters changed",
        "mpt3sas_cm0: log_info(0x31110e05): originator(PL), code(0x11), sub_code(0x0e05)",
    )
    node.wait(2 * HOUR, 120)


@healthy(never=("rcu_stall", "cpu_lockup", "hung_task"), node=rack_server)
def statistics_of_the_kernel_are_printed_by_hand(node: Story) -> None:
    """An administrator asks for the tasks and the memory by SysRq while looking for a leak."""
    node.wait(600, 60)
    node.log(
        "sysrq: Show Memory",
        "Mem-Info:",
        "active_anon:1204 inactive_anon:411020 isolated_anon:0",
        "Node 0 Normal free:44512kB boost:0kB min:45056kB low:110592kB high:176128kB",
        "sysrq: Show backtrace of all active CPUs",
        "NMI backtrace for cpu 3",
        "CPU: 3 PID: 0 Comm: swapper/3 Not tainted 6.1.0-28-amd64",
    )
    node.wait(HOUR, 120)


@healthy(never=("ib_link_errors", "ib_port_down"), node=delta_a100s)
def fabric_counts_what_it_always_counts(node: Story) -> None:
    """A busy port waits for credits and has a symbol error an hour; a job of MPI runs on."""
    node.rate(2e9, "Infiniband", "ports", "mlx5_0", "receive_bytes")
    node.rate(2e9, "Infiniband", "ports", "mlx5_0", "transmit_bytes")
    node.rate(90_000.0, "Infiniband", "ports", "mlx5_0", "wait")
    node.rate(0.0003, "Infiniband", "ports", "mlx5_0", "errors", "symbol_error")
    works(node, watts=318.0, heat=54.0)
    node.wait(4 * HOUR, 240)


CASES = (
    filer_pauses_for_a_moment,
    drill_of_alerts_quotes_error_words,
    array_is_checked_on_the_first_sunday,
    backup_reads_as_fast_as_its_disk,
    rebalance_fills_both_ports,
    module_corrects_three_errors_a_day,
    links_of_the_bus_correct_a_few_errors,
    compilers_use_every_core,
    batch_pods_of_a_tenant_exceed_their_limit,
    stick_leaves_a_laptop_too_early,
    firewall_logs_each_packet_it_drops,
    root_is_nine_tenths_full_for_years,
    pods_come_and_go_with_their_interfaces,
    cages_of_a_card_are_empty,
    core_is_throttled_for_a_millisecond,
    clock_is_stepped_by_some_milliseconds,
    files_of_the_cache_fill_the_memory,
    tapes_and_enclosures_ask_for_attention,
    statistics_of_the_kernel_are_printed_by_hand,
    fabric_counts_what_it_always_counts,
)
