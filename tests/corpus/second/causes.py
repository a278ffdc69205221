"""Incidents of several parts: which of them is the cause, and which cannot be."""

from tests.corpus.labels import incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import DIMM, client, disk, limits, sensor
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER, GSP, STARVED, goes_down, write_failed

LOST = "gpu_lost@GPU-3b"
OTHER = {"namespace": "ml", "pod": "notebook-7", "container": "main"}


@incident("pcie_link_down@0000:3a:00.0", LOST, may=GPU_AFTER, unfit=True, lasts=(LOST,))
def card_removed_from_the_bus_by_its_slot(node: Story) -> None:
    """The slot's link goes down and the kernel takes the card out of sysfs before NVML notices."""
    node.wait(60)
    node.log("pcieport 0000:3a:00.0: pciehp: Slot(3): Link Down")
    node.put("Pcie", "devices", **{"3b": None})
    node.wait(30)
    node.xid("3b", 79, FELL)
    node.lose("3b")
    node.wait(1800, 60)


@incident(
    "gpu_nvlink_fatal@GPU-9b|nvlink_fatal@*9b:00.0*",
    "nvlink_errors@GPU-9b",
    may=GPU_AFTER,
)
def link_errors_before_and_after_it_dies(node: Story) -> None:
    """Recoveries rise on a link that a minute later fails for good: one incident."""
    node.wait(60)
    node.rate(2.0, "Gpus", "states", "9b", "gpu", "nvlink_errors_total", "recovery")
    node.wait(60)
    node.xid("9b", 74, "NVLink: fatal error detected on link 3(0x10000000, 0x0, 0x0, 0x0, 0x0)")
    node.wait(300)


@incident("gpu_gsp_failure@GPU-bb", "gpu_channel_timeout@GPU-bb", may=GPU_AFTER, unfit=True)
def context_switch_times_out_before_the_firmware(node: Story) -> None:
    """Xid 109, and half a minute later 119: the firmware was what did not answer."""
    node.wait(60)
    node.xid("bb", 109, "Ch 00000018, errorString CTX SWITCH TIMEOUT, Info 0x1c0043", pid="4714")
    node.wait(30)
    node.xid("bb", 119, GSP, pid="4714", name="trainer")
    node.wait(120)


@incident(
    *("md_array_degraded@md0", "disk_io_errors@nvme0n1"),
    root=("md_array_degraded@md0", "disk_io_errors@nvme0n1"),
    may=STARVED,
    node=processors_only,
)
def array_loses_a_disk_and_another_one_fails(node: Story) -> None:
    """A mirror loses sdb1 while errors come from an NVMe that is no member of it."""
    node.put("Disks", "disks", sda=disk("sda", transport="sata"), sdb=disk("sdb", transport="sata"))
    md = {"device": "md0", "state": "active", "level": "raid1", "active_disks": 2}
    node.put("MdArrays", "arrays", md0={**md, "failed_disks": 0, "missing_disks": 0})
    node.wait(60)
    node.log(write_failed("nvme0n1"))
    node.wait(30)
    node.log("md/raid1:md0: Disk failure on sdb1, disabling device.")
    node.put("MdArrays", "arrays", "md0", active_disks=1, failed_disks=1, missing_disks=1)
    node.wait(300, 30)


@incident(
    "firmware_hardware_error@node|memory_uncorrected@*",
    "pcie_aer_uncorrected@0000:5e:00.0",
    root=("firmware_hardware_error@node|memory_uncorrected@*", "pcie_aer_uncorrected@0000:5e:00.0"),
    node=processors_only,
)
def firmware_tells_of_memory_and_the_bus_of_a_disk(node: Story) -> None:
    """A record of a memory error and, apart from it, a bus error of a disk: two causes."""
    node.wait(60)
    node.put("Pcie", "devices", "5e", errors_by_severity={"nonfatal": 1})
    node.wait(30)
    node.log(
        "{5}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1\n"
        "{5}[Hardware Error]: event severity: recoverable\n"
        "{5}[Hardware Error]:  Error 0, type: recoverable\n"
        "{5}[Hardware Error]:   section_type: memory error\n"
        "{5}[Hardware Error]:   physical_address: 0x00000012ab3c4000"
    )
    node.wait(120)


@incident(
    "pod_oom_kill@*|process_oom_kill@4712",
    "gpu_idle_allocated@GPU-3b",
    root="pod_oom_kill@*|process_oom_kill@4712",
    may=("gpu_pages_retired", "gpu_row_remap_pending", "pod_oom_kill", "process_oom_kill"),
)
def own_kill_stands_before_a_neighbours_repair(node: Story) -> None:
    """A rank is killed at its memory limit and its card idles; a neighbour waits for a repair."""
    node.gpu("1b", row_remap_pending=True, remapped_rows_total={"corrected": 1})
    node.wait(60)
    node.log(
        "Memory cgroup out of memory: Killed process 4712 (trainer) total-vm:99kB, anon-rss:98kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:985"
    )
    node.idle_since_now("3b")
    node.wait(900, 60)


@incident("gpu_suspect_hardware@GPU-3b", may=("gpu_app_fault",))
def two_jobs_fault_on_the_same_card(node: Story) -> None:
    """A memory violation of one job, and an hour later of another one on the same card."""
    text = "MMU Fault: ENGINE CE2 HUBCLIENT_CE1 faulted @ 0x7e21_4c. Fault is of type FAULT_PTE"
    node.wait(60)
    node.xid("3b", 31, text, pid="4712", name="trainer")
    node.wait(1800, 120)
    node.put("Workloads", "clients", **{"4712": None})
    other = client(5001, "3b", workload=OTHER, pod_uid="ffffffff-1111-2222-3333-444455556666")
    node.put("Workloads", "clients", **{"5001": other})
    node.wait(60)
    node.xid("3b", 31, text, pid="5001", name="python3")
    node.wait(120)


@incident(
    "pcie_containment@0000:17:01.0|pcie_link_down@0000:17:01.0",
    *(LOST, "gpu_lost@GPU-bb"),
    may=GPU_AFTER,
    unfit=True,
)
def containment_of_a_root_port_takes_two_cards(node: Story) -> None:
    """Downstream containment at the root port: two cards below it are lost within seconds."""
    node.wait(60)
    node.log("pcieport 0000:17:01.0: DPC: containment event, status:0x1f01 source:0x0000")
    node.wait(2, 2)
    for bus in ("3b", "bb"):
        node.xid(bus, 79, FELL)
        node.lose(bus)
    node.wait(300, 30)


@incident(
    "power_supply_alarm@*",
    *(f"gpu_power_brake@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    may=("gpu_clock_low", "gpu_thermal_throttle"),
)
def power_supply_fails_and_all_cards_brake(node: Story) -> None:
    """One of two supplies fails; the board brakes all cards."""
    psu = sensor("power", "PSU2", 1.0, alarm=False)
    node.put("Sensors", "sensors", psu=psu)
    node.wait(60)
    node.put("Sensors", "sensors", "psu", alarm=True)
    node.gpus(throttle_active=limits("hw_power_brake_slowdown", "hw_slowdown"))
    node.wait(300)


@incident(
    "node_inlet_hot@*",
    *(f"gpu_overheat@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    may=("gpu_thermal_throttle", "gpu_thermal_slowdown", "gpu_memory_overheat"),
)
def room_is_hot_and_all_cards_with_it(node: Story) -> None:
    """The air at the inlet passes its limit, and ten minutes later all cards theirs."""
    node.wait(60)
    node.put("Sensors", "sensors", "inlet", value=46.0)
    node.wait(600, 30)
    node.gpus(temperature_celsius=89.0, thermal_margin_celsius=-1.0)
    node.gpus(throttle_active=limits("sw_thermal_slowdown"))
    node.wait(420, 30)


@incident("nic_module_hot@eth0", "net_link_down@eth0")
def hot_module_loses_its_link(node: Story) -> None:
    """An optical module is too hot; a few seconds later the link is gone."""
    node.wait(60)
    where = "mlx5_core 0000:5c:00.0: "
    node.log(where + "Port module event[error]: module 0, Cable error, High Temperature")
    node.wait(10, 5)
    goes_down(node)
    node.wait(120)


@incident(
    f"memory_uncorrected@*{DIMM}",
    "memory_page_offlined@node",
    may=("memory_corrected_rate", "machine_check"),
    unfit=True,
    node=processors_only,
)
def memory_fails_and_a_page_is_given_up(node: Story) -> None:
    """An uncorrectable error of a DIMM; the kernel gives the page up."""
    node.wait(60)
    dimm = ("MemoryErrors", "controllers", "mc1", "dimms", "a")
    node.log(
        f"EDAC MC1: 1 UE memory read error on {DIMM} (channel:0 slot:0 page:0x2ab34 offset:0x40 "
        "grain:32 -  err_code:0x0101:0x0090 socket:0 imc:1 rank:0)"
    )
    node.put(*dimm, uncorrected_errors=1)
    node.log("Memory failure: 0x2ab34: recovery action for dirty LRU page: Recovered")
    node.wait(300, 30)


@incident(
    *("gpu_gsp_failure@GPU-1b", "hung_task@2210"),
    may=(*GPU_AFTER, "process_waits_for_storage"),
    unfit=True,
)
def tool_hangs_behind_a_dead_firmware(node: Story) -> None:
    """Xid 119, and two minutes later nvidia-smi is blocked in the kernel: no cause of its own."""
    node.wait(60)
    node.xid("1b", 119, GSP, pid="2210", name="nvidia-smi")
    node.wait(120)
    node.log("INFO: task nvidia-smi:2210 blocked for more than 122 seconds.")
    node.wait(120)


@incident(
    *("gpu_gsp_failure@GPU-9b", "backend_stuck@node"),
    may=(*GPU_AFTER, "nvml_unavailable"),
    unfit=True,
    never=("gpu_lost@GPU-1b",),
)
def library_hangs_behind_a_dead_firmware(node: Story) -> None:
    """Xid 119 of one card; the library does not come back any more for any of them."""
    node.wait(60)
    node.xid("9b", 119, GSP, pid="4713", name="trainer")
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.put("Gpus", "backend", backend="cache", reason="stuck", nvml_up=False)
    node.wait(300)


@incident(
    *("gpu_gsp_failure@GPU-1b", "gpu_ecc_uncorrected@GPU-bb"),
    root=("gpu_gsp_failure@GPU-1b", "gpu_ecc_uncorrected@GPU-bb"),
    may=(*GPU_AFTER, "gpu_row_remap_pending"),
    unfit=True,
)
def two_cards_ill_of_different_things(node: Story) -> None:
    """The firmware of one card and the memory of another within a minute: neither is the cause."""
    node.wait(60)
    node.xid("1b", 119, GSP, pid="4711", name="trainer")
    node.wait(30)
    node.gpu("bb", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.xid("bb", 48, "An uncorrectable double bit error (DBE) has been detected on GPU.")
    node.wait(120)


@incident("gpu_count_low@node|gpu_lost@*", may=(*GPU_AFTER, "nvml_unavailable"), unfit=True)
def by_nvidia_smi_only_a_card_is_missing_from_the_start(node: Story) -> None:
    """nvidia-smi is the only way and lists three of the four cards that the bus shows."""
    node.put("Gpus", backend={"backend": "nvidia-smi", "reason": "no_library", "nvml_up": False})
    node.put("Gpus", "states", **{"9b": None})
    node.put("Workloads", clients=None, uses=None)
    node.wait(600, 30)


@incident(
    *("nfs_server_stalled@192.0.2.10", "hung_task@4712"),
    may=(*STARVED, "gpu_idle_allocated"),
)
def rank_hangs_on_a_silent_file_server(node: Story) -> None:
    """The file server is silent; two minutes later the kernel reports a rank that waits for it."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    node.process(4712, state="uninterruptible", waits_since_boottime=node.at)
    node.process(4712, wait_channel="rpc_wait_bit_killable")
    node.wait(150)
    node.log("INFO: task trainer:4712 blocked for more than 122 seconds.")
    node.wait(120)


CASES = (
    card_removed_from_the_bus_by_its_slot,
    link_errors_before_and_after_it_dies,
    context_switch_times_out_before_the_firmware,
    array_loses_a_disk_and_another_one_fails,
    firmware_tells_of_memory_and_the_bus_of_a_disk,
    own_kill_stands_before_a_neighbours_repair,
    two_jobs_fault_on_the_same_card,
    containment_of_a_root_port_takes_two_cards,
    power_supply_fails_and_all_cards_brake,
    room_is_hot_and_all_cards_with_it,
    hot_module_loses_its_link,
    memory_fails_and_a_page_is_given_up,
    tool_hangs_behind_a_dead_firmware,
    library_hangs_behind_a_dead_firmware,
    two_cards_ill_of_different_things,
    by_nvidia_smi_only_a_card_is_missing_from_the_start,
    rank_hangs_on_a_silent_file_server,
)
