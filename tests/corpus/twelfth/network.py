"""Incidents of the network: rails, adapters, cables, what a port loses."""

from tests.corpus.eighth.nodes import flaps
from tests.corpus.eleventh.nodes import HOUR, NET, SPIN, aborts, port_falls, port_rises, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import hpc_worker, roce_box, waits, works
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    backup_server,
    box_of_b200,
    box_of_h100,
    box_of_h200,
    database_server,
    four_a100,
    web_worker,
)

FABRIC = ("ib_link_errors", "ib_port_errors", "ib_port_rate_low", "roce_congestion", *SPIN)
BOND = ("bond0: (slave {}): link status definitely down, disabling slave",)


@incident(
    "ib_port_down@mlx5_1*",
    root="ib_port_down@mlx5_1*|nic_cable_unplugged@*",
    may=("nic_cable_unplugged", "network_filesystem_stalled", *FABRIC),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    unfit=True,
    lasts=("ib_port_down@mlx5_1*",),
    fit_at_end=False,
    node=four_a100,
)
def second_rail_of_an_a100_node_is_dark(node: Story) -> None:
    """A rail loses its light at noon, the job ends, and nobody looks at the cable today."""
    node.wait(1500, 60)
    port_falls(node, "mlx5_1", 1)
    node.put("Infiniband", "ports", "mlx5_0", peers_up=0)
    waits(node, watts=88.0)
    node.wait(720, 30)
    aborts(node, watts=62.0, heat=30.0)
    node.wait(4 * HOUR, 120)


@incident(
    "ib_port_down@mlx5_6*",
    root="ib_port_down@mlx5_6*|nic_cable_unplugged@*",
    may=("nic_cable_unplugged", *FABRIC),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    unfit=True,
    gone=("ib_port_down",),
    fit_at_end=True,
    node=box_of_b200,
)
def transceiver_of_a_rail_is_reseated(node: Story) -> None:
    """A rail is down for fifty minutes; its transceiver is taken out and put in again."""
    node.wait(900, 60)
    port_falls(node, "mlx5_6", 1)
    waits(node, watts=210.0)
    node.wait(600, 30)
    aborts(node, watts=144.0)
    node.wait(2100, 60)
    node.log("mlx5_core 0000:cc:00.0: Port module event: module 0, Cable unplugged")
    node.wait(60, 15)
    node.log("mlx5_core 0000:cc:00.0: Port module event: module 0, Cable plugged")
    node.wait(30)
    port_rises(node, "mlx5_6")
    node.wait(300, 30)
    starts(node, box_of_b200, 70_100)
    node.wait(2 * HOUR, 120)


@incident(
    "ib_port_down@mlx5_3*|ib_link_errors@mlx5_3*",
    may=("ib_port_down", *FABRIC),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    node=box_of_h100,
)
def rail_of_a_node_comes_and_goes(node: Story) -> None:
    """A rail is down for twenty seconds every eight minutes for two hours, the job goes on."""
    node.wait(900, 60)
    for number in range(1, 16):
        port_falls(node, "mlx5_3", number)
        waits(node)
        node.wait(20, 5)
        port_rises(node, "mlx5_3")
        works(node)
        node.wait(460, 20)
    node.wait(900, 60)


@incident(
    "ib_link_errors@mlx5_0*",
    may=("ib_port_errors", "network_filesystem_stalled"),
    never=("ib_port_down", "nic_driver_fatal"),
    unfit=False,
    lasts=("ib_link_errors@mlx5_0*",),
    node=hpc_worker,
)
def dust_is_on_the_end_of_a_fibre(node: Story) -> None:
    """A worker counts sixty symbol errors a second and a recovery of its link each minute."""
    node.wait(600, 60)
    place = ("Infiniband", "ports", "mlx5_0", "errors")
    node.rate(60.0, *place, "symbol_error")
    node.rate(0.017, *place, "link_error_recovery")
    node.rate(1.5, *place, "port_rcv_errors")
    node.wait(5 * HOUR, 60)


@incident(
    "roce_congestion@mlx5_2*",
    may=(*FABRIC, *NET),
    never=("ib_port_down", "nic_driver_fatal", "nvlink_down"),
    unfit=False,
    node=roce_box,
)
def uplink_of_a_leaf_drops_frames(node: Story) -> None:
    """A port of a leaf drops frames of RDMA: one adapter of eight resends by the thousand."""
    node.wait(900, 60)
    place = ("Infiniband", "ports", "mlx5_2", "events")
    node.rate(3900.0, *place, "out_of_sequence")
    node.rate(48.0, *place, "local_ack_timeout_err")
    node.rate(95.0, *place, "roce_slow_restart")
    node.gpus(power_draw_watts=310.0, power_average_watts=310.0, utilization_percent=100.0)
    node.wait(4 * HOUR, 60)


@incident(
    "nic_driver_fatal@*",
    may=("ib_port_down", "net_tx_timeout", "hung_task", *NET, *FABRIC),
    never=("pcie_network_card_missing", "nvlink_down", "gpu_lost"),
    unfit=True,
    fit_at_end=False,
    node=box_of_h200,
)
def firmware_of_a_rail_takes_no_commands(node: Story) -> None:
    """An adapter does not answer commands, its health is lost, and its recovery fails."""
    card = "mlx5_core 0000:4f:00.0"
    node.wait(1200, 60)
    node.log(
        f"{card}: wait_func:1151:(pid 240118): QUERY_VPORT_COUNTER(0x770) timeout. Will cause a "
        "leak of a command resource",
        f"{card}: poll_health:954:(pid 0): device's health compromised - reached miss count",
        f"{card}: mlx5_health_try_recover:390:(pid 120934): handling bad device here",
        f"{card}: mlx5_handle_bad_state:357:(pid 120934): starting teardown",
    )
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="disabled")
    waits(node, watts=165.0)
    node.wait(60, 15)
    node.log(
        f"{card}: mlx5_health_try_recover:393:(pid 120934): health recovery flow aborted, PCI "
        "reads still not working",
        f"{card}: mlx5_fw_fatal_reporter_err_work:640:(pid 120934): health recovery failed",
    )
    node.wait(600, 30)
    aborts(node)
    node.wait(3 * HOUR, 120)


@incident(
    "net_tx_timeout@enp92s0f1",
    may=("net_link_flap", "net_link_down", "nic_driver_fatal", *NET),
    never=("pcie_network_card_missing", "disk_io_errors"),
    unfit=True,
    fit_at_end=False,
    node=database_server,
)
def queue_of_a_port_cannot_be_recovered(node: Story) -> None:
    """A transmit queue hangs, four recoveries in a row do not help, and the driver gives up."""
    card = "ice 0000:5c:00.1 enp92s0f1"
    node.rate(900.0, "Network", "interfaces", "enp92s0f1", "receive_packets")
    node.rate(900.0, "Network", "interfaces", "enp92s0f1", "transmit_packets")
    node.wait(900, 60)
    for way in ("receive_packets", "transmit_packets"):
        node.rate(0.0, "Network", "interfaces", "enp92s0f1", way)
    for level in (1, 2, 3, 4):
        node.log(
            f"{card}: NETDEV WATCHDOG: CPU: 19: transmit queue 22 timed out {5040 + 20 * level} ms",
            f"{card}: tx_timeout: VSI_num: 8, Q 22, NTC: 0x1c1, HW_HEAD: 0x1c1, NTU: 0x1c9, "
            "INT: 0x2000001",
            f"{card}: tx_timeout recovery level {level}, txqueue 22",
        )
        if level > 3:
            node.log(f"{card}: tx_timeout recovery unsuccessful, device is in unrecoverable state.")
        node.wait(15, 5)
    place = ("Network", "interfaces", "enp92s0f1")
    node.put(*place, up=False, operstate="down", carrier_changes=3, speed_bytes_per_second=None)
    node.put("Network", "interfaces", "enp92s0f0", peers_up=0)
    node.wait(3 * HOUR, 120)


@incident(
    "net_link_flap@ens1f1np1",
    may=NET,
    never=("nic_driver_fatal", "pcie_network_card_missing"),
    unfit=False,
    node=web_worker,
)
def cable_of_a_leg_is_bent_by_a_door(node: Story) -> None:
    """One leg of a bond loses its link for seconds, eighteen times within an hour and a half."""
    card = "bnxt_en 0000:5c:00.1 ens1f1np1"
    node.wait(600, 60)
    flaps(
        node,
        "ens1f1np1",
        18,
        5,
        295,
        f"{card}: NIC Link is Down",
        f"{card}: NIC Link is Up, 25000 Mbps full duplex, Flow control: none",
    )
    node.wait(900, 60)


@incident(
    "net_link_down@ens1f0np0",
    root="net_link_down@ens1f0np0|nic_cable_unplugged@*",
    may=NET,
    never=("nic_driver_fatal", "pcie_network_card_missing"),
    unfit=False,
    lasts=("net_link_down@ens1f0np0",),
    node=web_worker,
)
def port_of_a_leaf_switch_has_died(node: Story) -> None:
    """One of two legs of a bond has no link any more: the worker goes on with the other one."""
    node.wait(900, 60)
    node.log(
        "bnxt_en 0000:5c:00.0 ens1f0np0: NIC Link is Down",
        BOND[0].format("ens1f0np0"),
    )
    place = ("Network", "interfaces", "ens1f0np0")
    node.put(*place, up=False, operstate="down", carrier_changes=3, speed_bytes_per_second=None)
    node.put("Network", "interfaces", "ens1f1np1", peers_up=0)
    node.put("Network", "interfaces", "bond0", speed_bytes_per_second=3.125e9)
    node.wait(5 * HOUR, 60)


@incident(
    "net_errors@eno1",
    may=NET,
    never=("nic_driver_fatal", "net_tx_timeout"),
    unfit=False,
    node=backup_server,
)
def cable_of_copper_is_too_close_to_mains(node: Story) -> None:
    """Two of a hundred frames that a server of backups receives have a wrong check sum."""
    node.wait(600, 60)
    place = ("Network", "interfaces", "eno1")
    node.rate(30_000.0, *place, "receive_packets")
    node.rate(12_000.0, *place, "transmit_packets")
    node.rate(610.0, *place, "receive_errors")
    node.rate(90.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(5 * HOUR, 60)


CASES = (
    second_rail_of_an_a100_node_is_dark,
    transceiver_of_a_rail_is_reseated,
    rail_of_a_node_comes_and_goes,
    dust_is_on_the_end_of_a_fibre,
    uplink_of_a_leaf_drops_frames,
    firmware_of_a_rail_takes_no_commands,
    queue_of_a_port_cannot_be_recovered,
    cable_of_a_leg_is_bent_by_a_door,
    port_of_a_leaf_switch_has_died,
    cable_of_copper_is_too_close_to_mains,
)
