"""Incidents of the network: rails, adapters, cables, what the stack drops."""

from tests.corpus.eighth.nodes import flaps
from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    cluster_worker,
    disk_server,
    mirrored_server,
    quad_of_a100,
    volume_server,
)
from tests.corpus.eleventh.nodes import HOUR, NET, SPIN, aborts, port_falls, port_rises, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import roce_box, waits, works
from tests.corpus.story import Story

FABRIC = ("ib_link_errors", "ib_port_errors", "ib_port_rate_low", "roce_congestion", *SPIN)


@incident(
    "ib_port_down@mlx5_5*",
    root="ib_port_down@mlx5_5*|nic_cable_unplugged@*",
    may=("nic_cable_unplugged", *FABRIC),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    unfit=True,
    gone=("ib_port_down",),
    fit_at_end=True,
    node=chassis_of_h100,
)
def cable_of_a_rail_is_exchanged(node: Story) -> None:
    """One of eight rails loses its link in a step; its cable is exchanged an hour and a half on."""
    node.wait(1200, 60)
    port_falls(node, "mlx5_5", 1)
    waits(node)
    node.wait(660, 30)
    aborts(node)
    node.wait(4200, 60)
    node.log("mlx5_core 0000:a8:00.0: Port module event: module 0, Cable unplugged")
    node.wait(150, 30)
    node.log("mlx5_core 0000:a8:00.0: Port module event: module 0, Cable plugged")
    node.wait(45)
    port_rises(node, "mlx5_5")
    node.wait(300, 30)
    starts(node, chassis_of_h100, 33_902)
    node.wait(2 * HOUR, 120)


@incident(
    "ib_port_down@mlx5_1*|ib_link_errors@mlx5_1*",
    may=("ib_port_down", *FABRIC),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    fit_at_end=True,
    node=chassis_of_h200,
)
def module_of_a_leaf_switch_flaps(node: Story) -> None:
    """A rail is down for half a minute eleven times within two hours, and quiet after that."""
    node.wait(900, 60)
    for number in range(1, 12):
        port_falls(node, "mlx5_1", number)
        waits(node)
        node.wait(30, 5)
        port_rises(node, "mlx5_1")
        works(node, watts=590.0)
        node.wait(600, 30)
    node.wait(3 * HOUR, 120)


@incident(
    "ib_link_errors@mlx5_0*",
    may=("ib_port_errors", *SPIN),
    never=("ib_port_down", "nic_driver_fatal"),
    unfit=False,
    lasts=("ib_link_errors@mlx5_0*",),
    node=quad_of_a100,
)
def fibre_is_bent_behind_a_door(node: Story) -> None:
    """Symbol errors by the hundred a second on one of two rails, and a recovery each minute."""
    node.wait(600, 60)
    place = ("Infiniband", "ports", "mlx5_0", "errors")
    node.rate(140.0, *place, "symbol_error")
    node.rate(0.02, *place, "link_error_recovery")
    node.rate(3.0, *place, "port_rcv_errors")
    node.wait(5 * HOUR, 60)


@incident(
    "nic_driver_fatal@*",
    may=("ib_port_down", "net_tx_timeout", "hung_task", *NET, *FABRIC),
    never=("pcie_network_card_missing", "nvlink_down", "gpu_lost"),
    unfit=True,
    fit_at_end=False,
    node=chassis_of_b200,
)
def adapter_reports_an_error_beyond_repair(node: Story) -> None:
    """The firmware of a rail's adapter reports a hardware error: its port is gone, the job ends."""
    card = "mlx5_core 0000:94:00.0"
    node.wait(1200, 60)
    node.log(
        f"{card}: poll_health:852:(pid 0): device's health compromised - reached miss count",
        f"{card}: print_health_info:440:(pid 0): Health issue observed, unrecoverable hardware "
        "error, severity(3) ERROR:",
        f"{card}: print_health_info:444:(pid 0): assert_var[0] 0xfc3fc043",
        f"{card}: print_health_info:451:(pid 0): fw_ver 28.42.1000",
        f"{card}: print_health_info:458:(pid 0): synd 0x8: unrecoverable hardware error",
        f"{card}: mlx5_error_sw_reset:236:(pid 91144): start",
        f"{card}: mlx5_health_try_recover:338:(pid 91144): handling bad device here",
    )
    node.put("Infiniband", "ports", "mlx5_2", state="down", phys_state="disabled")
    waits(node, watts=210.0)
    node.wait(600, 30)
    aborts(node, watts=141.0)
    node.wait(3 * HOUR, 120)


@incident(
    "net_link_down@enp92s0f1np1",
    root="net_link_down@enp92s0f1np1|nic_cable_unplugged@*",
    may=NET,
    unfit=False,
    never=("nic_driver_fatal", "pcie_network_card_missing"),
    gone=("net_link_down",),
    fit_at_end=True,
    node=cluster_worker,
)
def one_of_two_leaf_switches_is_renewed_too_long(node: Story) -> None:
    """One leg of a bond has no link for three hours, because a new switch does not start."""
    card = "mlx5_core 0000:5c:00.1 enp92s0f1np1"
    place = ("Network", "interfaces", "enp92s0f1np1")
    node.wait(900, 60)
    node.log(
        f"{card}: Link down",
        "bond0: (slave enp92s0f1np1): link status definitely down, disabling slave",
    )
    node.put(*place, up=False, operstate="down", carrier_changes=3, speed_bytes_per_second=None)
    node.put("Network", "interfaces", "bond0", speed_bytes_per_second=3.125e9)
    node.put("Network", "interfaces", "enp92s0f0np0", peers_up=0)
    node.wait(3 * HOUR, 60)
    node.log(
        f"{card}: Link up",
        "bond0: (slave enp92s0f1np1): link status definitely up, 25000 Mbps full duplex",
    )
    node.put(*place, up=True, operstate="up", carrier_changes=4, speed_bytes_per_second=3.125e9)
    node.put("Network", "interfaces", "bond0", speed_bytes_per_second=6.25e9)
    node.put("Network", "interfaces", "enp92s0f0np0", peers_up=1)
    node.wait(2 * HOUR, 60)


@incident(
    "net_link_flap@eno2",
    may=NET,
    never=("nic_driver_fatal", "pcie_network_card_missing"),
    unfit=False,
    node=mirrored_server,
)
def plug_has_lost_its_latch(node: Story) -> None:
    """The second port of a server of mail loses its link for seconds, twenty times in two hours."""
    node.wait(600, 60)
    flaps(
        node,
        "eno2",
        20,
        5,
        355,
        "i40e 0000:5c:00.1 eno2: NIC Link is Down",
        "i40e 0000:5c:00.1 eno2: NIC Link is Up, 10 Gbps Full Duplex, Flow Control: None",
    )
    node.wait(900, 60)


@incident(
    "net_errors@ens2f1",
    may=NET,
    never=("nic_driver_fatal", "net_tx_timeout"),
    unfit=False,
    lasts=("net_errors@ens2f1",),
    node=disk_server,
)
def transceiver_of_a_port_is_worn(node: Story) -> None:
    """Three of a hundred frames of one port fail their check, from the morning to the evening."""
    node.wait(600, 60)
    place = ("Network", "interfaces", "ens2f1")
    node.rate(8000.0, *place, "receive_packets")
    node.rate(8000.0, *place, "transmit_packets")
    node.rate(250.0, *place, "receive_errors")
    node.rate(60.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(5 * HOUR, 60)


@incident(
    "nic_module_hot@*|nic_driver_fatal@*",
    "net_link_down@eno1",
    root="nic_module_hot@*|nic_driver_fatal@*",
    may=("nic_driver_fatal", *NET),
    never=("pcie_network_card_missing", "disk_io_errors"),
    node=volume_server,
)
def adapter_stops_itself_because_of_heat(node: Story) -> None:
    """An X540 stops because it is too hot; the server has no network until somebody comes."""
    node.rate(2000.0, "Network", "interfaces", "eno1", "receive_packets")
    node.rate(2000.0, "Network", "interfaces", "eno1", "transmit_packets")
    node.wait(900, 60)
    node.log(
        "ixgbe 0000:5c:00.0 eno1: Network adapter has been stopped because it has over heated. "
        "Restart the computer. If the problem persists, power off the system and replace the "
        "adapter",
        "ixgbe 0000:5c:00.0 eno1: NIC Link is Down",
    )
    for way in ("receive_packets", "transmit_packets"):
        node.rate(0.0, "Network", "interfaces", "eno1", way)
    place = ("Network", "interfaces", "eno1")
    node.put(*place, up=False, operstate="down", carrier_changes=3, speed_bytes_per_second=None)
    node.wait(3 * HOUR, 60)


@incident(
    "roce_congestion@mlx5_6*",
    may=(*FABRIC, *NET),
    never=("ib_port_down", "nic_driver_fatal", "nvlink_down"),
    unfit=False,
    gone=("roce_congestion",),
    node=roce_box,
)
def priority_of_a_port_was_forgotten(node: Story) -> None:
    """A replaced leaf lacks the class of RDMA: thousands of resends a second, then it is added."""
    node.wait(900, 60)
    place = ("Infiniband", "ports", "mlx5_6", "events")
    for name, rate in (
        ("out_of_sequence", 6200.0),
        ("local_ack_timeout_err", 35.0),
        ("roce_slow_restart", 210.0),
    ):
        node.rate(rate, *place, name)
    node.gpus(power_draw_watts=290.0, power_average_watts=290.0, utilization_percent=100.0)
    node.wait(2 * HOUR, 60)
    for name in ("out_of_sequence", "local_ack_timeout_err", "roce_slow_restart"):
        node.rate(0.0, *place, name)
    works(node)
    node.wait(2 * HOUR, 60)


@incident(
    "net_tx_timeout@eno1",
    may=("net_link_flap", "net_link_down", "nic_driver_fatal", *NET),
    node=volume_server,
)
def queue_of_an_old_port_is_stuck_now_and_then(node: Story) -> None:
    """A transmit queue hangs three times in a day, the adapter is reset within ten seconds."""
    card = "ixgbe 0000:5c:00.0 eno1"
    place = ("Network", "interfaces", "eno1")
    node.wait(900, 60)
    for number in range(3):
        node.log(
            f"NETDEV WATCHDOG: eno1 (ixgbe): transmit queue {11 + number} timed out",
            f"{card}: initiating reset due to tx timeout",
            f"{card}: Reset adapter",
        )
        node.put(*place, up=False, operstate="down", carrier_changes=3 + 2 * number)
        node.wait(10, 5)
        node.log(f"{card}: NIC Link is Up 10 Gbps, Flow Control: None")
        node.put(*place, up=True, operstate="up", carrier_changes=4 + 2 * number)
        node.wait(3 * HOUR, 120)


@incident(
    "conntrack_full@*",
    may=("tcp_retransmit_burst", "tcp_listen_overflow", "softnet_drops"),
    never=("net_drop", "nic_driver_fatal"),
    unfit=False,
    gone=("conntrack_full",),
    fit_at_end=True,
    node=cluster_worker,
)
def crawler_fills_the_table_of_connections(node: Story) -> None:
    """A pod opens connections without end: for forty minutes new ones of all pods are dropped."""
    node.wait(900, 60)
    for entries in (90_000, 180_000, 250_000):
        node.put("NetworkStack", conntrack_entries=entries, conntrack_drops=0)
        node.wait(180, 30)
    node.put("NetworkStack", conntrack_entries=262_144)
    node.rate(900.0, "NetworkStack", "conntrack_drops")
    for _ in range(40):
        node.log("nf_conntrack: nf_conntrack: table full, dropping packet")
        node.wait(60, 30)
    node.rate(0.0, "NetworkStack", "conntrack_drops")
    node.put("NetworkStack", conntrack_entries=8100)
    node.wait(2 * HOUR, 60)


CASES = (
    cable_of_a_rail_is_exchanged,
    module_of_a_leaf_switch_flaps,
    fibre_is_bent_behind_a_door,
    adapter_reports_an_error_beyond_repair,
    one_of_two_leaf_switches_is_renewed_too_long,
    plug_has_lost_its_latch,
    transceiver_of_a_port_is_worn,
    adapter_stops_itself_because_of_heat,
    priority_of_a_port_was_forgotten,
    queue_of_an_old_port_is_stuck_now_and_then,
    crawler_fills_the_table_of_connections,
)
