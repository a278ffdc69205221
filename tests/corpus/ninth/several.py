"""Incidents of several faults: a cause, and what follows from it on the same node."""

from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import (
    DRAM_ROW,
    HOUR,
    b300s,
    hpc_worker,
    others,
    roce_box,
    waits,
    with_past,
)
from tests.corpus.parts import GIB, limits
from tests.corpus.seventh.nodes import HEAT, LINKS, NOBODY, SPINS, hgx, rests
from tests.corpus.story import Story
from tests.corpus.words import DOUBLE_BIT, FELL, GPU_AFTER, STARVED

STALLS = (*SPINS, *STARVED, "ib_link_errors")


@incident(
    *("ib_port_down@mlx5_0*", "network_filesystem_stalled@*"),
    root=("ib_port_down@mlx5_0*",),
    may=(*STALLS, "cpu_saturated"),
    unfit=True,
    gone=("ib_port_down", "network_filesystem_stalled"),
    fit_at_end=True,
    node=hpc_worker,
)
def scratch_stalls_behind_a_port_that_is_down(node: Story) -> None:
    """The only fabric port is down for ten minutes: Lustre waits, ranks sleep, then all recover."""
    node.wait(300, 60)
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_0", errors={"link_downed": 1})
    node.wait(60)
    node.log(
        "LNetError: 2790:0:(o2iblnd_cb.c:3394:kiblnd_check_conns()) Timed out RDMA with "
        "192.0.2.75@o2ib (107): c: 8, oc: 0, rc: 8",
        "Lustre: scratch-OST0004-osc-ffff8b7c: Connection to scratch-OST0004 (at 192.0.2.75@o2ib) "
        "was lost; in progress operations using this service will wait for recovery to complete",
        "Lustre: scratch-MDT0000-mdc-ffff8b7c: Connection to scratch-MDT0000 (at 192.0.2.72@o2ib) "
        "was lost; in progress operations using this service will wait for recovery to complete",
    )
    node.put("Cpu", usage_percent=1.0, used_cores=1.0, processes_blocked=126)
    node.wait(540, 30)
    node.put("Infiniband", "ports", "mlx5_0", state="active", phys_state="linkup")
    node.wait(30)
    node.log(
        "Lustre: scratch-MDT0000-mdc-ffff8b7c: Connection restored to 192.0.2.72@o2ib (at "
        "192.0.2.72@o2ib)",
        "Lustre: scratch-OST0004-osc-ffff8b7c: Connection restored to 192.0.2.75@o2ib (at "
        "192.0.2.75@o2ib)",
    )
    node.put("Cpu", usage_percent=92.0, used_cores=118.0, processes_blocked=0)
    node.wait(2 * HOUR, 120)


@incident(
    *("fan_stopped@*", "gpu_thermal_slowdown@*|gpu_thermal_throttle@*"),
    root=("fan_stopped@*",),
    may=(*HEAT, "gpu_memory_overheat", "node_inlet_hot", "board_too_hot", "nvswitch_hot"),
    unfit=True,
    gone=("fan_stopped", *HEAT),
    fit_at_end=True,
    node=b300s,
)
def controller_of_fans_dies(node: Story) -> None:
    """All fans stop at once, eight cards throttle within minutes; the job is stopped, fans back."""
    node.wait(120)
    for fan in ("fan1", "fan2", "fan3"):
        node.put("Sensors", "sensors", fan, value=0.0, alarm=True)
    for heat in (72.0, 80.0, 85.0, 88.0):
        node.gpus(temperature_celsius=heat, memory_temperature_celsius=heat + 5.0)
        node.gpus(thermal_margin_celsius=max(87.0 - heat, 0.0))
        node.wait(45, 15)
    node.gpus(throttle_active=limits("hw_thermal_slowdown"), power_draw_watts=310.0)
    node.gpus(clock_hertz={"graphics": 6.0e8, "sm": 6.0e8})
    node.wait(240, 15)
    rests(node, 150.0)
    node.gpus(temperature_celsius=79.0, memory_temperature_celsius=84.0, thermal_margin_celsius=8.0)
    node.gpus(throttle_active=limits("gpu_idle"), clock_hertz={"graphics": 3.45e8, "sm": 3.45e8})
    node.wait(1800, 60)
    for fan in ("fan1", "fan2", "fan3"):
        node.put("Sensors", "sensors", fan, value=8400.0, alarm=False)
    node.gpus(temperature_celsius=34.0, memory_temperature_celsius=38.0)
    node.gpus(thermal_margin_celsius=53.0)
    node.wait(HOUR, 60)


@incident(
    *("gpu_lost@GPU-19", "gpu_lost@GPU-2d", "gpu_lost@GPU-3f", "gpu_lost@GPU-66"),
    root=("pcie_containment@0000:17:01.0|pcie_aer_uncorrected@0000:17:01.0",),
    may=(
        *(*GPU_AFTER, *LINKS, *SPINS, "pcie_aer_uncorrected", "pcie_containment"),
        *("pcie_link_down", "pcie_device_inaccessible"),
    ),
    unfit=True,
    lasts=("gpu_lost@GPU-19", "gpu_lost@GPU-2d"),
    fit_at_end=False,
    node=hgx,
)
def port_above_four_cards_fails(node: Story) -> None:
    """A root port contains a fatal error: the four cards below it are lost at once."""
    node.wait(120)
    node.log(
        "pcieport 0000:17:01.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcieport 0000:17:01.0: DPC: unmasked uncorrectable error detected",
        "pcieport 0000:17:01.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link "
        "Layer, (Receiver ID)\n"
        "pcieport 0000:17:01.0:   device [8086:352a] error status/mask=00000010/00100000\n"
        "pcieport 0000:17:01.0:    [ 4] DLP                    (First)",
        "pcieport 0000:17:01.0: AER: device recovery failed",
    )
    for bus in ("19", "2d", "3f", "66"):
        node.xid(bus, 79, FELL, **NOBODY)
        node.lose(bus)
    waits(node, "9b", "ae", "bf", "e4")
    node.wait(600, 30)
    rests(node, 72.0)
    node.wait(2 * HOUR, 240)


@incident(
    *("gpu_memory_uncontained@GPU-9b", "gpu_ecc_uncorrected@GPU-9b"),
    root=("gpu_ecc_uncorrected@GPU-9b|gpu_memory_uncontained@GPU-9b",),
    may=(*GPU_AFTER, *SPINS, *LINKS, "gpu_row_remap_pending", "gpu_channel_timeout"),
    unfit=True,
    gone=("gpu_memory_uncontained", "gpu_ecc_uncorrected", "gpu_row_remap_pending"),
    fit_at_end=True,
    node=hgx,
)
def error_of_one_card_ends_all_and_is_reset_away(node: Story) -> None:
    """Xid 48, 63, 95 and 154 of one card, Xid 45 of the others; all eight are reset at once."""
    node.wait(120)
    node.xid("9b", 48, DOUBLE_BIT, pid="4715", name="python3")
    node.xid("9b", 63, DRAM_ROW.format(0x0C11D3280), **NOBODY)
    node.xid("9b", 95, "Uncontained: MMU (0x7). RST: Yes, D-RST: No", pid="4715", name="python3")
    node.xid("9b", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("9b", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("9b", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    node.gpu("9b", recovery_action="reset")
    waits(node, *others(node, "9b"))
    node.wait(120, 15)
    for rank, bus in enumerate(node.bus_addresses):
        if bus != "9b":
            node.xid(bus, 45, "Ch 00000007", pid=str(4711 + rank), name="python3")
    rests(node, 72.0)
    node.wait(900, 60)
    unloads(node, 75)
    loads(node, with_past(hgx, "9b", remapped_rows_total={"uncorrected": 1}))
    node.wait(2 * HOUR, 120)


@incident(
    *("net_link_down@eth0", "nfs_server_stalled@192.0.2.10"),
    root=("net_link_down@eth0",),
    may=(*STALLS, "net_link_flap", "tcp_retransmit_burst", "nfs_locks_lost", "clock_not_synced"),
    gone=("net_link_down", "nfs_server_stalled", "filesystem_stuck"),
    fit_at_end=True,
    node=roce_box,
)
def homes_are_away_while_the_front_network_is_down(node: Story) -> None:
    """The front port loses its link for six minutes: the homes stall, the job goes on."""
    node.wait(300, 60)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link down")
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.rate(0.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(0.0, "Network", "interfaces", "eth0", "transmit_packets")
    node.wait(120, 15)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    node.wait(240, 15)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link up")
    node.put("Network", "interfaces", "eth0", up=True, operstate="up", carrier_changes=4)
    node.rate(1000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(1000.0, "Network", "interfaces", "eth0", "transmit_packets")
    node.wait(30)
    node.log("nfs: server 192.0.2.10 OK")
    node.put("Filesystems", "filesystems", "/home", unreachable=False, size_bytes=10**12)
    node.wait(2 * HOUR, 120)


@incident(
    *("node_oom_kill@node", "gpu_memory_orphan@GPU-2d"),
    root=("node_oom_kill@node|memory_pressure@node", "gpu_memory_orphan@GPU-2d|node_oom_kill@node"),
    may=(
        *(*SPINS, "memory_pressure", "memory_swapping", "process_oom_kill", "process_crashed"),
        *("oom_kill_without_log", "io_stall", "gpu_memory_pressure", "gpu_app_fault"),
    ),
    unfit=True,
    gone=("node_oom_kill", "memory_pressure"),
    fit_at_end=True,
    node=hgx,
)
def kill_of_the_kernel_leaves_memory_on_a_card(node: Story) -> None:
    """The node is out of memory, a rank is killed; what it held on its card is not freed."""
    for left in (200, 60, 15, 3):
        node.put("Memory", available_bytes=left * GIB, free_bytes=min(left, 3) * GIB)
        node.wait(60, 15)
    node.log(
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/user.slice/user-1007.slice,task=python3,pid=4712,uid=1007",
        "Out of memory: Killed process 4712 (python3) total-vm:991200112kB, "
        "anon-rss:610231040kB, file-rss:91040kB, shmem-rss:220kB, UID:1007 pgtables:1220400kB "
        "oom_score_adj:0",
    )
    node.put("Paging", oom_kills=1)
    node.xid("2d", 45, "Ch 00000003", pid="4712", name="python3")
    node.put("Workloads", "clients", **{"4712": None})
    node.gpu("2d", processes=[], utilization_percent=0.0, power_draw_watts=118.0)
    node.wait(15)
    node.put("Memory", available_bytes=600 * GIB, free_bytes=560 * GIB)
    totals = [
        {"gpu_uuid": f"GPU-{bus}", "orphan_memory_bytes": 60 * GIB if bus == "2d" else 0}
        for bus in node.bus_addresses
    ]
    node.put("Workloads", totals=totals)
    node.wait(2 * HOUR, 120)


CASES = (
    scratch_stalls_behind_a_port_that_is_down,
    controller_of_fans_dies,
    port_above_four_cards_fails,
    error_of_one_card_ends_all_and_is_reset_away,
    homes_are_away_while_the_front_network_is_down,
    kill_of_the_kernel_leaves_memory_on_a_card,
)
