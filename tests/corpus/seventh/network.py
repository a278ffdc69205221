"""Incidents of Ethernet and InfiniBand."""

from tests.corpus.fifth.nodes import a100s
from tests.corpus.labels import incident
from tests.corpus.parts import Tree, ib_port, nic
from tests.corpus.seventh.nodes import SPINS, altra, epyc, guest, pro_6000s
from tests.corpus.sixth.nodes import h200s
from tests.corpus.story import Story
from tests.corpus.words import comes_up, goes_down

HOURS = 2 * 3600
BEHIND = ("net_link_flap", "tcp_retransmit_burst")
CARD = "mlx5_core 0000:5c:00.0"


def two_legs() -> Tree:
    """A server with two ports of a Broadcom card."""
    node = epyc()
    for number in (0, 1):
        node["Network"]["interfaces"][f"eth{number}"] = nic(
            f"eth{number}", driver="bnxt_en", pci_bus_id=f"0000:5c:00.{number}"
        )
    return node


def lossless() -> Tree:
    """Four server cards beside two ports of RoCE."""
    node = pro_6000s()
    names = ("local_ack_timeout_err", "out_of_sequence", "roce_slow_restart", "np_cnp_sent")
    ports = {}
    for number, place in ((0, "ca"), (1, "cb")):
        where = f"0000:{place}:00.0"
        port = ib_port(f"mlx5_{number}", where, link_layer="Ethernet")
        ports[f"mlx5_{number}"] = {**port, "events": dict.fromkeys(names, 0)}
    node["Infiniband"] = {"ports": ports}
    return node


@incident("net_tx_timeout@eth0", may=BEHIND, unfit=False, fit_at_end=True, node=epyc)
def queue_of_an_x710_hangs_once(node: Story) -> None:
    """A transmit queue of an Intel card times out and is reset by its driver."""
    node.put("Network", "interfaces", "eth0", driver="i40e")
    where = "i40e 0000:5c:00.0 eth0"
    node.wait(60)
    node.log(
        f"{where}: NETDEV WATCHDOG: CPU: 21: transmit queue 7 timed out 5320 ms",
        f"{where}: tx_timeout: VSI_seid: 390, Q 7, NTC: 0x697, HWB: 0x78c, NTU: 0x78c, TAIL: "
        "0x78c, INT: 0x0",
        f"{where}: tx_timeout recovery level 1, txqueue 7",
    )
    node.wait(3600, 60)


@incident(
    "net_link_flap@eth1",
    may=("net_link_down", *BEHIND),
    unfit=False,
    fit_at_end=True,
    node=two_legs,
)
def bad_transceiver_lets_a_link_flap(node: Story) -> None:
    """One of two links goes down for five seconds, every two minutes, ten times."""
    where = "bnxt_en 0000:5c:00.1 eth1"
    node.wait(60)
    for number in range(10):
        node.log(f"{where}: NIC Link is Down")
        node.put("Network", "interfaces", "eth1", up=False, operstate="down")
        node.put("Network", "interfaces", "eth1", carrier_changes=3 + 2 * number)
        node.wait(5, 5)
        node.log(f"{where}: NIC Link is Up, 25000 Mbps full duplex, Flow control: none")
        node.put("Network", "interfaces", "eth1", up=True, operstate="up")
        node.put("Network", "interfaces", "eth1", carrier_changes=4 + 2 * number)
        node.wait(120, 30)
    node.wait(300, 30)


@incident(
    "net_link_down@eth0",
    may=("nfs_server_stalled", *BEHIND),
    unfit=False,
    gone=("net_link_down",),
    fit_at_end=True,
    node=altra,
)
def switch_is_out_of_power_for_half_an_hour(node: Story) -> None:
    """The link of a server goes down with its switch, and is up again half an hour later."""
    node.wait(120)
    goes_down(node)
    node.rate(0.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(0.0, "Network", "interfaces", "eth0", "transmit_packets")
    node.wait(1800, 60)
    comes_up(node)
    node.rate(1000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(1000.0, "Network", "interfaces", "eth0", "transmit_packets")
    node.wait(1800, 60)


@incident("net_errors@eth1", may=BEHIND, unfit=False, fit_at_end=True, node=two_legs)
def dirty_fibre_damages_frames(node: Story) -> None:
    """A hundred and twenty damaged frames a second of thirty thousand, for twenty minutes."""
    node.wait(60)
    node.rate(30_000.0, "Network", "interfaces", "eth1", "receive_packets")
    node.rate(120.0, "Network", "interfaces", "eth1", "receive_errors")
    node.wait(1200, 15)


@incident("net_drop@eth0", may=("softnet_drops", *BEHIND), unfit=False, node=guest)
def queue_of_a_guest_overflows(node: Story) -> None:
    """A virtual interface drops one packet in twenty for ten minutes."""
    node.wait(60)
    node.rate(25_000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(1_300.0, "Network", "interfaces", "eth0", "receive_drops")
    node.wait(600, 15)


@incident(
    "ib_port_down@mlx5_2*",
    may=("ib_link_errors", "nic_cable_unplugged", *SPINS),
    unfit=True,
    gone=("ib_port_down",),
    fit_at_end=True,
    node=h200s,
)
def optic_of_a_fabric_port_fails_four_times(node: Story) -> None:
    """A port is down for forty seconds, four times within the hour, and stable after that."""
    node.wait(60)
    for number in range(4):
        node.put("Infiniband", "ports", "mlx5_2", state="down", phys_state="polling")
        node.put("Infiniband", "ports", "mlx5_2", "errors", link_downed=number + 1)
        node.wait(40, 10)
        node.put("Infiniband", "ports", "mlx5_2", state="active", phys_state="linkup")
        node.put("Infiniband", "ports", "mlx5_2", "errors", link_error_recovery=number + 1)
        node.wait(900, 30)
    node.wait(4 * 3600, 120)


@incident(
    "ib_port_rate_low@mlx5_0*",
    may=("ib_link_errors", "ib_port_down"),
    fit_at_end=True,
    node=h200s,
)
def port_trains_at_half_after_a_cable_was_moved(node: Story) -> None:
    """A port that ran at 400 Gb/s comes back at 200 Gb/s from a short interruption."""
    node.wait(300, 30)
    node.put("Infiniband", "ports", "mlx5_0", state="init", phys_state="linkup")
    node.wait(5, 5)
    node.put("Infiniband", "ports", "mlx5_0", state="active", rate_bytes_per_second=25e9)
    node.wait(3600, 60)


@incident("ib_link_errors@mlx5_1*", may=("ib_port_errors",), unfit=False, node=a100s)
def connector_of_a_fabric_cable_is_dirty(node: Story) -> None:
    """Sixty symbol errors a second and a recovery each ten seconds, for half an hour."""
    node.wait(60)
    node.rate(60.0, "Infiniband", "ports", "mlx5_1", "errors", "symbol_error")
    node.rate(0.1, "Infiniband", "ports", "mlx5_1", "errors", "link_error_recovery")
    node.wait(1800, 30)


@incident(
    *("nic_driver_fatal@eth0", "net_link_down@eth0"),
    may=BEHIND,
    unfit=True,
    lasts=("nic_driver_fatal@eth0", "net_link_down@eth0"),
    fit_at_end=False,
    node=epyc,
)
def firmware_of_an_adapter_no_longer_takes_commands(node: Story) -> None:
    """Commands of the driver time out, the health counter stops, and the link is gone."""
    node.wait(60)
    for number in range(3):
        node.log(
            f"{CARD}: wait_func:1195:(pid {2210 + number}): QUERY_VPORT_COUNTER(0x770) timeout. "
            "Will cause a leak of a command resource"
        )
        node.wait(60, 20)
    node.log(
        f"{CARD}: poll_health:835:(pid 0): device's health compromised - reached miss count",
        f"{CARD}: print_health_info:430:(pid 0): Health issue observed, firmware internal error, "
        "severity(3) ERROR:",
        f"{CARD}: mlx5_health_try_recover:338:(pid 7712): handling bad device here",
        f"{CARD}: mlx5_health_try_recover:349:(pid 7712): health recovery flow aborted, PCI reads "
        "still not working",
    )
    goes_down(node)
    node.wait(HOURS, 120)


@incident(
    "roce_congestion@mlx5_1*",
    may=("tcp_retransmit_burst", *SPINS),
    unfit=False,
    node=lossless,
)
def pause_frames_are_switched_off_on_one_switch(node: Story) -> None:
    """One of two ports repeats hundreds of packets a second; acknowledgements time out."""
    node.wait(60)
    node.rate(600.0, "Infiniband", "ports", "mlx5_1", "events", "out_of_sequence")
    node.rate(45.0, "Infiniband", "ports", "mlx5_1", "events", "local_ack_timeout_err")
    node.rate(150.0, "Infiniband", "ports", "mlx5_1", "events", "roce_slow_restart")
    node.wait(1200, 30)


@incident(
    "net_link_down@eth0",
    "nic_driver_fatal@eth0|pcie_device_inaccessible@0000:5c:00.0",
    root=("nic_driver_fatal@eth0|pcie_device_inaccessible@0000:5c:00.0",),
    may=(*BEHIND, "pcie_network_card_missing", "pcie_device_inaccessible", "nic_driver_fatal"),
    fit_at_end=False,
    unfit=True,
    node=epyc,
)
def card_of_ten_gigabits_is_gone_for_its_driver(node: Story) -> None:
    """The registers of an Intel card read only ones: its driver calls it removed."""
    node.put("Network", "interfaces", "eth0", driver="ixgbe")
    node.wait(60)
    node.log(
        "ixgbe 0000:5c:00.0: Adapter removed",
        "ixgbe 0000:5c:00.0 eth0: NIC Link is Down",
    )
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.wait(1800, 60)


CASES = (
    queue_of_an_x710_hangs_once,
    bad_transceiver_lets_a_link_flap,
    switch_is_out_of_power_for_half_an_hour,
    dirty_fibre_damages_frames,
    queue_of_a_guest_overflows,
    optic_of_a_fabric_port_fails_four_times,
    port_trains_at_half_after_a_cable_was_moved,
    connector_of_a_fabric_cable_is_dirty,
    firmware_of_an_adapter_no_longer_takes_commands,
    pause_frames_are_switched_off_on_one_switch,
    card_of_ten_gigabits_is_gone_for_its_driver,
)
