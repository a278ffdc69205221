"""Incidents of cables, ports, adapters and switches."""

from tests.corpus.eighth.nodes import HOURS, LINK_AFTER, cloud_volumes, flaps, kubelet_node
from tests.corpus.fifth.nodes import a100s
from tests.corpus.labels import incident
from tests.corpus.seventh.network import lossless
from tests.corpus.seventh.nodes import SPINS, altra, epyc, hgx
from tests.corpus.sixth.nodes import h200s
from tests.corpus.story import Story

CARD = "mlx5_core 0000:5c:00.0"


@incident(
    "ib_port_down@mlx5_1*",
    may=("ib_link_errors", "nic_cable_unplugged", *SPINS),
    unfit=True,
    gone=("ib_port_down",),
    fit_at_end=True,
    node=h200s,
)
def leaf_switch_is_updated_without_a_warning(node: Story) -> None:
    """One of four ports is down for eleven minutes; a job of many nodes stands still meanwhile."""
    node.wait(300, 30)
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_1", "errors", link_downed=1)
    for bus in node.bus_addresses:
        node.gpu(bus, utilization_percent=100.0, memory_controller_utilization_percent=0.0)
        node.gpu(bus, power_draw_watts=131.0, power_average_watts=131.0)
    node.wait(660, 15)
    node.put("Infiniband", "ports", "mlx5_1", state="init", phys_state="linkup")
    node.wait(5, 5)
    node.put("Infiniband", "ports", "mlx5_1", state="active")
    node.gpus(power_draw_watts=610.0, power_average_watts=610.0)
    node.gpus(memory_controller_utilization_percent=45.0, utilization_percent=97.0)
    node.wait(3 * 3600, 120)


@incident(
    "ib_port_down@mlx5_0*",
    root=("ib_port_down@mlx5_0*|nic_cable_unplugged@*",),
    may=("ib_link_errors", "nic_cable_unplugged", *SPINS),
    unfit=True,
    lasts=("ib_port_down@mlx5_0*",),
    fit_at_end=False,
    node=a100s,
)
def transceiver_of_a_fabric_port_is_dead(node: Story) -> None:
    """The adapter says that its module is faulty, and the port stays down."""
    node.wait(120)
    node.log(
        "mlx5_core 0000:12:00.0: Port module event[error]: module 0, Cable error, Bus stuck (I2C "
        "or data shorted)",
        "mlx5_core 0000:12:00.0: Port module event: module 0, Cable unplugged",
    )
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="disabled")
    node.put("Infiniband", "ports", "mlx5_0", "errors", link_downed=1)
    node.wait(HOURS, 120)


@incident("ib_link_errors@mlx5_3*", may=("ib_port_errors",), unfit=False, node=h200s)
def fabric_link_recovers_every_few_seconds(node: Story) -> None:
    """A link with a bad cable is trained again every four seconds; it never goes down."""
    node.wait(60)
    node.rate(0.25, "Infiniband", "ports", "mlx5_3", "errors", "link_error_recovery")
    node.rate(25.0, "Infiniband", "ports", "mlx5_3", "errors", "symbol_error")
    node.rate(2.0, "Infiniband", "ports", "mlx5_3", "errors", "port_rcv_errors")
    node.wait(2400, 30)


@incident(
    "net_link_flap@ens2f0",
    may=LINK_AFTER,
    unfit=False,
    fit_at_end=True,
    node=kubelet_node,
)
def one_leg_of_a_bond_flaps_all_afternoon(node: Story) -> None:
    """The cable of one of two legs is bad: down for ten seconds, fourteen times in an hour."""
    node.wait(60)
    words = (
        "ice 0000:5c:00.2 ens2f0: NIC Link is Down",
        "ice 0000:5c:00.2 ens2f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC",
    )
    flaps(node, "ens2f0", 14, 10, 240, *words)


@incident(
    "net_link_down@ens1f0",
    may=("net_link_flap", "nic_cable_unplugged"),
    unfit=False,
    lasts=("net_link_down@ens1f0",),
    fit_at_end=True,
    node=kubelet_node,
)
def one_leg_of_a_bond_is_lost_for_good(node: Story) -> None:
    """A port of a switch dies; the bond goes on with its other leg, and nobody repairs it."""
    node.wait(300, 60)
    node.log(
        "ice 0000:5c:00.1 ens1f0: NIC Link is Down",
        "bond0: (slave ens1f0): link status definitely down, disabling slave",
        "bond0: (slave ens2f0): making interface the new active one",
    )
    node.put("Network", "interfaces", "ens1f0", up=False, operstate="down", carrier_changes=3)
    node.wait(HOURS, 120)


@incident(
    "nic_driver_fatal@eth0",
    may=(*LINK_AFTER, "nfs_server_stalled"),
    gone=("net_link_down",),
    node=hgx,
)
def adapter_of_a_gpu_server_resets_itself(node: Story) -> None:
    """The firmware of an Ethernet adapter asserts, the driver recovers it within a minute."""
    node.wait(120)
    node.log(
        f"{CARD}: print_health_info:424:(pid 0): Health issue observed, firmware internal error, "
        "severity(3) ERROR:",
        f"{CARD}: print_health_info:428:(pid 0): assert_var[0] 0x00000000",
        f"{CARD}: print_health_info:444:(pid 0): synd 0x1: firmware internal error",
        f"{CARD}: mlx5_health_try_recover:335:(pid 4410): handling bad device here",
        f"{CARD}: mlx5_error_sw_reset:231:(pid 4410): start",
        f"{CARD} eth0: Link down",
    )
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.wait(45, 15)
    node.log(
        f"{CARD}: mlx5_health_try_recover:354:(pid 4410): health recovery succeeded",
        f"{CARD} eth0: Link up",
    )
    node.put("Network", "interfaces", "eth0", up=True, operstate="up", carrier_changes=4)
    node.wait(HOURS, 120)


@incident(
    "net_tx_timeout@ens5",
    may=("net_link_flap", "net_link_down", "tcp_retransmit_burst", "nic_driver_fatal"),
    fit_at_end=True,
    node=cloud_volumes,
)
def virtual_adapter_of_a_cloud_is_reset(node: Story) -> None:
    """Packets of a guest are not completed in time: its adapter is reset three times in an hour."""
    card = "ena 0000:00:05.0 ens5"
    node.wait(60)
    for number in range(3):
        node.log(
            f"{card}: TX hasn't completed, qid {number}, index {411 + number}. 5340 usecs from "
            "last napi execution, napi scheduled: 1",
            f"{card}: NETDEV WATCHDOG: CPU: 3: transmit queue {number} timed out 5128 ms",
            f"{card}: Transmit timeout",
        )
        node.wait(3, 3)
        node.log("ena 0000:00:05.0: Device reset completed successfully, Driver info: ena 2.13.0g")
        node.wait(1200, 60)


@incident(
    *("nic_module_hot@*", "net_link_down@eth0"),
    root=("nic_module_hot@*",),
    may=LINK_AFTER,
    unfit=False,
    gone=("net_link_down",),
    fit_at_end=True,
    node=epyc,
)
def hot_optic_switches_itself_off(node: Story) -> None:
    """A module reports that it is too hot, its link goes down for a quarter of an hour."""
    node.wait(120)
    for _ in range(2):
        node.log(f"{CARD}: Port module event[error]: module 0, Cable error, High Temperature")
        node.wait(30, 15)
    node.log(f"{CARD} eth0: Link down")
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.wait(900, 30)
    node.log(f"{CARD} eth0: Link up")
    node.put("Network", "interfaces", "eth0", up=True, operstate="up", carrier_changes=4)
    node.wait(3 * 3600, 120)


@incident(
    "roce_congestion@mlx5_0*",
    may=("tcp_retransmit_burst", "ib_port_errors", "roce_congestion", *SPINS),
    unfit=False,
    node=lossless,
)
def incast_of_a_checkpoint_loses_packets(node: Story) -> None:
    """Acknowledgements time out and hundreds of packets a second are out of order, on one port."""
    node.wait(60)
    node.rate(420.0, "Infiniband", "ports", "mlx5_0", "events", "out_of_sequence")
    node.rate(30.0, "Infiniband", "ports", "mlx5_0", "events", "local_ack_timeout_err")
    node.rate(9000.0, "Infiniband", "ports", "mlx5_0", "events", "np_cnp_sent")
    node.rate(80.0, "Infiniband", "ports", "mlx5_0", "events", "roce_slow_restart")
    node.wait(1800, 30)


@incident("net_errors@eth0", may=LINK_AFTER, unfit=False, fit_at_end=True, node=altra)
def bent_fibre_breaks_every_hundredth_frame(node: Story) -> None:
    """Two hundred frames of twenty thousand a second arrive damaged, for half an hour."""
    node.wait(60)
    node.rate(20_000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(200.0, "Network", "interfaces", "eth0", "receive_errors")
    node.rate(40.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(1800, 15)


CASES = (
    leaf_switch_is_updated_without_a_warning,
    transceiver_of_a_fabric_port_is_dead,
    fabric_link_recovers_every_few_seconds,
    one_leg_of_a_bond_flaps_all_afternoon,
    one_leg_of_a_bond_is_lost_for_good,
    adapter_of_a_gpu_server_resets_itself,
    virtual_adapter_of_a_cloud_is_reset,
    hot_optic_switches_itself_off,
    incast_of_a_checkpoint_loses_packets,
    bent_fibre_breaks_every_hundredth_frame,
)
