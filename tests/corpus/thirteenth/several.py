"""Several faults with one cause, two faults that have nothing to do with each other."""

from tests.corpus.eleventh.nodes import (
    BROKEN_DISK,
    GONE,
    HOT,
    HOUR,
    NET,
    SPIN,
    WAITING,
    aborts,
    loses,
    port_falls,
    port_rises,
    starts,
)
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits, works
from tests.corpus.parts import DIMM
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    eight_a100,
    four_l4,
    new_h100,
    pod_worker,
    some_b200,
    some_h200,
)
from tests.corpus.words import FELL, REBOOT

ROW = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
FABRIC = ("ib_link_errors", "ib_port_errors", "ib_port_rate_low", *SPIN)
AWAY = {"unreachable": True, "size_bytes": None, "free_bytes": None, "available_bytes": None}


@incident(
    *("memory_corrected_rate@*", "gpu_lost@*0f*"),
    root=("memory_corrected_rate@*", "gpu_lost@*0f*"),
    may=(
        *("machine_check_corrected_rate", "memory_page_offlined", "firmware_hardware_error"),
        *("gpu_init_failed", "gpu_hung", "pcie_device_inaccessible", *GONE),
    ),
    never=("memory_uncorrected", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    fit_at_end=False,
    node=new_h100,
)
def weak_module_and_a_card_that_is_gone(node: Story) -> None:
    """A module of a node corrects all day long; at three a card of the node falls off the bus."""
    place = ("MemoryErrors", "controllers", "mc1")
    node.wait(900, 60)
    node.rate(3.0, *place, "corrected_errors")
    node.rate(3.0, *place, "dimms", "a", "corrected_errors")
    for number in range(12):
        node.log(
            f"EDAC MC1: 90 CE memory read error on {DIMM} (channel:0 slot:0 "
            f"page:0x1b7e4{number:x} offset:0x240 grain:32 syndrome:0x0 -  "
            "err_code:0x0101:0x0090)"
        )
        node.wait(900, 150)
    node.xid("0f", 79, FELL, pid="'<unknown>'", name="<unknown>")
    node.log("NVRM: GPU 0000:0f:00.0: GPU has fallen off the bus.")
    node.xid("0f", 154, REBOOT)
    loses(node, "0f")
    waits(node, *others(node, "0f"))
    node.wait(600, 60)
    aborts(node, "0f")
    node.wait(2 * HOUR, 240)


@incident(
    *("gpu_memory_contained@*87*|gpu_ecc_uncorrected@*87*", "nvme_wear@nvme1*"),
    root=("gpu_memory_contained@*87*|gpu_ecc_uncorrected@*87*", "nvme_wear@nvme1*"),
    may=(
        *("gpu_memory_contained", "gpu_ecc_uncorrected", "gpu_row_remap_pending", "nvme_warns"),
        *("disk_slow", *GONE),
    ),
    never=("gpu_memory_uncontained", "gpu_lost", "nvme_controller_failed"),
    lasts=("nvme_wear@nvme1*",),
    node=some_h200,
)
def worn_disk_and_a_bad_row(node: Story) -> None:
    """A node with a worn disk for checkpoints loses a job to a bad row, and its card is reset."""
    node.put("NvmeHealths", "controllers", "nvme1", percentage_used_ratio=1.13)
    node.put("NvmeHealths", "controllers", "nvme1", available_spare_ratio=0.31)
    node.wait(2 * HOUR, 150)
    said = {"pid": "4715", "name": "python3"}
    node.xid("87", 63, ROW.format(0x20B11C440), **said)
    node.xid("87", 94, "Contained: SM (0x1). RST: No, D-RST: No", **said)
    node.gpu("87", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("87", row_remap_pending=True)
    aborts(node)
    node.wait(1200, 120)
    is_reset(node, "87")
    node.gpu("87", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("87", row_remap_banks={"max": 639, "high": 1})
    node.gpu("87", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(240, 60)
    starts(node, some_h200, 24_460)
    node.wait(3 * HOUR, 180)


@incident(
    "net_link_down@eth0",
    root="net_link_down@eth0|nic_cable_unplugged@*",
    may=("nfs_server_stalled", "nic_cable_unplugged", *WAITING, *NET),
    never=("disk_io_errors", "nic_driver_fatal", "gpu_lost", "gpu_hung"),
    gone=("net_link_down", "nfs_server_stalled"),
    node=four_l4,
)
def homes_are_away_because_the_port_is_down(node: Story) -> None:
    """The only port of a node to its homes is down for half an hour; then both are back."""
    node.wait(2400, 120)
    node.rate(0.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(0.0, "Network", "interfaces", "eth0", "transmit_packets")
    node.log(
        "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged",
        "mlx5_core 0000:5c:00.0 eth0: Link down",
    )
    place = ("Network", "interfaces", "eth0")
    node.put(*place, up=False, operstate="down", carrier_changes=3, speed_bytes_per_second=None)
    node.put("Filesystems", "filesystems", "/home", **AWAY)
    node.wait(240, 60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.wait(1560, 60)
    node.log(
        "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
        "mlx5_core 0000:5c:00.0 eth0: Link up",
    )
    node.put(*place, up=True, operstate="up", carrier_changes=4, speed_bytes_per_second=12.5e9)
    node.rate(1000.0, *place, "receive_packets")
    node.rate(1000.0, *place, "transmit_packets")
    node.wait(20, 10)
    node.log("nfs: server 192.0.2.10 OK")
    half = {"free_bytes": 5 * 10**11, "available_bytes": 5 * 10**11}
    node.put("Filesystems", "filesystems", "/home", unreachable=False, size_bytes=10**12, **half)
    node.wait(3 * HOUR, 150)


@incident(
    *("power_supply_alarm@*", "ib_port_down@mlx5_5*"),
    root=("power_supply_alarm@*", "ib_port_down@mlx5_5*|nic_cable_unplugged@*"),
    may=("gpu_power_brake", "gpu_clock_low", *FABRIC),
    never=("gpu_lost", "nic_driver_fatal", "nvlink_down"),
    unfit=True,
    gone=("ib_port_down",),
    fit_at_end=False,
    node=some_b200,
)
def dead_supply_and_a_rail_that_comes_back(node: Story) -> None:
    """A supply dies in the morning and stays so; a rail is down for nine minutes at noon."""
    node.wait(1200, 120)
    node.put("Sensors", "sensors", "psu5", value=0.0, alarm=True)
    for number in (1, 2, 3, 4, 6):
        node.put("Sensors", "sensors", f"psu{number}", value=2650.0)
    node.wait(3 * HOUR, 180)
    port_falls(node, "mlx5_5", 1)
    waits(node, watts=205.0)
    node.wait(540, 30)
    port_rises(node, "mlx5_5")
    works(node, watts=845.0, heat=58.0)
    node.wait(2 * HOUR, 180)


@incident(
    *("node_inlet_hot@*", "gpu_thermal_slowdown@*|gpu_overheat@*|gpu_thermal_throttle@*"),
    root="node_inlet_hot@*",
    may=(*HOT, "cpu_thermal_throttle", "board_too_hot", "nvme_overheat", "nic_module_hot"),
    never=("fan_stopped", "gpu_lost", "power_supply_alarm", "gpu_power_brake"),
    gone=("node_inlet_hot",),
    node=eight_a100,
)
def air_handler_of_a_row_stands_still(node: Story) -> None:
    """The air before a node reaches 47 degrees, its cards slow down; after two hours it is cool."""
    node.wait(900, 60)
    for inlet in (31.0, 37.0, 42.0, 45.0):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.gpus(temperature_celsius=30.0 + inlet, memory_temperature_celsius=40.0 + inlet)
        node.wait(300, 60)
    node.put("Sensors", "sensors", "inlet", value=47.0)
    node.gpus(
        temperature_celsius=86.0,
        memory_temperature_celsius=92.0,
        throttle_active={"sw_thermal_slowdown": 1},
        clock_hertz={"graphics": 1.065e9, "sm": 1.065e9},
        power_draw_watts=236.0,
        power_average_watts=236.0,
    )
    node.wait(2 * HOUR, 120)
    node.gpus(
        throttle_active={"sw_thermal_slowdown": 0},
        clock_hertz={"graphics": 1.38e9, "sm": 1.38e9},
        power_draw_watts=341.0,
        power_average_watts=341.0,
    )
    for inlet in (39.0, 32.0, 26.0):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.gpus(temperature_celsius=30.0 + inlet, memory_temperature_celsius=40.0 + inlet)
        node.wait(300, 60)
    node.wait(HOUR, 120)


@incident(
    "filesystem_readonly@*",
    root="nvme_media_errors@nvme0*|disk_io_errors@nvme0*|filesystem_error@*|filesystem_readonly@*",
    may=(*BROKEN_DISK, "pod_oom_kill", "process_crashed", "nvme_warns"),
    never=("filesystem_full", "nvme_controller_failed", "node_oom_kill"),
    unfit=True,
    fit_at_end=False,
    node=pod_worker,
)
def root_of_a_worker_meets_unreadable_blocks(node: Story) -> None:
    """A system disk cannot read some of its blocks, an hour later the root is read-only."""
    node.wait(1800, 120)
    for number in range(4):
        node.log(
            "blk_update_request: critical medium error, dev nvme0n1, sector "
            f"{188_203_008 + 8 * number} op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 0",
        )
        node.put("NvmeHealths", "controllers", "nvme0", media_errors=number + 1)
        node.wait(900, 90)
    node.log(
        "blk_update_request: critical medium error, dev nvme0n1, sector 188203040 op 0x0:(READ) "
        "flags 0x3000 phys_seg 1 prio class 0",
        "EXT4-fs error (device nvme0n1p2): __ext4_find_entry:1690: inode #5767171: comm kubelet: "
        "reading directory lblock 0",
        "Aborting journal on device nvme0n1p2-8.",
        "EXT4-fs (nvme0n1p2): Remounting filesystem read-only",
    )
    node.put("NvmeHealths", "controllers", "nvme0", media_errors=5)
    node.put("Filesystems", "filesystems", "/", readonly=True)
    node.wait(3 * HOUR, 180)


CASES = (
    weak_module_and_a_card_that_is_gone,
    worn_disk_and_a_bad_row,
    homes_are_away_because_the_port_is_down,
    dead_supply_and_a_rail_that_comes_back,
    air_handler_of_a_row_stands_still,
    root_of_a_worker_meets_unreadable_blocks,
)
