"""Servers and guests that look ill and are well."""

from tests.corpus.eighth.nodes import HOURS, cloud_volumes, kubelet_node
from tests.corpus.labels import healthy
from tests.corpus.parts import DIMM, GIB, filesystem, nic
from tests.corpus.seventh.nodes import altra, disk_shelf, epyc, guest, hgx
from tests.corpus.sixth.nodes import h200s, rack_server
from tests.corpus.story import Story

PAIR = "mems_allowed=0-1,oom_memcg={0},task_memcg={0}/cri-containerd-7e.scope"


@healthy(node=rack_server)
def module_corrects_once_a_week(node: Story) -> None:
    """One corrected error of one module within twelve hours, found by a scrub."""
    node.wait(3600, 300)
    node.log(
        f"EDAC MC1: 1 CE memory scrubbing error on {DIMM} (channel:0 slot:0 page:0x1d4c01 "
        "offset:0x0 grain:32 syndrome:0x0 -  err_code:0x0008:0x00c0)"
    )
    node.put("MemoryErrors", "controllers", "mc1", corrected_errors=1)
    node.put("MemoryErrors", "controllers", "mc1", "dimms", "a", corrected_errors=1)
    node.wait(12 * 3600, 1200)


@healthy(node=epyc)
def bus_of_a_disk_corrects_thrice_a_day(node: Story) -> None:
    """Three corrected errors of an NVMe disk within a day, eight hours apart."""
    for count in (1, 2, 3):
        node.log(
            "pcieport 0000:5b:00.0: AER: Correctable error message received from 0000:5e:00.0\n"
            "nvme 0000:5e:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, "
            "(Receiver ID)\n"
            "nvme 0000:5e:00.0:   device [144d:a80a] error status/mask=00000001/0000e000\n"
            "nvme 0000:5e:00.0:    [ 0] RxErr                  (First)"
        )
        node.put("Pcie", "devices", "5e", errors_by_severity={"correctable": count})
        node.wait(8 * 3600, 1200)


@healthy(never=("net_link_down", "net_link_flap", "net_interface_leak"), node=kubelet_node)
def pods_of_a_worker_come_and_go(node: Story) -> None:
    """Thirty pods an hour with interfaces of their own; each of them is gone after a minute."""
    for number in range(20):
        name = f"cali{0x9F30A1 + 7919 * number:x}"
        virtual = {"driver": "veth", "pci_bus_id": None, "numa_node": None, "mtu": 1450}
        node.put("Network", "interfaces", **{name: nic(name, **virtual)})
        node.log(
            f"IPv6: ADDRCONF(NETDEV_CHANGE): {name}: link becomes ready",
            f"overlayfs: upperdir is in-use as upperdir/workdir of another mount, mount {number}",
        )
        node.wait(60, 30)
        node.put("Network", "interfaces", name, up=False, operstate="down", carrier_changes=3)
        node.now()
        node.put("Network", "interfaces", **{name: None})
        node.wait(60, 30)


@healthy("pod_oom_kill", "process_oom_kill", never=("node_oom_kill",), node=kubelet_node)
def report_of_the_month_meets_its_limit(node: Story) -> None:
    """A cron job is killed at its limit once; its next try fits."""
    group = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod77aa0c11.slice"
    node.wait(120)
    node.log(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-7e.scope,"
        f"{PAIR.format(group)},task=ruby,pid=31077,uid=1001",
        "Memory cgroup out of memory: Killed process 31077 (ruby) total-vm:4194304kB, "
        "anon-rss:2089112kB, file-rss:0kB, shmem-rss:0kB, UID:1001 pgtables:4700kB "
        "oom_score_adj:968",
    )
    node.put("Paging", oom_kills=1)
    node.wait(HOURS, 120)


@healthy(node=epyc)
def port_of_a_management_network_is_never_used(node: Story) -> None:
    """Two of four ports have no cable, a bridge of containers has no container."""
    for name in ("eno2", "eno3"):
        dark = nic(name, driver="igb", up=False, operstate="down", carrier_changes=1)
        dark |= {"receive_packets": 0, "transmit_packets": 0, "speed_bytes_per_second": None}
        node.put("Network", "interfaces", **{name: dark})
    bridge = nic("docker0", driver="bridge", up=False, operstate="down", pci_bus_id=None)
    bridge |= {"carrier_changes": 1, "receive_packets": 0, "speed_bytes_per_second": None}
    node.put("Network", "interfaces", docker0=bridge)
    node.wait(3600, 120)


@healthy(node=cloud_volumes)
def firewall_of_a_web_server_talks_all_day(node: Story) -> None:
    """Blocked packets and a warning of cookies: the internet as it is."""
    node.wait(60)
    for number in range(40):
        node.log(
            "[UFW BLOCK] IN=ens5 OUT= MAC=0a:1b:2c:3d:4e:5f:0a:00:00:00:00:01:08:00 "
            f"SRC=198.51.100.{number + 3} DST=192.0.2.77 LEN=40 TOS=0x00 PREC=0x00 TTL=241 "
            f"ID={54_000 + number} PROTO=TCP SPT=44981 DPT=23 WINDOW=1024 RES=0x00 SYN URGP=0"
        )
        node.wait(30, 30)
    node.log("TCP: request_sock_TCP: Possible SYN flooding on port 443. Sending cookies.")
    node.wait(1800, 60)


@healthy("process_crashed", node=rack_server)
def programs_of_users_crash_on_a_login_node(node: Story) -> None:
    """Users of a login node crash their programs twelve times within two hours."""
    node.wait(60)
    for number in range(12):
        pid = 410_000 + 1013 * number
        name = ("a.out", "matlab", "python3")[number % 3]
        node.log(
            f"{name}[{pid}]: segfault at {8 * number:x} ip 000055d1a0{number:x}01139 sp "
            f"00007ffe{number:x}0c1e000 error 4 in {name}[55d1a0000000+1000] likely on CPU "
            f"{number} (core {number}, socket 0)",
            "Code: c3 0f 1f 80 00 00 00 00 f3 0f 1e fa eb 8a 55 48 89 e5 48 8b 45 f8 <8b> 00 5d c3",
        )
        node.wait(600, 60)


@healthy(node=kubelet_node)
def images_and_boot_partitions_of_a_worker(node: Story) -> None:
    """Images of packages are always full, the boot partition is at 84 of a hundred, data at 80."""
    full = {"readonly": True, "available_bytes": 0, "free_bytes": 0, "size_bytes": 6 * 10**7}
    boot = {"size_bytes": 10**9, "available_bytes": 16 * 10**7, "free_bytes": 21 * 10**7}
    others = {
        f"/snap/core22/{number}": filesystem(
            f"/dev/loop{number}", f"/snap/core22/{number}", "squashfs", **full, files_free=0
        )
        for number in (1, 2, 3)
    }
    others["/boot"] = filesystem("/dev/nvme0n1p1", "/boot", "ext4", **boot)
    node.put("Filesystems", "filesystems", **others)
    node.put("Filesystems", "filesystems", "/", available_bytes=2 * 10**11, free_bytes=2 * 10**11)
    node.wait(3600, 120)


@healthy(node=altra)
def kernel_measures_itself(node: Story) -> None:
    """Long interrupts, a late timer, an odd unit: what a busy kernel prints."""
    node.wait(60)
    node.log(
        "perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample_rate "
        "to 79500",
        "hrtimer: interrupt took 12203 ns",
        "systemd-journald[611]: Data hash table of /run/log/journal/x/system.journal has a fill "
        "level at 75.0 (6068 of 8090 items), suggesting rotation.",
        "workqueue: drain_vmap_area_work hogged CPU for >10000us 4 times, consider switching to "
        "WQ_UNBOUND",
        "TCP: eth0: Driver has suspect GRO implementation, TCP performance may be compromised.",
        "systemd[1]: Configuration file /etc/systemd/system/agent.service is marked executable.",
    )
    node.wait(3600, 120)


@healthy(never=("disk_stalled",), node=disk_shelf)
def backups_fill_a_shelf_at_night(node: Story) -> None:
    """Eight disks are busy all the time with writes of backups; requests take 40 ms each."""
    node.wait(60)
    for letter in "abcdefgh":
        place = ("Disks", "disks", f"sd{letter}")
        node.put(*place, io_in_flight=6)
        node.rate(140.0, *place, "writes_completed")
        node.rate(1.4e8, *place, "written_bytes")
        node.rate(5.6, *place, "write_time_seconds")
        node.rate(0.98, *place, "io_time_seconds")
        node.rate(5.6, *place, "queue_time_seconds")
    node.pressure("io", "some", 31.0)
    node.pressure("io", "full", 9.0)
    node.wait(3 * 3600, 120)


@healthy(node=h200s)
def fabric_ports_wait_and_count_a_little(node: Story) -> None:
    """Four ports under load wait for credits, and one counts two symbol errors in a day."""
    for number in range(4):
        node.rate(5e7, "Infiniband", "ports", f"mlx5_{number}", "wait")
        node.rate(4.5e10, "Infiniband", "ports", f"mlx5_{number}", "receive_bytes")
        node.rate(4.5e10, "Infiniband", "ports", f"mlx5_{number}", "transmit_bytes")
    for count in (1, 2):
        node.put("Infiniband", "ports", "mlx5_1", "errors", symbol_error=count)
        node.wait(6 * 3600, 600)


@healthy(never=("nic_driver_fatal",), node=hgx)
def tool_asks_an_adapter_what_it_may_not(node: Story) -> None:
    """A monitoring tool asks for registers that a function may not read, each minute."""
    for number in range(30):
        node.log(
            f"mlx5_core 0000:5c:00.0: mlx5_cmd_out_err:838:(pid {88_100 + number}): "
            "ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2), syndrome (0x305684), "
            "err(-22)"
        )
        node.wait(60, 30)


@healthy(node=rack_server)
def processor_is_warm_for_two_seconds(node: Story) -> None:
    """A burst of work: one event of a package above its threshold, normal again at once."""
    node.wait(300, 60)
    node.log(
        "mce: CPU31: Package temperature is above threshold, cpu clock is throttled (total events "
        "= 4)"
    )
    node.put("CpuHealth", thermal_throttles={"package": 4})
    node.wait(15)
    node.log("mce: CPU31: Package temperature/speed normal")
    node.wait(3600, 120)


@healthy(node=guest)
def balloon_takes_memory_from_a_guest(node: Story) -> None:
    """The hypervisor takes a third of the memory of a guest and gives it back, nobody waits."""
    node.put("Memory", total_bytes=128 * GIB, available_bytes=80 * GIB, free_bytes=60 * GIB)
    node.wait(600, 60)
    node.put("Memory", total_bytes=86 * GIB, available_bytes=38 * GIB, free_bytes=18 * GIB)
    node.wait(HOURS, 120)
    node.put("Memory", total_bytes=128 * GIB, available_bytes=80 * GIB, free_bytes=60 * GIB)
    node.wait(1800, 60)


@healthy("memory_swapping", node=cloud_volumes)
def old_pages_lie_in_swap(node: Story) -> None:
    """A fifth of the swap holds pages that nobody has asked for in weeks; a few move at night."""
    node.put("Memory", swap_total_bytes=16 * GIB, swap_free_bytes=12 * GIB)
    node.wait(3600, 120)
    node.rate(20_000.0, "Paging", "swap_in_bytes")
    node.wait(300, 30)
    node.rate(0.0, "Paging", "swap_in_bytes")
    node.wait(3600, 120)


@healthy("net_link_down", never=("nic_driver_fatal", "nic_cable_unplugged"), node=kubelet_node)
def leg_of_a_bond_is_moved_to_another_switch(node: Story) -> None:
    """An operator moves the cable of one leg: forty seconds without a link, once."""
    node.wait(300, 60)
    node.log("ice 0000:5c:00.2 ens2f0: NIC Link is Down")
    node.put("Network", "interfaces", "ens2f0", up=False, operstate="down", carrier_changes=3)
    node.wait(40, 10)
    node.log("ice 0000:5c:00.2 ens2f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC")
    node.put("Network", "interfaces", "ens2f0", up=True, operstate="up", carrier_changes=4)
    node.wait(3600, 120)


@healthy(node=altra)
def frames_for_others_are_dropped(node: Story) -> None:
    """A handful of frames of protocols that nobody speaks is dropped each minute."""
    node.rate(8000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(0.5, "Network", "interfaces", "eth0", "receive_drops")
    node.rate(3.0, "NetworkStack", "tcp_retransmitted_segments")
    node.rate(8000.0, "NetworkStack", "tcp_segments_sent")
    node.wait(3 * 3600, 120)


@healthy("cpu_saturated", node=epyc)
def solver_of_a_batch_queue_has_all_processors(node: Story) -> None:
    """A hundred and twenty-eight ranks on as many threads, for three hours."""
    node.put("Cpu", usage_percent=99.5, used_cores=127.5, load1=131.0, load5=130.0, load15=129.0)
    node.put("Cpu", processes_running=130)
    node.put("CpuHealth", frequencies={"min": 2.4e9, "avg": 2.5e9, "max": 2.6e9})
    node.pressure("cpu", "some", 22.0)
    node.wait(3 * 3600, 120)


CASES = (
    module_corrects_once_a_week,
    bus_of_a_disk_corrects_thrice_a_day,
    pods_of_a_worker_come_and_go,
    report_of_the_month_meets_its_limit,
    port_of_a_management_network_is_never_used,
    firewall_of_a_web_server_talks_all_day,
    programs_of_users_crash_on_a_login_node,
    images_and_boot_partitions_of_a_worker,
    kernel_measures_itself,
    backups_fill_a_shelf_at_night,
    fabric_ports_wait_and_count_a_little,
    tool_asks_an_adapter_what_it_may_not,
    processor_is_warm_for_two_seconds,
    balloon_takes_memory_from_a_guest,
    old_pages_lie_in_swap,
    leg_of_a_bond_is_moved_to_another_switch,
    frames_for_others_are_dropped,
    solver_of_a_batch_queue_has_all_processors,
)
