"""Incidents of the network: rails, adapters, cables, what the stack drops."""

from tests.corpus.eighth.nodes import flaps, kubelet_node
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import hpc_worker, object_store, roce_box, waits, works
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    HOUR,
    SPIN,
    database,
    file_server,
    pod_of_a100,
    pod_of_b200,
    pod_of_h100,
    pod_of_h200,
)

FABRIC = ("ib_link_errors", "ib_port_errors", "ib_port_rate_low", "roce_congestion", *SPIN)
NET = ("tcp_retransmit_burst", "net_drop", "net_link_down", "net_link_flap", "net_errors")


@incident(
    "ib_port_down@mlx5_2*",
    may=(*FABRIC, "nic_cable_unplugged", "network_filesystem_stalled"),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    unfit=True,
    lasts=("ib_port_down@mlx5_2*",),
    fit_at_end=False,
    node=pod_of_h100,
)
def laser_of_a_rail_dies(node: Story) -> None:
    """One of four rails goes down for good; the job aborts and nobody comes until the morning."""
    node.wait(600, 60)
    node.put("Infiniband", "ports", "mlx5_2", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_2", errors={"link_downed": 1, "symbol_error": 48})
    waits(node)
    node.wait(600, 30)
    node.job_ends()
    node.wait(3 * HOUR, 120)


@incident(
    "ib_port_down@mlx5_0*|ib_link_errors@mlx5_0*",
    may=(*FABRIC, "ib_port_down", "nic_cable_unplugged"),
    never=("nic_driver_fatal", "pcie_network_card_missing", "nvlink_down"),
    unfit=True,
    fit_at_end=True,
    node=pod_of_h200,
)
def splitter_loses_light_three_times(node: Story) -> None:
    """A rail is down for two minutes, twice more within three hours, then it is cleaned."""
    node.wait(300, 60)
    for number in (1, 2, 3):
        node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="polling")
        node.put("Infiniband", "ports", "mlx5_0", errors={"link_downed": number})
        waits(node)
        node.wait(120)
        node.put("Infiniband", "ports", "mlx5_0", state="active", phys_state="linkup")
        works(node, watts=605.0)
        node.wait(3200, 60)
    node.wait(2 * HOUR, 120)


@incident(
    "ib_link_errors@mlx5_3*",
    may=("ib_port_errors", *SPIN),
    never=("ib_port_down", "nic_driver_fatal"),
    unfit=False,
    node=pod_of_a100,
)
def connector_is_dusty(node: Story) -> None:
    """Symbol errors by the dozen each second, recoveries of the link twice a minute, for hours."""
    node.wait(300, 60)
    place = ("Infiniband", "ports", "mlx5_3", "errors")
    node.rate(24.0, *place, "symbol_error")
    node.rate(0.035, *place, "link_error_recovery")
    node.rate(0.4, *place, "port_rcv_errors")
    node.wait(4 * HOUR, 60)


@incident(
    "ib_port_rate_low@mlx5_1*",
    may=("ib_link_errors", "ib_port_down", *SPIN),
    never=("nic_driver_fatal", "nvlink_down"),
    node=pod_of_b200,
)
def rail_trains_at_half_of_its_rate(node: Story) -> None:
    """After its cable was moved a rail of 400 Gbit/s runs at 200; every step is longer."""
    node.wait(600, 60)
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_1", errors={"link_downed": 1})
    waits(node)
    node.wait(20, 5)
    node.put("Infiniband", "ports", "mlx5_1", state="active", phys_state="linkup")
    node.put("Infiniband", "ports", "mlx5_1", rate_bytes_per_second=25e9)
    works(node, watts=760.0)
    node.wait(3 * HOUR, 120)


@incident(
    "nic_driver_fatal@*",
    may=(*NET, *FABRIC, "ib_port_down", "net_tx_timeout", "pcie_device_inaccessible"),
    never=("pcie_network_card_missing", "nvlink_down", "gpu_lost"),
    unfit=True,
    node=hpc_worker,
)
def health_counter_of_an_adapter_stops(node: Story) -> None:
    """The adapter of a worker misses its health counter, is reset, and does not come back."""
    card = "mlx5_core 0000:ca:00.0"
    node.wait(300, 60)
    node.log(
        f"{card}: poll_health:991:(pid 0): device's health compromised - reached miss count",
        f"{card}: print_health_info:431:(pid 0): assert_var[0] 0x00000000",
        f"{card}: print_health_info:436:(pid 0): fw_ver 20.38.1002",
        f"{card}: print_health_info:442:(pid 0): synd 0x0: unrecognized error",
        f"{card}: mlx5_health_try_recover:338:(pid 7120): handling bad device here",
        f"{card}: wait_func:1151:(pid 7120): 2RST_QP(0x50a) timeout. Will cause a leak of a "
        "command resource",
    )
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="disabled")
    node.put("Cpu", usage_percent=14.0, used_cores=18.0)
    node.wait(2 * HOUR, 120)


@incident(
    "net_link_down@ens3f1np1",
    may=(*NET, "nic_cable_unplugged"),
    unfit=False,
    never=("nic_driver_fatal", "pcie_network_card_missing"),
    gone=("net_link_down",),
    fit_at_end=True,
    node=database,
)
def somebody_pulls_the_wrong_cable(node: Story) -> None:
    """The second port of a database loses its link for forty minutes."""
    node.wait(600, 60)
    node.log("bnxt_en 0000:5c:00.1 ens3f1np1: NIC Link is Down")
    node.put("Network", "interfaces", "ens3f1np1", up=False, operstate="down", carrier_changes=3)
    node.put("Network", "interfaces", "ens3f1np1", speed_bytes_per_second=None)
    node.wait(2400, 30)
    node.log(
        "bnxt_en 0000:5c:00.1 ens3f1np1: NIC Link is Up, 25000 Mbps full duplex, "
        "Flow control: none",
        "bnxt_en 0000:5c:00.1 ens3f1np1: FEC autoneg off encoding: Clause 91 RS(544,514)",
    )
    node.put("Network", "interfaces", "ens3f1np1", up=True, operstate="up", carrier_changes=4)
    node.put("Network", "interfaces", "ens3f1np1", speed_bytes_per_second=3.125e9)
    node.wait(2 * HOUR, 120)


@incident(
    "net_link_flap@eth0",
    may=(*NET, "nfs_server_stalled", "filesystem_stuck", "process_waits_for_storage"),
    never=("nic_driver_fatal", "pcie_network_card_missing"),
    unfit=False,
    fit_at_end=True,
    node=file_server,
)
def copper_transceiver_is_too_warm(node: Story) -> None:
    """The port of a file server goes down for some seconds fourteen times in two hours."""
    node.wait(300, 60)
    flaps(
        node,
        "eth0",
        14,
        10,
        500,
        "ixgbe 0000:5c:00.0 eth0: NIC Link is Down",
        "ixgbe 0000:5c:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
    )
    node.wait(2 * HOUR, 120)


@incident(
    "net_errors@ens3f0np0",
    may=NET,
    never=("nic_driver_fatal",),
    unfit=False,
    node=database,
)
def frames_arrive_with_wrong_sums(node: Story) -> None:
    """Two of a hundred received frames are damaged, all day: a bad cable."""
    node.wait(300, 60)
    node.rate(5000.0, "Network", "interfaces", "ens3f0np0", "receive_packets")
    node.rate(5000.0, "Network", "interfaces", "ens3f0np0", "transmit_packets")
    node.rate(104.0, "Network", "interfaces", "ens3f0np0", "receive_errors")
    node.rate(35.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(4 * HOUR, 60)


@incident(
    "pcie_network_card_missing@*",
    may=(*NET, *FABRIC, "ib_port_down", "nic_driver_fatal", "pcie_device_inaccessible"),
    never=("gpu_lost", "pcie_nvme_missing"),
    unfit=True,
    node=pod_of_h100,
)
def rail_disappears_from_the_bus(node: Story) -> None:
    """A ConnectX does not show up on the bus any more after its firmware was written."""
    node.wait(600, 60)
    node.log(
        "mlx5_core 0000:bf:00.0: mlx5_pci_err_detected Device state = 2 health sensors: 1 "
        "pci_status: 1. Enter, pci channel state = 3",
        "mlx5_core 0000:bf:00.0: E-Switch: Unload vfs: mode(LEGACY), nvfs(0), "
        "neovfs(0), active vports(0)",
        "pci 0000:bf:00.0: Removing from iommu group 71",
    )
    node.put("Pcie", "devices", **{"rail bf": None})
    node.put("Infiniband", ports={"mlx5_3": None})
    for name in ("mlx5_0", "mlx5_1", "mlx5_2"):
        node.put("Infiniband", "ports", name, peers_up=2)
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "roce_congestion@mlx5_3*",
    may=(*FABRIC, *NET),
    never=("ib_port_down", "nic_driver_fatal"),
    unfit=False,
    node=roce_box,
)
def one_rail_has_no_lossless_class(node: Story) -> None:
    """A port of a new leaf switch drops RDMA: out of sequence by the thousand, time-outs follow."""
    node.wait(300, 60)
    place = ("Infiniband", "ports", "mlx5_3", "events")
    node.rate(4100.0, *place, "out_of_sequence")
    node.rate(22.0, *place, "local_ack_timeout_err")
    node.rate(140.0, *place, "roce_slow_restart")
    node.gpus(utilization_percent=100.0, power_draw_watts=300.0, power_average_watts=300.0)
    node.wait(3 * HOUR, 60)


@incident(
    "net_tx_timeout@ens1f0",
    may=(*NET, "nic_driver_fatal"),
    node=kubelet_node,
)
def queue_of_an_ice_port_hangs(node: Story) -> None:
    """A queue of one leg is stuck three times in an hour, the driver resets the port."""
    node.wait(300, 60)
    for number in range(3):
        node.log(
            "NETDEV WATCHDOG: ens1f0 (ice): transmit queue 38 timed out 5336 ms",
            f"ice 0000:5c:00.1 ens1f0: tx_timeout: VSI_num: 14, Q 38, NTC: 0x{0x4F + number:x}, "
            "HW_HEAD: 0x51, NTU: 0x54, INT: 0x0",
            "ice 0000:5c:00.1 ens1f0: tx_timeout recovery level 1, txqueue 38",
        )
        node.wait(1200, 30)
    node.wait(2 * HOUR, 120)


@incident(
    "net_drop@bond0|net_drop@enp65s0f*",
    may=(*NET, "softnet_drops"),
    never=("nic_driver_fatal", "net_tx_timeout"),
    unfit=False,
    gone=("net_drop",),
    fit_at_end=True,
    node=object_store,
)
def ring_of_a_store_is_too_short(node: Story) -> None:
    """During a recovery of the store a twentieth of the packets is dropped on both legs."""
    node.wait(300, 60)
    for name, factor in (("bond0", 2), ("enp65s0f0", 1), ("enp65s0f1", 1)):
        node.rate(260_000.0 * factor, "Network", "interfaces", name, "receive_packets")
        node.rate(13_500.0 * factor, "Network", "interfaces", name, "receive_drops")
    node.rate(500_000.0, "NetworkStack", "tcp_segments_sent")
    node.rate(9000.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(HOUR, 30)
    for name in ("bond0", "enp65s0f0", "enp65s0f1"):
        node.rate(0.0, "Network", "interfaces", name, "receive_drops")
        node.rate(20_000.0, "Network", "interfaces", name, "receive_packets")
    node.rate(0.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(HOUR, 60)


CASES = (
    laser_of_a_rail_dies,
    splitter_loses_light_three_times,
    connector_is_dusty,
    rail_trains_at_half_of_its_rate,
    health_counter_of_an_adapter_stops,
    somebody_pulls_the_wrong_cable,
    copper_transceiver_is_too_warm,
    frames_arrive_with_wrong_sums,
    rail_disappears_from_the_bus,
    one_rail_has_no_lossless_class,
    queue_of_an_ice_port_hangs,
    ring_of_a_store_is_too_short,
)
