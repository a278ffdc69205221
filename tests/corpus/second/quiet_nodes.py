"""Nodes that look ill and are well."""

from tests.corpus.labels import healthy
from tests.corpus.machines import processors_only
from tests.corpus.parts import disk, filesystem, ib_port, nic
from tests.corpus.story import Story
from tests.corpus.words import write_failed

UNUSED = dict.fromkeys(("receive_packets", "transmit_packets", "receive_bytes"), 0)
DARK = {"up": False, "operstate": "down", "speed_bytes_per_second": None, "carrier_changes": 1}


@healthy()
def empty_cage_of_a_network_card(node: Story) -> None:
    """The second port of the card has no module; the system brings every port up at boot."""
    node.put("Network", "interfaces", eth1=nic("eth1", **DARK, **UNUSED))
    node.log("mlx5_core 0000:5c:00.1 eth1: Link down")
    node.wait(1800, 60)


@healthy()
def cage_with_a_few_packets_sent_into_it(node: Story) -> None:
    """An unused port whose driver counted a few packets that it could not send."""
    counted = {**UNUSED, "transmit_packets": 7}
    node.put("Network", "interfaces", eth1=nic("eth1", **{**DARK, "carrier_changes": 0}, **counted))
    node.wait(1800, 60)


@healthy()
def interface_switched_off_by_its_owner(node: Story) -> None:
    """It carried packets once, and nobody wants it now."""
    node.wait(60)
    node.put("Network", "interfaces", eth1=nic("eth1", admin_up=False, **DARK))
    node.wait(1800, 60)


@healthy()
def links_bounce_while_the_node_starts(node: Story) -> None:
    """The ports train three times in the first minute after boot."""
    node.put("Host", uptime_secs=20.0)
    for number in range(3):
        node.log("mlx5_core 0000:5c:00.0 eth0: Link down")
        node.put("Network", "interfaces", "eth0", up=False, operstate="down")
        node.put("Network", "interfaces", "eth0", carrier_changes=2 * number + 1)
        node.wait(5, 5)
        node.log("mlx5_core 0000:5c:00.0 eth0: Link up")
        node.put("Network", "interfaces", "eth0", up=True, operstate="up")
        node.put("Network", "interfaces", "eth0", carrier_changes=2 * number + 2)
        node.wait(10, 5)
    node.wait(1800, 60)


@healthy()
def infiniband_ports_without_cables(node: Story) -> None:
    """Two of four ports were never cabled: they have been polling since boot."""
    for name, address in (("mlx5_2", "0000:cc:00.0"), ("mlx5_3", "0000:cd:00.0")):
        idle = {"state": "down", "phys_state": "polling", "receive_bytes": 0, "transmit_bytes": 0}
        node.put("Infiniband", "ports", **{name: ib_port(name, address, **idle)})
    node.wait(1800, 60)


@healthy()
def infiniband_port_disabled_by_its_owner(node: Story) -> None:
    """A port that is switched off: disabled, without ever having moved anything."""
    idle = {"state": "down", "phys_state": "disabled", "receive_bytes": 0, "transmit_bytes": 0}
    node.put("Infiniband", "ports", mlx5_2=ib_port("mlx5_2", "0000:cc:00.0", **idle))
    node.wait(1800, 60)


@healthy(node=processors_only)
def stick_is_pulled_while_it_is_written(node: Story) -> None:
    """A USB disk is pulled out: its requests fail, then it is gone."""
    node.put("Disks", "disks", sdc=disk("sdc", transport="usb"))
    node.wait(60)
    node.log("usb 1-2: USB disconnect, device number 7")
    node.log(*(write_failed("sdc", 8 * n) for n in range(12)))
    node.log("Buffer I/O error on dev sdc1, logical block 0, lost sync page write")
    node.put("Disks", "disks", sdc=None)
    node.wait(1800, 60)


@healthy(node=processors_only)
def stick_of_which_only_the_log_knows(node: Story) -> None:
    """The same between two looks: the disk was never seen in a list."""
    node.wait(60)
    node.log("usb 1-2: USB disconnect, device number 7")
    node.log("sd 6:0:0:0: [sdc] Synchronizing SCSI cache")
    node.log(write_failed("sdc", 8))
    node.wait(1800, 60)


@healthy(node=processors_only)
def array_with_an_old_failed_member(node: Story) -> None:
    """A spare took over months ago; the failed member is still listed, nothing is missing."""
    md = {"device": "md0", "state": "active", "level": "raid1", "active_disks": 2}
    node.put("MdArrays", "arrays", md0={**md, "failed_disks": 1, "missing_disks": 0})
    node.wait(1800, 60)


@healthy(node=processors_only)
def array_is_checked_as_every_month(node: Story) -> None:
    """The monthly check reads everything: a busy disk and a resync under way."""
    md = {"device": "md0", "state": "active", "level": "raid1", "active_disks": 2}
    whole = {"failed_disks": 0, "missing_disks": 0, "resync_ratio": 0.2}
    node.put("MdArrays", "arrays", md0={**md, **whole})
    node.log("md: data-check of RAID array md0")
    node.rate(1.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.rate(900.0, "Disks", "disks", "nvme1n1", "reads_completed")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=8)
    node.wait(3600, 120)


@healthy(never=("process_crashed",))
def tools_without_a_card_crash(node: Story) -> None:
    """Shells and tools crash, each under a pid of its own; none of them uses a card."""
    node.wait(60)
    for pid in range(9000, 9010):
        node.log(
            f"curl[{pid}]: segfault at 18 ip 00007f12aa0b3c21 sp 00007ffd1c0e9a10 error 4 in "
            "libcurl.so.4.7.0[7f12a9e00000+8a000]"
        )
        node.log(f"traps: node[{pid + 100}] trap int3 ip:55d sp:7ff error:0 in node[55d+1000]")
        node.wait(60)


@healthy("pod_oom_kill", "process_oom_kill", never=("node_oom_kill",))
def container_at_its_limit(node: Story) -> None:
    """A small container passes its memory limit once and is killed: its own affair."""
    pod = "/kubepods.slice/kubepods-pod9a1b2c3d_1111_2222_3333_444455556666.slice"
    node.wait(60)
    node.log(
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,"
        f"oom_memcg={pod},task_memcg={pod}/cri-containerd-{'3f' * 32}.scope,task=app,pid=7001,"
        "uid=0",
        "Memory cgroup out of memory: Killed process 7001 (app) total-vm:99kB, anon-rss:98kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:985",
    )
    node.put("Paging", oom_kills=1)
    node.wait(900, 60)


@healthy(node=processors_only)
def page_cache_fills_memory(node: Story) -> None:
    """Nothing is free, and nearly everything is available."""
    node.put("Memory", free_bytes=2**28, available_bytes=600 * 2**30)
    node.wait(1800, 60)


@healthy(node=processors_only)
def pressure_in_short_spikes(node: Story) -> None:
    """Ten seconds of everybody waiting, every few minutes."""
    for _ in range(6):
        node.put("Pressures", "pressures", io_full={"avg10": 60.0, "avg60": 8.0})
        node.wait(15)
        node.put("Pressures", "pressures", io_full={"avg10": 0.0, "avg60": 3.0})
        node.wait(240, 60)


@healthy()
def clock_is_stepped_at_start(node: Story) -> None:
    """The clock is out of step for two minutes after boot."""
    node.put("Host", uptime_secs=30.0)
    node.put("Clock", synchronized=False, error_seconds=16.0, offset_seconds=0.8)
    node.wait(120, 30)
    node.put("Clock", synchronized=True, error_seconds=0.01, offset_seconds=1e-5)
    node.wait(900, 60)


@healthy(node=processors_only)
def pods_come_and_go(node: Story) -> None:
    """Interfaces of pods appear, bounce and vanish."""
    for number in range(5):
        name = f"veth{number}a1b2"
        node.put("Network", "interfaces", **{name: nic(name, driver="veth", carrier_changes=4)})
        node.wait(60)
        node.put("Network", "interfaces", name, up=False, operstate="lowerlayerdown")
        node.wait(15)
        node.put("Network", "interfaces", **{name: None})
        node.wait(60)


@healthy(node=processors_only)
def boot_messages_with_frightening_tags(node: Story) -> None:
    """What every kernel prints at start about errors that it would find."""
    node.log(
        "pcieport 0000:3a:00.0: AER: enabled with IRQ 124",
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0",
        "mce: CPU0: Thermal monitoring enabled (TM1)",
        "nvme nvme0: 63/0/0 default/read/poll queues",
        "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
        "DMAR: Intel(R) Virtualization Technology for Directed I/O",
        "AMD-Vi: Interrupt remapping enabled",
        "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x24093623c91",
        "ata5: SATA link down (SStatus 0 SControl 300)",
    )
    node.wait(900, 60)


@healthy(node=processors_only)
def slot_power_as_the_card_sees_it(node: Story) -> None:
    """A card finds its slot weak at boot, and runs at its full rate."""
    node.log(
        "mlx5_core 0000:5c:00.0: mlx5_pcie_event:301:(pid 812): Detected insufficient power on "
        "the PCIe slot (27W)."
    )
    node.wait(900, 60)


@healthy(node=processors_only)
def file_server_blinks(node: Story) -> None:
    """A hard mount is not answered for five seconds."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.wait(5, 5)
    node.log("nfs: server 192.0.2.10 OK")
    node.wait(600, 60)


@healthy(node=processors_only)
def images_and_snaps_are_mounted(node: Story) -> None:
    """Read-only and full by nature: squashfs, an image of a disc, an overlay."""
    full = {"readonly": True, "available_bytes": 0, "free_bytes": 0, "files_free": 0}
    node.put(
        "Filesystems",
        "filesystems",
        **{
            "/snap/core": filesystem("/dev/loop0", "/snap/core", "squashfs", **full),
            "/mnt/disc": filesystem("/dev/sr0", "/mnt/disc", "iso9660", **full),
        },
    )
    node.wait(1800, 60)


CASES = (
    empty_cage_of_a_network_card,
    cage_with_a_few_packets_sent_into_it,
    interface_switched_off_by_its_owner,
    links_bounce_while_the_node_starts,
    infiniband_ports_without_cables,
    infiniband_port_disabled_by_its_owner,
    stick_is_pulled_while_it_is_written,
    stick_of_which_only_the_log_knows,
    array_with_an_old_failed_member,
    array_is_checked_as_every_month,
    tools_without_a_card_crash,
    container_at_its_limit,
    page_cache_fills_memory,
    pressure_in_short_spikes,
    clock_is_stepped_at_start,
    pods_come_and_go,
    boot_messages_with_frightening_tags,
    slot_power_as_the_card_sees_it,
    file_server_blinks,
    images_and_snaps_are_mounted,
)
