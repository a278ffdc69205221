"""Incidents and when they end: by a repair at once, without one never."""

from tests.corpus.labels import incident
from tests.corpus.machines import blackwell
from tests.corpus.parts import nic
from tests.corpus.story import Story
from tests.corpus.words import (
    DOUBLE_BIT,
    GPU_AFTER,
    GSP,
    LOADS,
    NOTHING,
    RESET,
    STARVED,
    comes_up,
    driver_loads_again,
    goes_down,
)

SYSTEM = "gpu_gsp_failure@GPU-3b"
UNCONTAINED = "gpu_memory_uncontained@GPU-3b"
ECC = "gpu_ecc_uncorrected@GPU-3b"
REMAP = "gpu_row_remap_pending@GPU-3b"
HALTED = "gpu_xid_critical@GPU-3b"
LINK = "gpu_nvlink_fatal@GPU-3b|nvlink_fatal@*3b:00.0*"
SWITCH = "nvswitch_fatal@*86:00*"
CARD = "nic_driver_fatal@eth0"
SHUT = "filesystem_shutdown@/data"
LONG = 3 * 3600
BROKEN_LINK = "NVLink: fatal error detected on link 6(0x10000000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"


def _gsp(node: Story) -> None:
    node.wait(60)
    node.xid("3b", 119, GSP, pid="2210", name="nvidia-smi")


@incident(SYSTEM, may=GPU_AFTER, unfit=True, lasts=(SYSTEM,), fit_at_end=False)
def system_processor_stays_dead(node: Story) -> None:
    """Xid 119 and nobody resets anything: three hours later it is as dead."""
    _gsp(node)
    node.wait(LONG, 300)


@incident(SYSTEM, may=GPU_AFTER, gone=(SYSTEM,), fit_at_end=True)
def system_processor_starts_with_the_driver(node: Story) -> None:
    """Xid 119, and after ten minutes the driver is unloaded and loaded."""
    _gsp(node)
    node.wait(600, 60)
    driver_loads_again(node)


def _uncontained(node: Story) -> None:
    node.wait(60)
    node.xid("3b", 95, "Uncontained: LTC TAG (0x2, 0x0). RST: Yes, D-RST: No")
    node.xid("3b", 154, RESET)
    node.gpu("3b", recovery_action="reset")


@incident(UNCONTAINED, may=GPU_AFTER, unfit=True, lasts=(UNCONTAINED,), fit_at_end=False)
def uncontained_error_and_nobody_resets(node: Story) -> None:
    """Xid 95; the driver asks for a reset that nobody makes for three hours."""
    _uncontained(node)
    node.wait(LONG, 300)


@incident(UNCONTAINED, may=(*GPU_AFTER, "gpu_reset_required"), is_over=True)
def uncontained_error_and_a_reset(node: Story) -> None:
    """Xid 95; the card is reset: the driver asks for nothing, volatile counters begin anew."""
    node.gpu("3b", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    _uncontained(node)
    node.wait(600, 60)
    node.job_ends()
    node.lose("3b", "reset_required")
    node.wait(15)
    node.state("3b", up=True, reason=None, stale=False)
    node.xid("3b", 154, NOTHING)
    node.gpu("3b", recovery_action="none")
    node.gpu("3b", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 1}})
    node.wait(30)


@incident(HALTED, may=GPU_AFTER, unfit=True, lasts=(HALTED,), fit_at_end=False)
def firmware_halted_and_stays_so(node: Story) -> None:
    """Xid 62: the power firmware halted; nothing is repaired for three hours."""
    node.wait(60)
    node.xid("3b", 62, "3259(2c54) 00000000 00000000")
    node.wait(LONG, 300)


@incident(HALTED, may=GPU_AFTER, gone=(HALTED,), fit_at_end=True)
def firmware_halted_and_the_driver_is_loaded(node: Story) -> None:
    """Xid 62, then the driver is loaded anew."""
    node.wait(60)
    node.xid("3b", 62, "3259(2c54) 00000000 00000000")
    node.wait(900, 60)
    driver_loads_again(node)


@incident(LINK, may=(*GPU_AFTER, "nvlink_errors"), unfit=True, lasts=(LINK,))
def link_broken_for_good(node: Story) -> None:
    """Xid 74 with a bit of hardware, and link 6 stays inactive."""
    node.wait(60)
    node.xid("3b", 74, BROKEN_LINK)
    node.gpu("3b", nvlink_up={"6": 0})
    node.wait(LONG, 300)


@incident(LINK, may=(*GPU_AFTER, "nvlink_errors"), gone=(LINK,), fit_at_end=True)
def link_trained_again_after_a_load(node: Story) -> None:
    """Xid 74 on link 6; the driver is loaded and all links are up."""
    node.wait(60)
    node.xid("3b", 74, BROKEN_LINK)
    node.gpu("3b", nvlink_up={"6": 0})
    node.wait(600, 60)
    driver_loads_again(node)


def _switch(node: Story) -> None:
    node.wait(60)
    where = "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 20034, "
    node.log(where + "Fatal, Link 30 LTSSM Fault Up")


@incident(SWITCH, may=GPU_AFTER, unfit=True, lasts=(SWITCH,))
def switch_is_left_as_it_is(node: Story) -> None:
    """A fatal SXid, and nobody resets the fabric."""
    _switch(node)
    node.wait(LONG, 300)


@incident(SWITCH, may=GPU_AFTER, gone=(SWITCH,), fit_at_end=True)
def switch_starts_with_the_driver(node: Story) -> None:
    """A fatal SXid, and the driver is loaded."""
    _switch(node)
    node.wait(600, 60)
    driver_loads_again(node)


def _card(node: Story) -> None:
    node.wait(60)
    node.log(
        "mlx5_core 0000:5c:00.0: print_health_info:500:(pid 0): synd 0x8: unrecoverable hardware "
        "error"
    )
    goes_down(node)


@incident(CARD, "net_link_down@eth0", unfit=True, lasts=(CARD,))
def network_card_stays_dead(node: Story) -> None:
    """An unrecoverable error of the card: its port never comes back."""
    _card(node)
    node.wait(LONG, 300)


@incident(CARD, "net_link_down@eth0", gone=(CARD,), fit_at_end=True)
def network_card_recovers(node: Story) -> None:
    """The card's health is restored by its driver after two minutes: the port is up again."""
    _card(node)
    node.wait(120)
    node.log("mlx5_core 0000:5c:00.0: mlx5_health_try_recover:334:(pid 412): health recovered")
    comes_up(node)
    node.wait(30)


def _shut(node: Story) -> None:
    node.wait(60)
    node.log("XFS (nvme1n1): Corruption of in-memory data (0x8) detected at xfs_trans_cancel+0x11")
    node.log("XFS (nvme1n1): Filesystem has been shut down due to in-memory corruption (0x8).")


@incident(SHUT, may=(*STARVED, "filesystem_error"), unfit=True, lasts=(SHUT,), fit_at_end=False)
def filesystem_stays_shut(node: Story) -> None:
    """XFS shuts down; it stays mounted and dead for three hours."""
    _shut(node)
    node.wait(LONG, 300)


@incident(SHUT, may=(*STARVED, "filesystem_error"), gone=(SHUT,), fit_at_end=True)
def filesystem_is_repaired_and_mounted(node: Story) -> None:
    """XFS shuts down; it is unmounted, repaired and mounted again."""
    _shut(node)
    node.wait(300, 30)
    mounted = node.take_away("Filesystems", "filesystems", "/data")
    node.log("XFS (nvme1n1): Unmounting Filesystem")
    node.wait(300, 30)
    node.put("Filesystems", "filesystems", **{"/data": mounted})
    node.log("XFS (nvme1n1): Mounting V5 Filesystem", "XFS (nvme1n1): Ending clean mount")
    node.wait(30)


@incident(ECC, may=(*GPU_AFTER, REMAP), is_over=True)
def memory_error_is_gone_with_the_load(node: Story) -> None:
    """Xid 48; the driver is loaded, volatile counters stand at 0: nothing holds any more."""
    node.wait(60)
    node.gpu("3b", ecc_errors_total={"uncorrected": {"volatile": 2, "aggregate": 2}})
    node.xid("3b", 48, DOUBLE_BIT)
    node.wait(600, 60)
    driver_loads_again(node)


@incident(REMAP, may=GPU_AFTER, is_over=True)
def repaired_row_after_a_reset(node: Story) -> None:
    """Xid 63 with the driver's flag; after the reset the flag is false, and that decides."""
    node.wait(60)
    node.xid("3b", 63, "Row Remapper: New row (0x0000000123456780) marked for remapping")
    node.gpu("3b", row_remap_pending=True, remapped_rows_total={"corrected": 1})
    node.wait(300, 30)
    node.gpu("3b", row_remap_pending=False)
    node.wait(30)


@incident("filesystem_readonly@/data", may=("filesystem_error",), is_over=True)
def filesystem_is_writable_again(node: Story) -> None:
    """ext4 goes read-only and is remounted read-write ten minutes later."""
    node.put("Filesystems", "filesystems", "/data", fstype="ext4")
    node.wait(60)
    node.log("EXT4-fs (nvme1n1): Remounting filesystem read-only")
    node.put("Filesystems", "filesystems", "/data", readonly=True)
    node.wait(600, 60)
    node.log("EXT4-fs (nvme1n1): re-mounted. Opts: (null). Quota mode: none.")
    node.put("Filesystems", "filesystems", "/data", readonly=False)
    node.wait(30)


@incident("nfs_server_stalled@192.0.2.10", may=STARVED, is_over=True, unfit=False)
def soft_mount_times_out_once(node: Story) -> None:
    """A soft mount gives up once; the mount answers all the time after that, and no OK comes."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, timed out")
    node.wait(1800, 60)


@incident("gpu_recovery_required@GPU-3b", may=GPU_AFTER, is_over=True)
def driver_takes_its_wish_back(node: Story) -> None:
    """Xid 154 asks for a reset, and again 154 says that nothing is needed."""
    node.gpus(recovery_action=None)
    node.wait(60)
    node.xid("3b", 154, RESET)
    node.wait(300, 30)
    node.xid("3b", 154, NOTHING)
    node.wait(30)


@incident("nvlink_down@GPU-3b", unfit=True, lasts=("nvlink_down@GPU-3b",))
def link_inactive_before_we_began_to_look(node: Story) -> None:
    """One link of one card is inactive from the first look on; those of its peers are active."""
    for bus in node.bus_addresses:
        node.gpu(bus, nvlink_up={"4": int(bus != "3b")})
    node.wait(600, 30)


@incident("net_link_down@eth1", lasts=("net_link_down@eth1",))
def interface_down_before_we_began_to_look(node: Story) -> None:
    """An interface that carried packets since boot has no link at the first look."""
    node.put("Network", "interfaces", eth1=nic("eth1", up=False, pci_bus_id="0000:5c:00.1"))
    node.wait(600, 30)


@incident("ib_port_down@mlx5_1*", unfit=True, lasts=("ib_port_down@mlx5_1*",))
def infiniband_port_down_before_we_began_to_look(node: Story) -> None:
    """A port that moved terabytes since its driver was loaded is polling at the first look."""
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="polling")
    node.wait(600, 30)


@incident("clock_not_synced@node", lasts=("clock_not_synced@node",), unfit=False)
def clock_never_synchronised(node: Story) -> None:
    """The time service runs and has been out of step since before we began to look."""
    node.put("Clock", synchronized=False, error_seconds=16.0, offset_seconds=0.4)
    node.wait(3600, 60)


@incident("gpu_count_low@node", unfit=True, lasts=("gpu_count_low@node",), may=("gpu_lost",))
def one_card_less_than_the_bus_from_the_start(node: Story) -> None:
    """NVML lists three cards from the first look on; the bus shows four."""
    node.put("Gpus", "states", bb=None)
    node.put("Workloads", "uses", bb=None)
    node.put("Workloads", "clients", **{"4714": None})
    node.wait(600, 30)


@incident(
    *("gpu_nvlink_fatal@GPU-3b|nvlink_fatal@*3b:00.0*",),
    may=GPU_AFTER,
    gone=("gpu_nvlink_fatal@GPU-3b|nvlink_fatal@*3b:00.0*",),
    node=blackwell,
)
def newer_link_fails_and_the_driver_is_loaded(node: Story) -> None:
    """Xid 146 with Fatal on a Blackwell card; ten minutes later the driver is loaded."""
    node.wait(60)
    words = "TLW_TX Fatal   XC0 i0 Link 09 (0x00000005 0x00000001 0x00000000 0x00000000)"
    node.xid("3b", 146, words)
    node.wait(600, 60)
    node.log(LOADS)
    node.wait(30)


CASES = (
    system_processor_stays_dead,
    system_processor_starts_with_the_driver,
    uncontained_error_and_nobody_resets,
    uncontained_error_and_a_reset,
    firmware_halted_and_stays_so,
    firmware_halted_and_the_driver_is_loaded,
    link_broken_for_good,
    link_trained_again_after_a_load,
    switch_is_left_as_it_is,
    switch_starts_with_the_driver,
    network_card_stays_dead,
    network_card_recovers,
    filesystem_stays_shut,
    filesystem_is_repaired_and_mounted,
    memory_error_is_gone_with_the_load,
    repaired_row_after_a_reset,
    filesystem_is_writable_again,
    soft_mount_times_out_once,
    driver_takes_its_wish_back,
    link_inactive_before_we_began_to_look,
    interface_down_before_we_began_to_look,
    infiniband_port_down_before_we_began_to_look,
    clock_never_synchronised,
    one_card_less_than_the_bus_from_the_start,
    newer_link_fails_and_the_driver_is_loaded,
)
