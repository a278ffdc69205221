"""Incidents of several parts, two at once, and ones that meet a repair or a restart."""

from tests.corpus.fifth.nodes import a100s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.parts import DIMM, GIB, limits
from tests.corpus.seventh.node_itself import KILLS, MEMORY
from tests.corpus.seventh.nodes import (
    HEAT,
    LINKS,
    NOBODY,
    SPINS,
    a10s,
    disk_shelf,
    epyc,
    hgx,
    pro_6000s,
    restarts,
    rtx_3090s,
)
from tests.corpus.story import Story
from tests.corpus.words import DOUBLE_BIT, FELL, GPU_AFTER, STARVED, comes_up, goes_down

HOURS = 2 * 3600
SILENT = (
    "Timeout after 45s of waiting for RPC response from GPU2 GSP! Expected function 10 (FREE) "
    "sequence 61200 (0xcaf20012 0x0)."
)
OF_A = ("MemoryErrors", "controllers", "mc1", "dimms", "a")


@incident(
    *(f"memory_uncorrected@*{DIMM}*|memory_uncorrected@mc1*", "memory_page_offlined@node"),
    "gpu_busy_without_work@*",
    root=("memory_uncorrected@*", "memory_uncorrected@*|gpu_busy_without_work@*"),
    may=(*MEMORY, *SPINS, "process_crashed", "gpu_app_fault"),
    unfit=True,
    node=hgx,
)
def bad_word_of_the_node_ends_one_rank(node: Story) -> None:
    """A module has an uncorrectable error, one rank is killed, its peers spin for a while."""
    node.wait(60)
    node.log(
        f"EDAC MC1: 1 UE memory read error on {DIMM} (channel:0 slot:0 page:0x5b1e20 offset:0x80 "
        "grain:32 -  err_code:0x0101:0x0090 SystemAddress:0x5b1e2080 ProcessorSocketId:0x0)",
        "mce: Uncorrected hardware memory error in user-access at 5b1e20080",
        "Memory failure: 0x5b1e20: Sending SIGBUS to trainer:4713 due to hardware memory "
        "corruption",
        "Memory failure: 0x5b1e20: recovery action for dirty LRU page: Recovered",
    )
    node.put("MemoryErrors", "controllers", "mc1", uncorrected_errors=1)
    node.put(*OF_A, uncorrected_errors=1)
    node.put("Workloads", "clients", **{"4713": None})
    node.put("Workloads", "uses", **{"3f": None})
    node.gpu("3f", processes=[], utilization_percent=0.0, memory_used_bytes=0)
    for bus in node.bus_addresses:
        if bus != "3f":
            node.gpu(bus, utilization_percent=100.0, memory_controller_utilization_percent=0.0)
            node.gpu(bus, power_draw_watts=122.0, power_average_watts=122.0)
    node.wait(1200, 30)


@incident(
    *("gpu_lost@GPU-43", "filesystem_full@/data"),
    root=("gpu_lost@GPU-43", "filesystem_full@/data"),
    may=(*GPU_AFTER, "gpu_power_missing"),
    unfit=True,
    gone=("filesystem_full",),
    lasts=("gpu_lost@GPU-43",),
    fit_at_end=False,
    node=rtx_3090s,
)
def core_dumps_fill_a_disk_while_a_card_is_away(node: Story) -> None:
    """A card of a tower is lost; an hour later dumps of programs fill a disk for a while."""
    node.wait(60)
    node.xid("43", 79, FELL, pid="4712", name="python")
    node.lose("43")
    node.wait(3600, 120)
    node.put("Filesystems", "filesystems", "/data", available_bytes=8 * 10**9, free_bytes=8 * 10**9)
    node.wait(1800, 60)
    node.put("Filesystems", "filesystems", "/data", available_bytes=4 * 10**11)
    node.wait(1800, 60)


@incident(
    *("gpu_lost@GPU-ae", "gpu_ecc_uncorrected@GPU-19"),
    root=("gpu_lost@GPU-ae", "gpu_ecc_uncorrected@GPU-19"),
    may=(*GPU_AFTER, *LINKS, *SPINS, "gpu_row_remap_pending", "gpu_memory_contained"),
    unfit=True,
    gone=("gpu_lost",),
    lasts=("gpu_ecc_uncorrected@GPU-19",),
    fit_at_end=False,
    node=hgx,
)
def second_card_fails_hours_after_the_first_was_repaired(node: Story) -> None:
    """A lost card comes back with a load of the driver; five hours later another has Xid 48."""
    node.wait(60)
    node.xid("ae", 79, FELL, **NOBODY)
    node.lose("ae")
    node.wait(1800, 60)
    unloads(node)
    loads(node, hgx)
    node.wait(5 * 3600, 600)
    node.xid("19", 48, DOUBLE_BIT, **NOBODY)
    node.gpu("19", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.wait(HOURS, 240)


@incident(
    *("gpu_xid_critical@GPU-c8", "ib_port_down@mlx5_0*"),
    root=("gpu_xid_critical@GPU-c8", "ib_port_down@mlx5_0*"),
    may=(*GPU_AFTER, "ib_link_errors"),
    unfit=True,
    fit_at_end=False,
    node=a100s,
)
def exporter_restarts_between_two_incidents(node: Story) -> None:
    """A port goes down; the exporter is restarted, and an hour later a controller halts."""
    node.wait(60)
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="polling")
    node.wait(900, 60)
    restarts(node)
    node.wait(3600, 120)
    node.xid("c8", 62, "1e2d0c51 00008b3a 00000000 2029aa40 202b1c8e 202a7f10 20287f02 00000000")
    node.wait(HOURS, 240)


@incident(
    *("node_oom_kill@node", "gpu_memory_orphan@GPU-25|gpu_idle_allocated@GPU-25"),
    root=("node_oom_kill@node", "node_oom_kill@node|gpu_memory_orphan@*|gpu_idle_allocated@*"),
    may=(*KILLS, *SPINS, "memory_pressure", "gpu_app_fault", "io_stall", "gpu_memory_orphan"),
    unfit=True,
    node=a10s,
)
def loader_takes_the_memory_and_a_server_is_killed(node: Story) -> None:
    """A leak takes all memory; the kernel kills a model server, whose card holds its memory on."""
    node.wait(60)
    for left in (40, 15, 4):
        node.put("Memory", available_bytes=left * GIB, free_bytes=2 * GIB)
        node.pressure("memory", "some", 45.0)
        node.pressure("memory", "full", 32.0)
        node.wait(90, 15)
    node.log(
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/kubepods.slice/kubepods-burstable.slice,task=trainer,pid=4711,uid=0",
        "Out of memory: Killed process 4711 (trainer) total-vm:412646400kB, anon-rss:390626304kB, "
        "file-rss:0kB, shmem-rss:2048kB, UID:0 pgtables:780120kB oom_score_adj:984",
    )
    node.put("Paging", oom_kills=1)
    node.xid("25", 45, "Ch 00000008", pid="4711", name="trainer")
    node.put("Memory", available_bytes=700 * GIB, free_bytes=400 * GIB)
    node.pressure("memory", "some", 0.0)
    node.pressure("memory", "full", 0.0)
    node.put("Workloads", "clients", **{"4711": None})
    totals = [{"gpu_uuid": f"GPU-{bus}", "orphan_memory_bytes": 0} for bus in node.bus_addresses]
    totals[0]["orphan_memory_bytes"] = 17 * GIB
    node.put("Workloads", totals=totals)
    node.gpu("25", processes=[], utilization_percent=0.0, power_draw_watts=24.0)
    node.wait(1800, 60)


@incident(
    "gpu_gsp_failure@GPU-a5",
    root=("gpu_gsp_failure@GPU-a5",),
    may=GPU_AFTER,
    unfit=True,
    lasts=("gpu_gsp_failure@GPU-a5",),
    fit_at_end=False,
    node=pro_6000s,
)
def bug_of_a_job_hides_a_dead_firmware(node: Story) -> None:
    """A buggy job faults every minute on one card; on another one the firmware stops answering."""
    node.wait(60)
    text = (
        "Ch 0000000b, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC3 GPCCLIENT_T1_4 faulted @ "
        "0x7f11_0{}000000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_WRITE"
    )
    for turn in range(8):
        node.xid("25", 31, text.format(turn), pid="4711", name="python3")
        node.xid("25", 43, "Ch 0000000b", pid="4711", name="python3")
        if turn == 4:
            node.xid("a5", 119, SILENT, pid="4713", name="python3")
        node.wait(60, 30)
    node.wait(HOURS, 240)


@incident(
    *("nvme_controller_failed@nvme0n1", "net_link_flap@eth0"),
    root=("nvme_controller_failed@nvme0n1", "net_link_flap@eth0"),
    may=(*STARVED, "disk_io_errors", "net_link_down", "filesystem_error", "nvme_timeout"),
    unfit=True,
    lasts=("nvme_controller_failed@nvme0n1",),
    fit_at_end=False,
    node=epyc,
)
def link_flaps_beside_a_dying_disk(node: Story) -> None:
    """A link flaps all morning; meanwhile the controller of a disk dies."""
    node.wait(60)
    for number in range(8):
        goes_down(node)
        node.put("Network", "interfaces", "eth0", carrier_changes=3 + 2 * number)
        node.wait(6, 3)
        comes_up(node)
        node.put("Network", "interfaces", "eth0", carrier_changes=4 + 2 * number)
        if number == 5:
            node.log(
                "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
                "nvme nvme0: Disabling device after reset failure: -19",
            )
            node.put("NvmeControllers", "controllers", "nvme0", state="dead")
        node.wait(240, 30)
    node.wait(HOURS, 120)


@incident(
    *("fan_stopped@*", "gpu_overheat@GPU-a5", "gpu_overheat@GPU-c2"),
    *("gpu_thermal_throttle@GPU-a5|gpu_thermal_slowdown@GPU-a5",),
    root=("fan_stopped@*",),
    may=HEAT,
    unfit=True,
    gone=("fan_stopped", "gpu_overheat"),
    fit_at_end=True,
    node=a10s,
)
def fan_in_front_of_two_cards_fails(node: Story) -> None:
    """A fan stops; three minutes later the two passive cards behind it are at their limit."""
    node.gpus(temperature_threshold_celsius={"shutdown": 98, "slowdown": 95, "max_operating": 90})
    node.wait(120)
    node.put("Sensors", "sensors", "fan2", value=0.0, alarm=True)
    node.wait(180, 15)
    for bus in ("a5", "c2"):
        node.gpu(bus, temperature_celsius=95.0, power_draw_watts=88.0)
        node.gpu(bus, throttle_active=limits("hw_thermal_slowdown", "hw_slowdown"))
        node.gpu(bus, clock_hertz={"graphics": 7.2e8, "sm": 7.2e8})
    node.wait(1500, 30)
    node.put("Sensors", "sensors", "fan2", value=8600.0, alarm=False)
    for bus in ("a5", "c2"):
        node.gpu(bus, temperature_celsius=61.0, power_draw_watts=132.0, throttle_active=limits())
        node.gpu(bus, clock_hertz={"graphics": 1.56e9, "sm": 1.56e9})
    node.wait(3600, 60)


@incident(
    *("power_supply_alarm@*", "md_array_degraded@md127"),
    root=("power_supply_alarm@*", "md_array_degraded@md127"),
    may=(*STARVED, "disk_io_errors", "disk_link_errors", "disk_offline"),
    unfit=True,
    gone=("power_supply_alarm",),
    lasts=("md_array_degraded@md127",),
    fit_at_end=False,
    node=disk_shelf,
)
def mirror_breaks_on_the_day_a_supply_is_changed(node: Story) -> None:
    """A supply alarms until it is changed two hours later; at noon the system's mirror breaks."""
    node.wait(60)
    node.put("Sensors", "sensors", "psu1", value=0.0, alarm=True)
    node.wait(HOURS, 120)
    node.put("Sensors", "sensors", "psu1", value=408.0, alarm=False)
    node.wait(4 * 3600, 300)
    node.log(
        "md/raid1:md127: Disk failure on sdz2, disabling device.\n"
        "md/raid1:md127: Operation continuing on 1 devices."
    )
    node.put("MdArrays", "arrays", "md127", active_disks=1, failed_disks=1, missing_disks=1)
    node.wait(3600, 120)


CASES = (
    bad_word_of_the_node_ends_one_rank,
    core_dumps_fill_a_disk_while_a_card_is_away,
    second_card_fails_hours_after_the_first_was_repaired,
    exporter_restarts_between_two_incidents,
    loader_takes_the_memory_and_a_server_is_killed,
    bug_of_a_job_hides_a_dead_firmware,
    link_flaps_beside_a_dying_disk,
    fan_in_front_of_two_cards_fails,
    mirror_breaks_on_the_day_a_supply_is_changed,
)
