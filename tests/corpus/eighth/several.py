"""Incidents of several parts, two at once, and ones amid which the exporter restarts."""

from tests.corpus.eighth.nodes import HOURS, b200_box, cloud_a100s, flaps, kubelet_node, rank_ends
from tests.corpus.fifth.nodes import a100s
from tests.corpus.labels import incident
from tests.corpus.parts import limits
from tests.corpus.seventh.nodes import HEAT, LINKS, NOBODY, SPINS, hgx, mi300s, restarts
from tests.corpus.sixth.nodes import h200s, rack_server
from tests.corpus.story import Story
from tests.corpus.words import DOUBLE_BIT, FELL, GPU_AFTER, STARVED


@incident(
    *("gpu_ecc_uncorrected@GPU-23", "ib_port_down@mlx5_2*"),
    root=("gpu_ecc_uncorrected@GPU-23", "ib_port_down@mlx5_2*"),
    may=(*GPU_AFTER, *SPINS, "gpu_memory_contained", "gpu_row_remap_pending", "ib_link_errors"),
    unfit=True,
    lasts=("gpu_ecc_uncorrected@GPU-23",),
    gone=("ib_port_down",),
    fit_at_end=False,
    node=h200s,
)
def port_falls_hours_before_a_stack_fails(node: Story) -> None:
    """A fabric port is down for twenty minutes and stable again; hours later a card has Xid 48."""
    node.wait(60)
    node.put("Infiniband", "ports", "mlx5_2", state="down", phys_state="polling")
    node.wait(1200, 30)
    node.put("Infiniband", "ports", "mlx5_2", state="active", phys_state="linkup")
    node.wait(4 * 3600, 300)
    node.xid("23", 48, DOUBLE_BIT, **NOBODY)
    node.gpu("23", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("23", row_remap_pending=True)
    rank_ends(node, "23", "4712")
    node.wait(HOURS, 240)


@incident(
    "gpu_lost@GPU-c8",
    may=(*GPU_AFTER, *LINKS, *SPINS),
    unfit=True,
    lasts=("gpu_lost@GPU-c8",),
    fit_at_end=False,
    node=a100s,
)
def exporter_restarts_a_minute_after_a_loss(node: Story) -> None:
    """Xid 79; the exporter is started again while the card is away, and sees what was printed."""
    node.wait(300, 60)
    node.xid("c8", 79, FELL, **NOBODY)
    node.lose("c8")
    node.wait(60, 15)
    restarts(node, 30)
    node.wait(HOURS, 240)


@incident(
    *("fan_stopped@*", "gpu_thermal_slowdown@GPU-07|gpu_thermal_throttle@GPU-07"),
    *("gpu_thermal_slowdown@GPU-0b|gpu_thermal_throttle@GPU-0b",),
    root=("fan_stopped@*",),
    may=(*HEAT, "gpu_memory_overheat", "node_inlet_hot"),
    unfit=True,
    gone=("fan_stopped", *HEAT),
    fit_at_end=True,
    node=a100s,
)
def wall_of_fans_fails_in_front_of_two_cards(node: Story) -> None:
    """Two fans stop, the two cards behind them get hot within minutes; both are changed at noon."""
    node.wait(120)
    for fan in ("fan1", "fan2"):
        node.put("Sensors", "sensors", fan, value=0.0, alarm=True)
    node.wait(240, 15)
    for bus in ("07", "0b"):
        node.gpu(bus, temperature_celsius=88.0, memory_temperature_celsius=94.0)
        node.gpu(bus, throttle_active=limits("sw_thermal_slowdown"), power_draw_watts=240.0)
        node.gpu(bus, clock_hertz={"graphics": 9.3e8, "sm": 9.3e8})
    node.wait(3600, 60)
    for fan in ("fan1", "fan2"):
        node.put("Sensors", "sensors", fan, value=8500.0, alarm=False)
    for bus in ("07", "0b"):
        node.gpu(bus, temperature_celsius=61.0, memory_temperature_celsius=70.0)
        node.gpu(bus, throttle_active=limits(), power_draw_watts=335.0)
        node.gpu(bus, clock_hertz={"graphics": 1.365e9, "sm": 1.365e9})
    node.wait(3600, 60)


@incident(
    *("net_link_flap@ens1f0", "filesystem_full@/"),
    root=("net_link_flap@ens1f0", "filesystem_full@/"),
    may=("net_link_down", "tcp_retransmit_burst"),
    unfit=True,
    gone=("filesystem_full",),
    fit_at_end=True,
    node=kubelet_node,
)
def exporter_restarts_while_a_link_flaps_and_a_disk_fills(node: Story) -> None:
    """A leg flaps; meanwhile logs fill the root. The exporter is away for a minute in between."""
    node.wait(60)
    flaps(node, "ens1f0", 7, 5, 150)
    node.put("Filesystems", "filesystems", "/", available_bytes=8 * 10**9, free_bytes=8 * 10**9)
    node.wait(60, 60)
    flaps(node, "ens1f0", 7, 5, 150)
    node.wait(1800, 60)
    node.put("Filesystems", "filesystems", "/", available_bytes=4 * 10**11, free_bytes=4 * 10**11)
    node.wait(1800, 60)


@incident(
    *("gpu_gsp_failure@GPU-bf", "gpu_lost@GPU-bf"),
    root=("gpu_gsp_failure@GPU-bf|gpu_lost@GPU-bf",),
    may=(*GPU_AFTER, *LINKS, *SPINS, "gpu_xid_critical"),
    unfit=True,
    lasts=("gpu_lost@GPU-bf",),
    fit_at_end=False,
    node=b200_box,
)
def card_is_silent_before_it_leaves_the_bus(node: Story) -> None:
    """Xid 119 of one card, and four minutes later Xid 79 of the same one."""
    node.wait(60)
    text = (
        "Timeout after 45s of waiting for RPC response from GPU6 GSP! Expected function 76 "
        "(GSP_RM_CONTROL) sequence 99127 (0x20803032 0x58c)."
    )
    for _ in range(3):
        node.xid("bf", 119, text, pid="3310", name="nv-hostengine")
        node.wait(80, 20)
    node.xid("bf", 79, FELL, **NOBODY)
    node.lose("bf")
    node.wait(HOURS, 240)


@incident(
    "gpu_ecc_uncorrected@GPU-2d",
    may=(*GPU_AFTER, *SPINS, "gpu_pages_retired", "gpu_reset_failed", "gpu_ring_timeout"),
    unfit=True,
    node=mi300s,
)
def poison_is_consumed_on_an_instinct(node: Story) -> None:
    """An uncorrectable error of one stack of an MI300X ends a rank; its page is retired."""
    card = "amdgpu 0000:2d:00.0: amdgpu:"
    node.wait(120)
    node.log(
        f"{card} {{12}}socket: 1, die: 0, 1 new uncorrectable hardware errors detected in umc "
        "block",
        f"{card} {{12}}socket: 1, die: 0, 1 uncorrectable hardware errors detected in total in umc "
        "block",
        f"{card} RAS poison is consumed by vmid: 8 pasid: 32770 block: gfx",
        f"{card} saved 1 pages to EEPROM table.",
    )
    node.gpu("2d", ecc_errors_total={"uncorrected": {"volatile": 1}})
    rank_ends(node, "2d", "4712")
    node.wait(HOURS, 240)


@incident(
    *("gpu_lost@GPU-9b", "nvme_controller_failed@nvme1n1"),
    root=("gpu_lost@GPU-9b", "nvme_controller_failed@nvme1n1"),
    may=(
        *(*GPU_AFTER, *LINKS, *SPINS, *STARVED),
        *("nvme_timeout", "filesystem_shutdown", "filesystem_error"),
    ),
    unfit=True,
    lasts=("gpu_lost@GPU-9b", "nvme_controller_failed@nvme1n1"),
    fit_at_end=False,
    node=hgx,
)
def disk_dies_on_a_node_that_waits_for_a_technician(node: Story) -> None:
    """A card is lost in the morning; in the afternoon the controller of a disk is given up too."""
    node.wait(60)
    node.xid("9b", 79, FELL, **NOBODY)
    node.lose("9b")
    node.wait(5 * 3600, 600)
    node.log(
        "nvme nvme1: I/O tag 77 (204d) opcode 0x2 (I/O Cmd) QID 31 timeout, reset controller",
        "nvme nvme1: Device not ready; aborting reset, CSTS=0x1",
        "nvme nvme1: Disabling device after reset failure: -19",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.wait(HOURS, 240)


@incident(
    *("md_array_degraded@md0", "disk_io_errors@nvme3n1"),
    root=("disk_io_errors@nvme3n1",),
    may=(*STARVED, "nvme_media_errors", "nvme_timeout"),
    unfit=True,
    lasts=("md_array_degraded@md0",),
    fit_at_end=False,
    node=rack_server,
)
def exporter_restarts_after_a_mirror_has_broken(node: Story) -> None:
    """Half of a mirror of NVMe disks fails; the exporter is away for two minutes soon after."""
    whole = {"failed_disks": 0, "missing_disks": 0, "spare_disks": 0, "active_disks": 2}
    mirror = {"device": "md0", "state": "active", "level": "raid1", **whole}
    node.put(MdArrays={"arrays": {"md0": mirror}})
    node.wait(300, 60)
    node.log(
        "I/O error, dev nvme3n1, sector 20480 op 0x1:(WRITE) flags 0x800 phys_seg 3 prio class 2",
        "md: super_written gets error=-5",
        "md/raid1:md0: Disk failure on nvme3n1p1, disabling device.\n"
        "md/raid1:md0: Operation continuing on 1 devices.",
    )
    node.put("MdArrays", "arrays", "md0", active_disks=1, failed_disks=1, missing_disks=1)
    node.wait(120, 30)
    node.wait(120, 120)
    node.wait(HOURS, 120)


@incident(
    "gpu_memory_orphan@GPU-66",
    may=(*SPINS, "gpu_memory_pressure", "gpu_app_fault"),
    unfit=False,
    fit_at_end=True,
    node=cloud_a100s,
)
def killed_notebook_keeps_its_memory(node: Story) -> None:
    """A notebook is killed, its card still counts thirty gibibytes that nobody owns."""
    node.wait(120)
    node.xid("66", 45, "Ch 00000002", pid="4714", name="python3")
    node.put("Workloads", "clients", **{"4714": None})
    node.gpu("66", processes=[], utilization_percent=0.0, power_draw_watts=52.0)
    totals = [
        {"gpu_uuid": f"GPU-{bus}", "orphan_memory_bytes": 33 * 2**30 if bus == "66" else 0}
        for bus in node.bus_addresses
    ]
    node.put("Workloads", totals=totals)
    node.wait(3600, 60)


CASES = (
    port_falls_hours_before_a_stack_fails,
    exporter_restarts_a_minute_after_a_loss,
    wall_of_fans_fails_in_front_of_two_cards,
    exporter_restarts_while_a_link_flaps_and_a_disk_fills,
    card_is_silent_before_it_leaves_the_bus,
    poison_is_consumed_on_an_instinct,
    disk_dies_on_a_node_that_waits_for_a_technician,
    exporter_restarts_after_a_mirror_has_broken,
    killed_notebook_keeps_its_memory,
)
