"""Incidents of the network: fabric ports, adapters, optics, and what the kernel drops."""

from tests.corpus.eighth.nodes import LINK_AFTER, flaps, kubelet_node
from tests.corpus.fifth.nodes import a100s
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import (
    HOUR,
    cloud_h100s,
    delta_a100s,
    hpc_worker,
    object_store,
    roce_box,
    waits,
    works,
)
from tests.corpus.seventh.nodes import SPINS, rests
from tests.corpus.sixth.nodes import h200s, rack_server
from tests.corpus.story import Story
from tests.corpus.words import STARVED

STALLS = (*SPINS, *STARVED, "network_filesystem_stalled", "ib_link_errors", "nccl_hang")
RDMA = ("roce_congestion", "ib_link_errors", "ib_port_errors", "net_drop", "tcp_retransmit_burst")


@incident(
    "ib_port_down@mlx5_1*",
    may=STALLS,
    unfit=True,
    gone=("ib_port_down",),
    fit_at_end=True,
    node=a100s,
)
def cable_of_a_fabric_port_is_exchanged(node: Story) -> None:
    """One port polls for two hours, the job ends by its timeout; a new cable brings it back."""
    node.wait(120)
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_1", errors={"link_downed": 1})
    waits(node, watts=92.0)
    node.wait(900, 30)
    rests(node, 60.0)
    node.wait(6000, 120)
    node.put("Infiniband", "ports", "mlx5_1", state="init", phys_state="linkup")
    node.wait(15)
    node.put("Infiniband", "ports", "mlx5_1", state="active")
    node.wait(HOUR, 60)


@incident(
    "ib_link_errors@mlx5_2*|ib_port_down@mlx5_2*",
    root=("ib_link_errors@mlx5_2*|ib_port_down@mlx5_2*",),
    may=(*STALLS, "ib_port_down", "ib_link_errors"),
    node=h200s,
)
def optic_of_a_port_flaps_all_night(node: Story) -> None:
    """A port goes down for some seconds every ten minutes; each time the ranks wait a little."""
    node.wait(300, 60)
    for number in range(1, 13):
        node.put("Infiniband", "ports", "mlx5_2", state="down", phys_state="polling")
        node.put("Infiniband", "ports", "mlx5_2", errors={"link_downed": number})
        waits(node)
        node.wait(10, 5)
        node.put("Infiniband", "ports", "mlx5_2", state="active", phys_state="linkup")
        node.put("Infiniband", "ports", "mlx5_2", errors={"link_error_recovery": number})
        works(node, watts=610.0)
        node.wait(590, 30)


@incident(
    "ib_port_rate_low@mlx5_0*",
    may=("ib_link_errors", "ib_port_down", "nccl_straggler"),
    unfit=True,
    fit_at_end=True,
    node=hpc_worker,
)
def port_comes_back_with_one_lane(node: Story) -> None:
    """After a switch was restarted a port of HDR has one lane: a quarter of its rate is left."""
    node.wait(300, 60)
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_0", errors={"link_downed": 1})
    node.wait(45, 15)
    node.put("Infiniband", "ports", "mlx5_0", state="active", phys_state="linkup")
    node.put("Infiniband", "ports", "mlx5_0", rate_bytes_per_second=6.25e9)
    node.wait(2 * HOUR, 120)


@incident(
    "ib_link_errors@mlx5_0*",
    may=("nccl_straggler",),
    never=("ib_port_down",),
    node=delta_a100s,
)
def cable_has_symbol_errors_all_the_time(node: Story) -> None:
    """Symbol errors rise by two a second and the link recovers every minute; it stays active."""
    node.wait(300, 60)
    node.rate(2.0, "Infiniband", "ports", "mlx5_0", "errors", "symbol_error")
    node.rate(0.017, "Infiniband", "ports", "mlx5_0", "errors", "link_error_recovery")
    node.wait(2 * HOUR, 60)


@incident(
    "nic_driver_fatal@*",
    root=("nic_driver_fatal@*",),
    may=(
        *RDMA,
        *SPINS,
        "ib_port_down",
        "net_link_down",
        "net_tx_timeout",
        "pcie_device_inaccessible",
    ),
    unfit=True,
    node=roce_box,
)
def firmware_of_an_adapter_asserts(node: Story) -> None:
    """A ConnectX reports an assert of its firmware, its counter stands still, it is reset."""
    card = "mlx5_core 0000:40:00.0"
    node.wait(120)
    node.log(
        f"{card}: poll_health:978:(pid 0): Fatal error 1 detected",
        f"{card}: print_health_info:514:(pid 0): Health issue observed, firmware internal error, "
        "severity(3) ERROR:",
        f"{card}: print_health_info:518:(pid 0): assert_var[0] 0x00000026",
        f"{card}: print_health_info:521:(pid 0): assert_exit_ptr 0x20b1a5c4",
        f"{card}: print_health_info:522:(pid 0): assert_callra 0x20b1a8f0",
        f"{card}: print_health_info:523:(pid 0): fw_ver 28.39.3560",
        f"{card}: print_health_info:530:(pid 0): synd 0x1: firmware internal error",
        f"{card}: mlx5_error_sw_reset:255:(pid 2211): start",
    )
    node.put("Infiniband", "ports", "mlx5_2", state="down", phys_state="disabled")
    node.put("Network", "interfaces", "rdma2", up=False, operstate="down", carrier_changes=3)
    waits(node)
    node.wait(HOUR, 60)


@incident(
    "roce_congestion@mlx5_5*",
    may=(*RDMA, *SPINS, "nccl_straggler"),
    unfit=False,
    gone=("roce_congestion",),
    fit_at_end=True,
    node=roce_box,
)
def switch_without_pause_frames_loses_packets(node: Story) -> None:
    """After a change of a switch one port of RoCE resends without end; the change is undone."""
    node.wait(300, 60)
    place = ("Infiniband", "ports", "mlx5_5", "events")
    node.rate(14.0, *place, "local_ack_timeout_err")
    node.rate(2600.0, *place, "out_of_sequence")
    node.rate(90.0, *place, "roce_slow_restart")
    node.rate(900.0, *place, "np_cnp_sent")
    node.gpus(utilization_percent=100.0, power_draw_watts=330.0, temperature_celsius=54.0)
    node.wait(HOUR, 30)
    for name in ("local_ack_timeout_err", "out_of_sequence", "roce_slow_restart", "np_cnp_sent"):
        node.rate(0.0, *place, name)
    works(node)
    node.wait(HOUR, 60)


@incident(
    "net_link_flap@ens2f0",
    may=LINK_AFTER,
    unfit=False,
    fit_at_end=True,
    node=kubelet_node,
)
def plug_of_a_bond_leg_is_half_in(node: Story) -> None:
    """One leg of a bond goes down and up nine times within an hour, then it is pushed in."""
    node.wait(300, 60)
    flaps(
        node,
        "ens2f0",
        9,
        10,
        380,
        "ice 0000:5c:00.2 ens2f0: NIC Link is Down",
        "ice 0000:5c:00.2 ens2f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC, "
        "Negotiated FEC: RS-FEC, Autoneg Advertised: Off, Autoneg Negotiated: False, Flow "
        "Control: None",
    )
    node.wait(2 * HOUR, 120)


@incident(
    "net_tx_timeout@enp65s0f1",
    may=("tcp_retransmit_burst", "net_link_down", "net_link_flap", "net_drop"),
    never=("nic_driver_fatal",),
    fit_at_end=True,
    node=object_store,
)
def queue_of_a_broadcom_port_stops(node: Story) -> None:
    """The kernel's watchdog sees a queue that sends nothing; the driver resets and goes on."""
    node.wait(300, 60)
    node.log(
        "------------[ cut here ]------------",
        "NETDEV WATCHDOG: enp65s0f1 (bnxt_en): transmit queue 11 timed out",
        "bnxt_en 0000:41:00.1 enp65s0f1: TX timeout detected, starting reset task!",
        "bnxt_en 0000:41:00.1 enp65s0f1: [0.0]: tx{fw_ring: 0 prod: 1b4 cons: 1a9}",
    )
    node.wait(3 * HOUR, 120)


@incident(
    "net_errors@eth0",
    may=("tcp_retransmit_burst", "net_drop"),
    unfit=False,
    gone=("net_errors",),
    fit_at_end=True,
    node=rack_server,
)
def fibre_is_bent_until_noon(node: Story) -> None:
    """Forty damaged frames a second of two thousand; the fibre is straightened at noon."""
    node.wait(300, 60)
    node.rate(2000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(40.0, "Network", "interfaces", "eth0", "receive_errors")
    node.rate(18.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(HOUR, 30)
    node.rate(0.0, "Network", "interfaces", "eth0", "receive_errors")
    node.rate(0.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(HOUR, 60)


@incident(
    "conntrack_full@node",
    may=("net_drop", "tcp_retransmit_burst", "tcp_listen_overflow"),
    unfit=False,
    gone=("conntrack_full",),
    fit_at_end=True,
    node=kubelet_node,
)
def crawler_opens_a_quarter_million_connections(node: Story) -> None:
    """A pod fills the table of connections, packets of all others are dropped for a while."""
    node.wait(300, 60)
    for entries in (150_000, 210_000, 255_000, 262_144):
        node.put("NetworkStack", conntrack_entries=entries)
        node.wait(60, 15)
    for _ in range(6):
        node.log("nf_conntrack: nf_conntrack: table full, dropping packet")
        node.wait(90, 15)
    node.put("NetworkStack", conntrack_entries=31_000)
    node.wait(HOUR, 60)


@incident(
    "net_link_down@enp65s0f0",
    may=("tcp_retransmit_burst", "nic_cable_unplugged", "net_link_flap"),
    unfit=False,
    lasts=("net_link_down@enp65s0f0",),
    fit_at_end=True,
    node=object_store,
)
def switch_of_one_leg_is_dead(node: Story) -> None:
    """One of two switches of a rack dies: the bond goes on with half its rate for hours."""
    node.wait(300, 60)
    node.log(
        "bnxt_en 0000:41:00.0 enp65s0f0: NIC Link is Down",
        "bond0: (slave enp65s0f0): link status definitely down, disabling slave",
    )
    node.put("Network", "interfaces", "enp65s0f0", up=False, operstate="down", carrier_changes=3)
    node.put("Network", "interfaces", "enp65s0f0", speed_bytes_per_second=None)
    node.wait(3 * HOUR, 240)


@incident(
    "nic_module_hot@*",
    may=("net_link_down", "net_link_flap", "ib_link_errors", "ib_port_down", *RDMA),
    node=roce_box,
)
def optic_is_above_its_temperature(node: Story) -> None:
    """An adapter warns of a hot module every few minutes for half an hour."""
    node.wait(120)
    for _ in range(8):
        node.log(
            "mlx5_core 0000:67:00.0: temp_warn:191:(pid 0): High temperature on sensors with bit "
            "set 0x0000000000000001 0x0000000000000000",
            "mlx5_core 0000:67:00.0: Port module event[error]: module 0, Cable error, High "
            "Temperature",
        )
        node.wait(240, 30)
    node.wait(HOUR, 60)


@incident(
    "net_drop@enp71s0",
    may=("softnet_drops", "tcp_retransmit_burst"),
    unfit=False,
    gone=("net_drop",),
    fit_at_end=True,
    node=cloud_h100s,
)
def allowance_of_an_instance_is_exceeded(node: Story) -> None:
    """A guest receives more than its allowance: every twentieth packet is dropped for an hour."""
    node.wait(300, 60)
    node.rate(600_000.0, "Network", "interfaces", "enp71s0", "receive_packets")
    node.rate(33_000.0, "Network", "interfaces", "enp71s0", "receive_drops")
    node.rate(4000.0, "NetworkStack", "tcp_retransmitted_segments")
    node.rate(300_000.0, "NetworkStack", "tcp_segments_sent")
    node.wait(HOUR, 30)
    node.rate(0.0, "Network", "interfaces", "enp71s0", "receive_drops")
    node.rate(40_000.0, "Network", "interfaces", "enp71s0", "receive_packets")
    node.rate(0.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(HOUR, 60)


CASES = (
    cable_of_a_fabric_port_is_exchanged,
    optic_of_a_port_flaps_all_night,
    port_comes_back_with_one_lane,
    cable_has_symbol_errors_all_the_time,
    firmware_of_an_adapter_asserts,
    switch_without_pause_frames_loses_packets,
    plug_of_a_bond_leg_is_half_in,
    queue_of_a_broadcom_port_stops,
    fibre_is_bent_until_noon,
    crawler_opens_a_quarter_million_connections,
    switch_of_one_leg_is_dead,
    optic_is_above_its_temperature,
    allowance_of_an_instance_is_exceeded,
)
