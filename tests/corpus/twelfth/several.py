"""Several faults with one cause, two faults that have nothing to do with each other."""

from tests.corpus.eleventh.nodes import (
    BROKEN_DISK,
    GONE,
    HOUR,
    NET,
    SPIN,
    WAITING,
    aborts,
    loses,
    port_falls,
    starts,
)
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits
from tests.corpus.parts import DIMM
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    backup_server,
    box_of_b200,
    box_of_h100,
    box_of_h200,
    database_server,
    four_l40s,
)
from tests.corpus.words import FELL

ROW = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
FABRIC = ("ib_link_errors", "ib_port_errors", "ib_port_rate_low", *SPIN)
AWAY = {"unreachable": True, "size_bytes": None, "free_bytes": None, "available_bytes": None}


@incident(
    *("gpu_memory_contained@*1b*|gpu_ecc_uncorrected@*1b*", "ib_link_errors@mlx5_2*"),
    root=("gpu_memory_contained@*1b*|gpu_ecc_uncorrected@*1b*", "ib_link_errors@mlx5_2*"),
    may=("gpu_memory_contained", "gpu_ecc_uncorrected", "gpu_row_remap_pending", *FABRIC, *GONE),
    never=("gpu_memory_uncontained", "gpu_lost", "nic_driver_fatal"),
    node=box_of_h200,
)
def weak_cable_and_a_weak_row(node: Story) -> None:
    """A rail has symbol errors all day; in the afternoon a row of a card ends the job."""
    node.wait(900, 60)
    place = ("Infiniband", "ports", "mlx5_2", "errors")
    node.rate(85.0, *place, "symbol_error")
    node.rate(0.02, *place, "link_error_recovery")
    node.rate(2.0, *place, "port_rcv_errors")
    node.wait(3 * HOUR, 60)
    node.xid("1b", 63, ROW.format(0x2210FE80), pid="4711", name="pt_main_thread")
    node.xid("1b", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4711", name="pt_main_thread")
    node.gpu("1b", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("1b", row_remap_pending=True)
    aborts(node)
    node.wait(1500, 60)
    is_reset(node, "1b")
    node.gpu("1b", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("1b", row_remap_banks={"max": 639, "high": 1})
    node.gpu("1b", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(240, 30)
    starts(node, box_of_h200, 38_002)
    node.wait(2 * HOUR, 60)


@incident(
    "gpu_lost@*61*",
    "ib_port_down@mlx5_3*|pcie_network_card_missing@*|nic_driver_fatal@*64*",
    root="pcie_link_down@*|pcie_aer_uncorrected@*|pcie_containment@*|gpu_lost@*61*",
    may=(
        *("pcie_link_down", "pcie_aer_uncorrected", "pcie_containment", "nic_driver_fatal"),
        *("pcie_network_card_missing", "ib_port_down", "gpu_init_failed", "gpu_hung"),
        *("pcie_device_inaccessible", *FABRIC, *NET, *GONE),
    ),
    never=("gpu_ecc_uncorrected", "nvme_controller_failed", "driver_version_mismatch"),
    unfit=True,
    fit_at_end=False,
    node=box_of_h100,
)
def switch_of_the_bus_takes_a_card_and_its_rail(node: Story) -> None:
    """A PCIe switch fails: the card and the adapter below it are gone in the same second."""
    port = "pcieport 0000:60:00.0"
    node.put("Pcie", "devices", "rail 64", parent="0000:60:00.0")
    node.wait(1500, 60)
    node.log(
        f"{port}: pciehp: Slot(16): Link Down",
        f"{port}: pciehp: Slot(16): Card not present",
    )
    node.xid("61", 79, FELL, pid="'<unknown>'", name="<unknown>")
    node.log(
        "NVRM: GPU 0000:61:00.0: GPU has fallen off the bus.",
        "mlx5_core 0000:64:00.0: poll_health:954:(pid 0): Fatal error 1 detected",
        "mlx5_core 0000:64:00.0: mlx5_error_sw_reset:225:(pid 88121): start",
    )
    loses(node, "61")
    node.put("Infiniband", "ports", "mlx5_3", state="down", phys_state="disabled")
    waits(node, *others(node, "61"))
    node.wait(60, 15)
    node.put("Pcie", "devices", **{"rail 64": None, "61": None})
    node.put("Infiniband", ports={"mlx5_3": None})
    node.wait(480, 30)
    aborts(node, "61")
    node.wait(3 * HOUR, 120)


@incident(
    *("net_link_down@eno1", "md_array_degraded@md5"),
    root=(
        "net_link_down@eno1|nic_cable_unplugged@*",
        "md_array_degraded@md5|disk_io_errors@sdb|disk_offline@sdb",
    ),
    may=("disk_offline", "nfs_server_stalled", *BROKEN_DISK, *NET, *WAITING),
    never=("filesystem_full", "storage_adapter_failed", "nic_driver_fatal"),
    unfit=True,
    node=backup_server,
)
def server_of_backups_has_a_bad_friday(node: Story) -> None:
    """A disk is taken offline and thrown out of its array; hours later the network is lost."""
    node.rate(2500.0, "Network", "interfaces", "eno1", "receive_packets")
    node.rate(1500.0, "Network", "interfaces", "eno1", "transmit_packets")
    node.wait(1200, 60)
    node.log(
        "sd 0:0:1:0: Device offlined - not ready after error recovery",
        "sd 0:0:1:0: [sdb] tag#2208 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK "
        "cmd_age=92s",
        "I/O error, dev sdb, sector 8 op 0x1:(WRITE) flags 0x20800 phys_seg 1 prio class 2",
        "md: super_written gets error=-5",
        "md/raid:md5: Disk failure on sdb, disabling device.",
        "md/raid:md5: Operation continuing on 7 devices.",
    )
    node.put("Disks", "disks", "sdb", scsi_state="offline")
    node.put("MdArrays", "arrays", "md5", active_disks=7, failed_disks=1, missing_disks=1)
    node.wait(4 * HOUR, 120)
    node.log("ixgbe 0000:5c:00.0 eno1: NIC Link is Down")
    for way in ("receive_packets", "transmit_packets"):
        node.rate(0.0, "Network", "interfaces", "eno1", way)
    place = ("Network", "interfaces", "eno1")
    node.put(*place, up=False, operstate="down", carrier_changes=3, speed_bytes_per_second=None)
    node.put("Filesystems", "filesystems", "/home", **AWAY)
    node.wait(2 * HOUR, 120)


@incident(
    *("memory_corrected_rate@*", "clock_not_synced@*"),
    root=("memory_corrected_rate@*", "clock_not_synced@*"),
    may=("machine_check_corrected_rate", "memory_page_offlined", "firmware_hardware_error"),
    never=("memory_uncorrected", "machine_check", "disk_io_errors"),
    unfit=False,
    node=database_server,
)
def clock_and_module_of_one_server(node: Story) -> None:
    """A server without a time service for a day also has a module that corrects all the time."""
    place = ("MemoryErrors", "controllers", "mc1")
    node.put("Clock", synchronized=False, error_seconds=16.0, was_synchronized=True)
    node.wait(2 * HOUR, 300)
    node.rate(1.5, *place, "corrected_errors")
    node.rate(1.5, *place, "dimms", "a", "corrected_errors")
    for number in range(24):
        node.log(
            f"EDAC MC1: 22 CE memory scrubbing error on {DIMM} (channel:0 slot:0 "
            f"page:0x81c40{number:x} offset:0x1c0 grain:32 syndrome:0x0 -  "
            "err_code:0x0008:0x00c0)"
        )
        node.wait(900, 60)


@incident(
    *("fan_stopped@*", "gpu_overheat@*|gpu_thermal_slowdown@*|gpu_thermal_throttle@*"),
    root="fan_stopped@*",
    may=(
        *("board_too_hot", "node_inlet_hot", "gpu_clock_low", "gpu_thermal_throttle"),
        *("gpu_thermal_slowdown", "gpu_overheat", *SPIN),
    ),
    never=("gpu_lost", "power_supply_alarm", "gpu_fan_stopped", "gpu_power_brake"),
    unfit=True,
    gone=("fan_stopped",),
    fit_at_end=True,
    node=four_l40s,
)
def boards_without_wind_slow_down(node: Story) -> None:
    """Two of three fans stop: the boards climb to 90 degrees and are throttled until new ones."""
    node.wait(1200, 60)
    for fan in ("fan1", "fan2"):
        node.put("Sensors", "sensors", fan, value=0.0, alarm=True)
    node.put("Sensors", "sensors", "fan3", value=13_900.0)
    for heat in (74.0, 81.0, 86.0, 89.0):
        node.gpus(temperature_celsius=heat)
        node.wait(120, 30)
    node.gpus(
        temperature_celsius=90.0,
        throttle_active={"hw_slowdown": 1, "hw_thermal_slowdown": 1},
        clock_hertz={"graphics": 1.02e9, "sm": 1.02e9},
        power_draw_watts=141.0,
        power_average_watts=141.0,
    )
    node.wait(5400, 60)
    for fan in ("fan1", "fan2", "fan3"):
        node.put("Sensors", "sensors", fan, value=8400.0, alarm=False)
    node.gpus(
        temperature_celsius=66.0,
        throttle_active={"hw_slowdown": 0, "hw_thermal_slowdown": 0},
        clock_hertz={"graphics": 2.31e9, "sm": 2.31e9},
        power_draw_watts=274.0,
        power_average_watts=274.0,
    )
    node.wait(2 * HOUR, 60)


@incident(
    *("ib_port_down@mlx5_0*", "nvme_overheat@nvme1*"),
    root=("ib_port_down@mlx5_0*|nic_cable_unplugged@*", "nvme_overheat@nvme1*"),
    may=("nic_cable_unplugged", "disk_slow", "nvme_warns", "io_stall", *FABRIC),
    never=("gpu_lost", "nvme_controller_failed", "nic_driver_fatal"),
    unfit=True,
    node=box_of_b200,
)
def hot_disk_and_a_dark_rail(node: Story) -> None:
    """A disk without an air guide is too hot all day; at four a rail of the node goes down."""
    place = {
        "kind": "temperature",
        "hw_id": "nvme1",
        "hw_name": "nvme",
        "sensor": "Composite",
        "limits": {"high.degraded": 69.85, "high.critical": 79.85},
    }
    node.put("Sensors", "sensors", nvme1={**place, "value": 60.0})
    node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=60.0)
    node.wait(900, 60)
    for heat in (66.0, 71.0, 75.0):
        node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=heat)
        node.put("Sensors", "sensors", "nvme1", value=heat)
        node.wait(600, 60)
    node.wait(3 * HOUR, 120)
    port_falls(node, "mlx5_0", 1)
    waits(node, watts=210.0)
    node.wait(660, 30)
    aborts(node, watts=144.0)
    node.wait(2 * HOUR, 120)


CASES = (
    weak_cable_and_a_weak_row,
    switch_of_the_bus_takes_a_card_and_its_rail,
    server_of_backups_has_a_bad_friday,
    clock_and_module_of_one_server,
    boards_without_wind_slow_down,
    hot_disk_and_a_dark_rail,
)
