"""The last unseen batch: nodes, cards and jobs that look ill and are well."""

from tests.corpus.labels import healthy
from tests.corpus.machines import processors_only, workstation
from tests.corpus.parts import GIB, disk, limits, nic
from tests.corpus.story import Story
from tests.corpus.words import driver_loads_again

DOWN = {"up": False, "operstate": "down", "speed_bytes_per_second": None}
VIRTUAL = {"pci_bus_id": None, "numa_node": None}


@healthy(node=processors_only)
def bridge_without_containers(node: Story) -> None:
    """A bridge of containers has no carrier once the last of them has ended."""
    node.put("Network", "interfaces", docker0=nic("docker0", driver="bridge", **VIRTUAL))
    node.wait(300, 60)
    node.put("Network", "interfaces", "docker0", **DOWN)
    node.wait(1800, 60)


@healthy(node=workstation)
def wireless_interface_is_not_used(node: Story) -> None:
    """A desk on a cable; its wireless interface is up and has no network."""
    node.put(
        "Network",
        "interfaces",
        wlan0=nic(
            "wlan0",
            driver="iwlwifi",
            receive_packets=0,
            transmit_packets=0,
            carrier_changes=0,
            **DOWN,
        ),
    )
    node.wait(1800, 60)


@healthy(node=processors_only)
def drive_without_a_disc(node: Story) -> None:
    """A virtual drive of the board without a disc, asked by every tool that lists disks."""
    node.log("blk_update_request: I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x0")
    node.log("Buffer I/O error on dev sr0, logical block 0, async page read")
    node.wait(900, 60)


@healthy(node=processors_only)
def sockets_of_disks_without_disks(node: Story) -> None:
    """Empty SATA sockets at boot, and one link that was reset once while it started."""
    node.put("Disks", "disks", sda=disk("sda", transport="sata"))
    node.put("Host", uptime_secs=15.0)
    node.log("ata3: SATA link down (SStatus 0 SControl 300)", "ata1: hard resetting link")
    node.log("ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)")
    node.wait(900, 60)


@healthy(node=processors_only)
def metadata_server_is_back_at_once(node: Story) -> None:
    """Ceph fails over to another server within seconds."""
    node.wait(60)
    node.log("ceph: mds0 reconnect start", "ceph: mds0 reconnect success")
    node.log("ceph: mds0 recovery completed")
    node.wait(900, 60)


@healthy()
def corrected_bus_errors_while_the_node_starts(node: Story) -> None:
    """Links train: a hundred corrected errors in the first minute, none after it."""
    node.put("Host", uptime_secs=20.0)
    node.wait(15)
    node.put("Pcie", "devices", "9b", errors_by_severity={"correctable": 100})
    node.wait(1800, 60)


@healthy()
def registers_asked_for_by_a_tool(node: Story) -> None:
    """A monitor polls a function that may not read registers."""
    for _ in range(5):
        node.log(
            "mlx5_core 0000:5c:00.1: mlx5_cmd_out_err:838:(pid 812): ACCESS_REG(0x805) op_mod(0x1) "
            "failed, status bad operation(0x2), syndrome (0x305684), err(-22)"
        )
        node.wait(60)
    node.wait(600, 60)


@healthy()
def clocks_are_cut_for_a_moment(node: Story) -> None:
    """Twenty seconds of a thermal limit at the start of a job."""
    node.wait(60)
    node.gpu("9b", throttle_active={"sw_thermal_slowdown": 1}, temperature_celsius=84.0)
    node.wait(20, 10)
    node.gpu("9b", throttle_active={"sw_thermal_slowdown": 0}, temperature_celsius=71.0)
    node.wait(900, 60)


@healthy("gpu_app_fault", "process_crashed", never=("gpu_lost",))
def rank_crashes_and_is_restarted(node: Story) -> None:
    """A rank crashes by a bug of its own: a remark about the job, nothing about the node."""
    node.wait(60)
    node.log(
        "trainer[4712]: segfault at 18 ip 00007f12aa0b3c21 sp 00007ffd1c0e9a10 error 4 in "
        "libtorch_cuda.so[7f12a9e00000+8a00000]"
    )
    node.xid("3b", 43, "Ch 00000010", pid="4712", name="trainer")
    node.wait(900, 60)


@healthy("pod_oom_kill", "process_oom_kill", "gpu_app_fault", "gpu_idle_allocated")
def rank_at_its_memory_limit(node: Story) -> None:
    """A rank is killed at the limit of its pod, with its channels."""
    node.wait(60)
    node.log(
        "Memory cgroup out of memory: Killed process 4712 (trainer) total-vm:99kB, anon-rss:98kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:985"
    )
    node.xid("3b", 45, "Ch 00000009", pid="4712", name="trainer")
    node.put("Workloads", "clients", **{"4712": None})
    node.wait(600, 60)


@healthy(node=workstation)
def card_of_a_laptop_sleeps(node: Story) -> None:
    """A suspended card answers nothing and is well."""
    node.job_ends()
    node.state("3b", suspended=True, stale=True)
    node.wait(1800, 60)


@healthy()
def driver_is_loaded_anew_between_jobs(node: Story) -> None:
    """A driver update on a drained node: away for half a minute, then as before."""
    node.wait(60)
    node.job_ends()
    node.wait(120, 30)
    driver_loads_again(node)
    node.wait(900, 60)


@healthy(node=processors_only)
def memory_is_short_for_a_minute(node: Story) -> None:
    """A build takes nearly all memory for a minute."""
    node.wait(60)
    node.put("Memory", available_bytes=20 * GIB)
    node.pressure("memory", "some", 8.0)
    node.wait(60)
    node.put("Memory", available_bytes=700 * GIB)
    node.pressure("memory", "some", 0.0)
    node.wait(900, 60)


@healthy(node=processors_only)
def frightening_words_of_disks(node: Story) -> None:
    """What disks and their drivers say at every start."""
    node.log(
        "nvme nvme0: Shutdown timeout set to 10 seconds",
        "nvme nvme0: missing or invalid SUBNQN field.",
        "nvme nvme0: Ignoring bogus Namespace Identifiers",
        "megaraid_sas 0000:18:00.0: FW now in Ready state",
        "mpt3sas_cm0: sending port enable !!",
        "md/raid1:md0: active with 2 out of 2 mirrors",
        "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.",
        "XFS (nvme1n1): Starting recovery (logdev: internal)",
        "XFS (nvme1n1): Ending recovery (logdev: internal)",
    )
    node.wait(900, 60)


@healthy()
def clocks_held_by_a_group(node: Story) -> None:
    """Sync boost holds all cards at the clock of the slowest."""
    node.gpus(throttle_active=limits("sync_boost"), clock_hertz={"sm": 1.2e9})
    node.wait(1800, 60)


@healthy(never=("gpu_count_low", "pcie_network_card_missing"))
def two_cards_belong_to_guests(node: Story) -> None:
    """Two of four cards are bound to vfio-pci while the node runs, one after the other."""
    for bus, pid in (("9b", "4713"), ("bb", "4714")):
        node.wait(300, 60)
        node.put("Workloads", "clients", **{pid: None})
        node.put("Workloads", "uses", **{bus: None})
        node.put("Gpus", "states", **{bus: None})
        node.put("Pcie", "devices", bus, driver="vfio-pci")
    node.wait(1800, 60)


CASES = (
    bridge_without_containers,
    wireless_interface_is_not_used,
    drive_without_a_disc,
    sockets_of_disks_without_disks,
    metadata_server_is_back_at_once,
    corrected_bus_errors_while_the_node_starts,
    registers_asked_for_by_a_tool,
    clocks_are_cut_for_a_moment,
    rank_crashes_and_is_restarted,
    rank_at_its_memory_limit,
    card_of_a_laptop_sleeps,
    driver_is_loaded_anew_between_jobs,
    memory_is_short_for_a_minute,
    frightening_words_of_disks,
    clocks_held_by_a_group,
    two_cards_belong_to_guests,
)
