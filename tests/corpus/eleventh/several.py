"""Several faults with one cause, two faults that have nothing to do with each other."""

from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    cluster_worker,
    disk_server,
    pair_of_a100,
    quad_of_a100,
    quad_of_l4,
)
from tests.corpus.eleventh.nodes import (
    BROKEN_DISK,
    GONE,
    HOT,
    HOUR,
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
from tests.corpus.parts import DIMM, JOB
from tests.corpus.story import Story
from tests.corpus.words import FELL

ROW = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
FABRIC = ("ib_link_errors", "ib_port_errors", "ib_port_rate_low", *SPIN)


@incident(
    *("power_supply_alarm@*", "ib_port_down@mlx5_3*"),
    root=("power_supply_alarm@*", "ib_port_down@mlx5_3*"),
    may=("nic_cable_unplugged", "gpu_power_brake", *FABRIC),
    never=("gpu_lost", "gpu_overheat", "nic_driver_fatal"),
    unfit=True,
    node=chassis_of_h100,
)
def supply_in_the_morning_and_rail_at_night(node: Story) -> None:
    """One of six supplies fails in the morning, a rail goes down at night: two faults."""
    node.wait(900, 60)
    node.put("Sensors", "sensors", "psu2", value=0.0, alarm=True)
    for number in (1, 3, 4, 5, 6):
        node.put("Sensors", "sensors", f"psu{number}", value=1830.0)
    node.wait(4 * HOUR, 120)
    port_falls(node, "mlx5_3", 1)
    waits(node)
    node.wait(660, 30)
    aborts(node)
    node.wait(2 * HOUR, 120)


@incident(
    *("ib_port_down@mlx5_0*", "ib_port_down@mlx5_1*"),
    root=("ib_port_down@mlx5_0*", "ib_port_down@mlx5_1*"),
    may=("nic_cable_unplugged", "network_filesystem_stalled", *FABRIC, *WAITING),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    unfit=True,
    gone=("ib_port_down",),
    fit_at_end=True,
    node=quad_of_a100,
)
def switch_of_both_rails_is_rebooted(node: Story) -> None:
    """The only switch of a rack starts anew: both rails are down for fourteen minutes."""
    node.wait(1200, 60)
    for name in ("mlx5_0", "mlx5_1"):
        port_falls(node, name, 1)
        node.put("Infiniband", "ports", name, peers_up=0)
    node.log(
        "Lustre: work-MDT0000-mdc-ffff9a0c1fd21000: Connection to work-MDT0000 (at "
        "198.51.100.4@o2ib) was lost; in progress operations using this service will wait for "
        "recovery to complete"
    )
    waits(node, watts=92.0)
    node.wait(840, 30)
    for name in ("mlx5_0", "mlx5_1"):
        port_rises(node, name)
        node.put("Infiniband", "ports", name, peers_up=1)
    node.wait(60)
    node.log(
        "Lustre: work-MDT0000-mdc-ffff9a0c1fd21000: Connection restored to 198.51.100.4@o2ib "
        "(at 198.51.100.4@o2ib)"
    )
    works(node, watts=305.0, heat=52.0)
    node.wait(2 * HOUR, 120)


@incident(
    "filesystem_shutdown@*|nvme_controller_failed@nvme1*",
    root="nvme_overheat@nvme1*|nvme_timeout@nvme1*|nvme_controller_failed@nvme1*",
    may=(
        *BROKEN_DISK,
        *WAITING,
        *("nvme_overheat", "nvme_timeout", "nvme_controller_failed", "nvme_warns"),
        *("source_failed", "disk_offline", "pcie_device_inaccessible"),
    ),
    never=("filesystem_full", "pcie_network_card_missing", "node_inlet_hot"),
    unfit=True,
    fit_at_end=False,
    node=cluster_worker,
)
def hot_disk_takes_its_filesystem_along(node: Story) -> None:
    """A disk reaches its critical heat, does not answer, is given up, and /var shuts down."""
    place = {
        "kind": "temperature",
        "hw_id": "nvme1",
        "hw_name": "nvme",
        "sensor": "Composite",
        "limits": {"high.degraded": 79.85, "high.critical": 83.85},
    }
    node.put("Sensors", "sensors", nvme1={**place, "value": 61.0})
    for heat in (68.0, 77.0, 81.0, 83.0, 86.0):
        node.wait(420, 60)
        node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=heat)
        node.put("Sensors", "sensors", "nvme1", value=heat)
    node.put("NvmeHealths", "controllers", "nvme1", critical_warning=2)
    node.wait(600, 60)
    node.put("Disks", "disks", "nvme1n1", io_in_flight=212)
    node.log("nvme nvme1: I/O tag 640 (0280) opcode 0x1 (I/O Cmd) QID 22 timeout, reset controller")
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.wait(75, 15)
    node.log(
        "nvme nvme1: Device not ready; aborting reset, CSTS=0x3",
        "nvme nvme1: Disabling device after reset failure: -19",
        "I/O error, dev nvme1n1, sector 244190720 op 0x1:(WRITE) flags 0x9800 phys_seg 4 "
        "prio class 2",
        "XFS (nvme1n1p1): log I/O error -5",
        "XFS (nvme1n1p1): Filesystem has been shut down due to log error (0x2).",
        "XFS (nvme1n1p1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.put("NvmeHealths", controllers={"nvme1": None})
    node.put("Sensors", sensors={"nvme1": None})
    node.put("Disks", disks={"nvme1n1": None})
    gone = {"size_bytes": None, "free_bytes": None, "available_bytes": None}
    node.put("Filesystems", "filesystems", "/var", unreachable=True, **gone)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_thermal_throttle@*4b*|gpu_overheat@*4b*",
    root="gpu_thermal_throttle@*4b*|gpu_overheat@*4b*|gpu_clock_low@*4b*",
    may=HOT,
    never=("nccl_hang", "gpu_lost", "gpu_power_brake", "nvlink_down"),
    node=chassis_of_b200,
)
def hot_card_makes_seven_others_wait(node: Story) -> None:
    """One card is at its limit of heat and late in each collective; the other seven wait for it."""
    world = {
        "id": "77aa01c2",
        "workload": JOB,
        "ranks": 8,
        "ranks_here": 8,
        "pids": list(range(4711, 4719)),
    }
    node.put("TracedCalls", libraries=1, communicators={"world": world})
    node.wait(1200, 60)
    for heat in (72.0, 81.0, 86.0):
        node.gpu("4b", temperature_celsius=heat, thermal_margin_celsius=87.0 - heat)
        node.wait(120, 30)
    node.gpu("4b", temperature_celsius=89.0, thermal_margin_celsius=-2.0, power_draw_watts=505.0)
    node.gpu("4b", power_average_watts=505.0, clock_hertz={"graphics": 9.9e8, "sm": 9.9e8})
    node.gpu("4b", throttle_active={"hw_slowdown": 1, "hw_thermal_slowdown": 1})
    for low in others(node, "4b"):
        node.gpu(low, power_draw_watts=560.0, power_average_watts=560.0)
    node.put(
        *("TracedCalls", "communicators", "world"),
        late="rank 3",
        late_pid=4714,
        late_secs=0.9,
        late_ratio=0.42,
    )
    node.wait(3 * HOUR, 60)


@incident(
    *("gpu_lost@*c4*", "filesystem_full@*"),
    root=("gpu_lost@*c4*", "filesystem_full@*"),
    may=("filesystem_files_low", "gpu_init_failed", "pcie_device_inaccessible", *GONE),
    never=("gpu_ecc_uncorrected", "disk_io_errors", "filesystem_readonly"),
    unfit=True,
    fit_at_end=False,
    node=quad_of_l4,
)
def board_is_lost_while_the_data_disk_is_filling(node: Story) -> None:
    """Recordings fill a data disk all day; in the afternoon the fourth board falls off its bus."""
    node.wait(900, 60)
    for left in (120, 60, 22, 8):
        free = left * 10**9
        node.put("Filesystems", "filesystems", "/data", free_bytes=free, available_bytes=free)
        node.wait(1500, 60)
    node.xid("c4", 79, FELL, pid="'<unknown>'", name="<unknown>")
    node.log("NVRM: GPU 0000:c4:00.0: GPU has fallen off the bus.")
    loses(node, "c4")
    node.wait(1200, 60)
    node.put("Filesystems", "filesystems", "/data", free_bytes=10**9, available_bytes=10**9)
    node.wait(3 * HOUR, 120)


@incident(
    *("memory_corrected_rate@*", "gpu_memory_contained@*2f*|gpu_ecc_uncorrected@*2f*"),
    root=(
        "memory_corrected_rate@*",
        "gpu_memory_contained@*2f*|gpu_ecc_uncorrected@*2f*",
    ),
    may=(
        *("machine_check_corrected_rate", "memory_page_offlined", "gpu_row_remap_pending"),
        *("gpu_memory_contained", "gpu_ecc_uncorrected", "firmware_hardware_error", *GONE),
    ),
    never=("memory_uncorrected", "gpu_lost", "gpu_memory_uncontained"),
    node=pair_of_a100,
)
def both_kinds_of_memory_are_weak(node: Story) -> None:
    """A module of the node corrects all day; at noon a board has a contained error and is reset."""
    place = ("MemoryErrors", "controllers", "mc1")
    node.wait(900, 60)
    node.rate(2.0, *place, "corrected_errors")
    node.rate(2.0, *place, "dimms", "a", "corrected_errors")
    for number in range(30):
        node.log(
            f"EDAC MC1: 8 CE memory read error on {DIMM} (channel:0 slot:0 page:0x8a41c{number:x} "
            "offset:0x280 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090)"
        )
        node.wait(480, 60)
        if number == 14:
            node.xid("2f", 63, ROW.format(0x11C0A0), pid="4711", name="python3")
            node.xid("2f", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4711")
            node.gpu("2f", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
            node.gpu("2f", row_remap_pending=True)
            aborts(node, watts=46.0, heat=33.0)
    is_reset(node, "2f")
    node.gpu("2f", row_remap_pending=False, remapped_rows_total={"uncorrected": 1})
    node.gpu("2f", ecc_errors_total={"uncorrected": {"volatile": 0}})
    node.wait(180)
    starts(node, pair_of_a100, 80_022)
    node.wait(HOUR, 60)


@incident(
    "nvme_timeout@nvme1*|pcie_aer_uncorrected@*|nvme_controller_failed@nvme1*",
    root="pcie_aer_uncorrected@*|nvme_timeout@nvme1*|pcie_containment@*",
    may=(
        *("pcie_aer_uncorrected", "pcie_containment", "nvme_controller_failed", "disk_slow"),
        *("nvme_timeout", "disk_stalled", "io_stall", "pcie_link_down"),
        *("process_waits_for_storage", "disk_io_errors"),
    ),
    never=("gpu_lost", "filesystem_readonly", "filesystem_shutdown", "pcie_nvme_missing"),
    fit_at_end=True,
    node=disk_server,
)
def bus_error_resets_a_disk_of_journals(node: Story) -> None:
    """A disk reports an error that is not fatal, commands time out, its reset makes it work."""
    node.wait(1200, 60)
    node.log(
        "pcieport 0000:5b:00.0: AER: Uncorrected (Non-Fatal) error message received from "
        "0000:5f:00.0",
        "nvme 0000:5f:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), "
        "type=Transaction Layer, (Requester ID)",
        "nvme 0000:5f:00.0:   device [144d:a824] error status/mask=00004000/00400000",
        "nvme 0000:5f:00.0:    [14] CmpltTO                (First)",
    )
    node.put("Pcie", "devices", "5f", errors_by_severity={"nonfatal": 1})
    node.put("Disks", "disks", "nvme1n1", io_in_flight=31)
    node.wait(30)
    node.log("nvme nvme1: I/O 402 QID 14 timeout, reset controller")
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.wait(15, 5)
    node.log("nvme nvme1: 64/0/0 default/read/poll queues")
    node.put("NvmeControllers", "controllers", "nvme1", state="live")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=0)
    node.wait(4 * HOUR, 120)


@incident(
    "gpu_lost@*25*",
    root="gpu_gsp_failure@*25*|gpu_lost@*25*",
    may=("gpu_gsp_failure", "gpu_hung", "gpu_locked", "gpu_suspect_hardware", *GONE),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "nvswitch_fatal"),
    unfit=True,
    fit_at_end=False,
    node=chassis_of_h200,
)
def silent_firmware_first_and_then_no_card(node: Story) -> None:
    """Xid 119 of one card for ten minutes, then Xid 79: it does not answer on its bus any more."""
    rpc = "Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76"
    node.wait(1200, 60)
    for number in range(5):
        node.lose("25", "timeout")
        node.xid(
            "25",
            119,
            f"{rpc} (GSP_RM_CONTROL) (0x2080a0{number + 10} 0x4).",
            pid="4712",
            name="pt_main_thread",
        )
        waits(node, *others(node, "25"))
        node.wait(120, 30)
    node.xid("25", 79, FELL, pid="4712", name="pt_main_thread")
    node.log("NVRM: GPU 0000:25:00.0: GPU has fallen off the bus.")
    node.xid("25", 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    loses(node, "25")
    node.wait(120, 30)
    aborts(node, "25")
    node.wait(3 * HOUR, 120)


CASES = (
    supply_in_the_morning_and_rail_at_night,
    switch_of_both_rails_is_rebooted,
    hot_disk_takes_its_filesystem_along,
    hot_card_makes_seven_others_wait,
    board_is_lost_while_the_data_disk_is_filling,
    both_kinds_of_memory_are_weak,
    bus_error_resets_a_disk_of_journals,
    silent_firmware_first_and_then_no_card,
)
