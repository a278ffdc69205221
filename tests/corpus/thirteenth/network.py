"""Incidents of the network: rails, adapters, cables, what a port loses."""

from tests.corpus.eleventh.nodes import HOUR, NET, SPIN, aborts, port_falls, port_rises, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import waits, works
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    eight_a100,
    new_h100,
    old_h100,
    pod_worker,
    raid_server,
    some_b200,
    some_h200,
)
from tests.corpus.twelfth.hosts import web_worker

FABRIC = ("ib_link_errors", "ib_port_errors", "ib_port_rate_low", "roce_congestion", *SPIN)


@incident(
    "ib_port_down@mlx5_4*|nic_cable_unplugged@*",
    may=("nic_cable_unplugged", "ib_port_down", *FABRIC),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    unfit=True,
    fit_at_end=False,
    node=some_h200,
)
def wrong_cable_is_pulled_at_a_rebuild(node: Story) -> None:
    """Somebody pulls the cable of a rail that is in use; the job ends, the cable stays out."""
    node.wait(2400, 120)
    node.log("mlx5_core 0000:8a:00.0: Port module event: module 0, Cable unplugged")
    port_falls(node, "mlx5_4", 1)
    waits(node, watts=150.0)
    node.wait(660, 60)
    aborts(node)
    node.wait(4 * HOUR, 240)


@incident(
    "ib_port_down@mlx5_2*",
    root="ib_port_down@*",
    may=FABRIC,
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down", "nic_cable_unplugged"),
    unfit=True,
    gone=("ib_port_down",),
    fit_at_end=True,
    node=old_h100,
)
def leaf_switch_of_one_rail_starts_anew(node: Story) -> None:
    """A leaf switch crashes and starts again: one rail is down for seventeen minutes."""
    node.wait(2400, 120)
    port_falls(node, "mlx5_2", 1)
    waits(node)
    node.wait(600, 30)
    aborts(node)
    node.wait(420, 60)
    port_rises(node, "mlx5_2")
    node.wait(600, 60)
    starts(node, old_h100, 67_004)
    node.wait(3 * HOUR, 180)


@incident(
    "ib_link_errors@mlx5_1*",
    "ib_port_down@mlx5_1*",
    root="ib_link_errors@mlx5_1*|ib_port_down@mlx5_1*",
    may=("nic_cable_unplugged", *FABRIC),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    unfit=True,
    fit_at_end=False,
    node=eight_a100,
)
def laser_of_a_rail_grows_weak_and_goes_out(node: Story) -> None:
    """A rail has symbol errors all morning, more and more of them; at noon it is down."""
    node.wait(1200, 120)
    place = ("Infiniband", "ports", "mlx5_1", "errors")
    for errors, recoveries in ((45.0, 0.01), (240.0, 0.05), (900.0, 0.2)):
        node.rate(errors, *place, "symbol_error")
        node.rate(recoveries, *place, "link_error_recovery")
        node.rate(errors / 60.0, *place, "port_rcv_errors")
        node.wait(HOUR, 120)
    for name in ("symbol_error", "link_error_recovery", "port_rcv_errors"):
        node.rate(0.0, *place, name)
    port_falls(node, "mlx5_1", 1)
    waits(node, watts=92.0)
    node.wait(600, 60)
    aborts(node, watts=63.0, heat=31.0)
    node.wait(2 * HOUR, 240)


@incident(
    "ib_port_rate_low@mlx5_7*",
    root="ib_port_rate_low@mlx5_7*|ib_port_down@mlx5_7*",
    may=("ib_port_down", "ib_link_errors", *SPIN),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    lasts=("ib_port_rate_low@mlx5_7*",),
    node=some_b200,
)
def rail_comes_back_at_half_its_rate(node: Story) -> None:
    """A rail trains anew within half a minute, with two lanes of four; the job goes on slowly."""
    node.wait(1800, 120)
    port_falls(node, "mlx5_7", 1)
    waits(node, watts=205.0)
    node.wait(30, 10)
    port_rises(node, "mlx5_7")
    node.put("Infiniband", "ports", "mlx5_7", rate_bytes_per_second=25e9)
    works(node, watts=730.0, heat=55.0)
    node.wait(5 * HOUR, 180)


@incident(
    "nic_driver_fatal@*",
    may=("ib_port_down", "net_tx_timeout", "hung_task", *NET, *FABRIC),
    never=("pcie_network_card_missing", "nvlink_down", "gpu_lost"),
    unfit=True,
    fit_at_end=True,
    node=new_h100,
)
def adapter_of_a_rail_is_recovered_by_its_driver(node: Story) -> None:
    """The firmware of an adapter asserts; its driver brings it back, and the job is restarted."""
    card = "mlx5_core 0000:66:00.0"
    node.wait(2400, 120)
    node.log(
        f"{card}: mlx5_error_sw_reset:231:(pid 61120): start",
        f"{card}: print_health_info:431:(pid 0): assert_var[0] 0x00000003",
        f"{card}: print_health_info:434:(pid 0): assert_exit_ptr 0x21a1d0b4",
        f"{card}: print_health_info:443:(pid 0): fw_ver 28.42.1000",
        f"{card}: print_health_info:446:(pid 0): synd 0x1: firmware internal error",
        f"{card}: mlx5_health_try_recover:335:(pid 61120): handling bad device here",
    )
    node.put("Infiniband", "ports", "mlx5_3", state="down", phys_state="disabled")
    waits(node)
    node.wait(45, 15)
    node.log(f"{card}: mlx5_health_try_recover:345:(pid 61120): health recovery succeeded")
    port_rises(node, "mlx5_3")
    node.wait(300, 60)
    aborts(node)
    node.wait(240, 60)
    starts(node, new_h100, 19_330)
    node.wait(3 * HOUR, 180)


@incident(
    "net_tx_timeout@ens1f0np0",
    may=("net_link_flap", "net_link_down", "nic_driver_fatal", *NET),
    never=("pcie_network_card_missing", "disk_io_errors"),
    node=web_worker,
)
def queue_of_a_leg_hangs_each_afternoon(node: Story) -> None:
    """A transmit queue of one leg of a bond hangs five times in three hours; a reset helps."""
    card = "bnxt_en 0000:5c:00.0 ens1f0np0"
    node.wait(1200, 120)
    for number in range(5):
        node.log(
            f"{card}: NETDEV WATCHDOG: CPU: {11 + number}: transmit queue 6 timed out 5368 ms",
            f"{card}: TX timeout detected, starting reset task!",
            f"{card}: [0]: tx{{fw_ring: 0 prod: 1c cons: 1c}}",
        )
        node.wait(20, 10)
        node.log(f"{card}: NIC Link is Up, 25000 Mbps full duplex, Flow control: none")
        node.wait(2400, 120)


@incident(
    "net_link_flap@eno1",
    may=("nfs_server_stalled", *NET),
    never=("nic_driver_fatal", "pcie_network_card_missing", "raid_volume_degraded"),
    node=raid_server,
)
def old_port_of_a_file_server_loses_its_link(node: Story) -> None:
    """The only port of a file server goes down for seconds, fourteen times within an hour."""
    card = "tg3 0000:5c:00.0 eno1"
    node.wait(600, 60)
    place = ("Network", "interfaces", "eno1")
    for number in range(14):
        node.log(f"{card}: Link is down")
        node.put(*place, up=False, operstate="down", carrier_changes=3 + 2 * number)
        node.put(*place, speed_bytes_per_second=None)
        node.wait(5, 5)
        node.log(
            f"{card}: Link is up at 1000 Mbps, full duplex",
            f"{card}: Flow control is on for TX and on for RX",
        )
        node.put(*place, up=True, operstate="up", carrier_changes=4 + 2 * number)
        node.put(*place, speed_bytes_per_second=1.25e8)
        node.wait(240, 60)


@incident(
    "nic_module_hot@*",
    may=("ib_port_down", "ib_link_errors", "node_inlet_hot", *FABRIC),
    never=("nic_driver_fatal", "pcie_network_card_missing", "gpu_overheat"),
    node=some_b200,
)
def module_of_a_rail_is_too_hot(node: Story) -> None:
    """The module of one rail reports a high temperature every half an hour through the day."""
    node.wait(1200, 120)
    for _ in range(9):
        node.log(
            "mlx5_core 0000:c7:00.0: Port module event[error]: module 0, Cable error, High "
            "Temperature",
            "mlx5_core 0000:c7:00.0: temp_warn:198:(pid 0): High temperature on sensors with bit "
            "set 0 1",
        )
        node.wait(1800, 150)


@incident(
    "net_link_down@eno2",
    root="net_link_down@eno2|nic_cable_unplugged@*",
    may=NET,
    never=("nic_driver_fatal", "pcie_network_card_missing"),
    unfit=False,
    gone=("net_link_down",),
    fit_at_end=True,
    node=pod_worker,
)
def leg_of_a_worker_is_plugged_in_again(node: Story) -> None:
    """One leg of a bond has no link for two hours, until its transceiver is exchanged."""
    card = "i40e 0000:5c:00.1 eno2"
    place = ("Network", "interfaces", "eno2")
    node.wait(1200, 120)
    node.log(
        f"{card}: NIC Link is Down",
        "bond0: (slave eno2): link status definitely down, disabling slave",
    )
    node.put(*place, up=False, operstate="down", carrier_changes=3, speed_bytes_per_second=None)
    node.put("Network", "interfaces", "eno1", peers_up=0)
    node.put("Network", "interfaces", "bond0", speed_bytes_per_second=1.25e9)
    node.wait(2 * HOUR, 120)
    node.log(
        f"{card}: NIC Link is Up, 10 Gbps Full Duplex, Flow Control: None",
        "bond0: (slave eno2): link status definitely up, 10000 Mbps full duplex",
    )
    node.put(*place, up=True, operstate="up", carrier_changes=4, speed_bytes_per_second=1.25e9)
    node.put("Network", "interfaces", "eno1", peers_up=1)
    node.put("Network", "interfaces", "bond0", speed_bytes_per_second=2.5e9)
    node.wait(2 * HOUR, 120)


CASES = (
    wrong_cable_is_pulled_at_a_rebuild,
    leaf_switch_of_one_rail_starts_anew,
    laser_of_a_rail_grows_weak_and_goes_out,
    rail_comes_back_at_half_its_rate,
    adapter_of_a_rail_is_recovered_by_its_driver,
    queue_of_a_leg_hangs_each_afternoon,
    old_port_of_a_file_server_loses_its_link,
    module_of_a_rail_is_too_hot,
    leg_of_a_worker_is_plugged_in_again,
)
