"""Trials of the rules about network interfaces, the network stack and InfiniBand ports."""

from tests.faults.rules.trials import Given, Goes, Rises, Row

MLX5 = "mlx5_core 0000:17:00.0 ens1np0: "
NIC: Given = {"pci_bus_id": "0000:17:00.0", "admin_up": True}
NEAR: Given = {"nearest_gpus": "GPU 3"}
BUSY: Given = {**NIC, "receive_packets": Rises(10_000), "transmit_packets": Rises(10_000)}
DAMAGED: Given = {**BUSY, "receive_errors": Rises(20), "transmit_errors": 0}
DROPPED: Given = {**BUSY, "receive_drops": Rises(400), "transmit_drops": 0}
CALM: Given = {"receive_errors": Rises(0), "receive_drops": Rises(0)}

ENA = "ena 0000:00:05.0 ens5"
HANGS = "NETDEV WATCHDOG: CPU: 3: transmit queue 1 timed out 5128 ms"
RESET = "Device reset completed successfully"

AGAIN = "ixgbe 0000:3b:00.0 eth0: Reset adapter unexpectedly"
BOND = "bond0: (slave eth0): link status definitely down, disabling slave"
LAST = "bond0: now running without any active interface!"

ROWS = (
    Row(
        "nic_resets",
        "nic",
        about="eth0",
        holds={"kernel": "\n".join([AGAIN] * 3)},
        holds_not={"kernel": AGAIN},
        severity="warning",
        summary="Reset adapter unexpectedly",
    ),
    Row(
        "rdma_commands_fail",
        "node",
        holds={"kernel": "infiniband efa_0: Failed to process command CREATE_QP (opcode 1)"},
        holds_not={"kernel": AGAIN},
        severity="warning",
        summary="efa_0",
    ),
    Row(
        "bond_without_link",
        "node",
        holds={"kernel": f"{BOND}\n{LAST}"},
        holds_not={"kernel": AGAIN},
        severity="critical",
        summary="no interface with a link",
    ),
    Row(
        "net_link_down",
        "nic",
        about="ens1np0",
        holds={**NIC, "up": Goes(before=True, after=False)},
        holds_not={**NIC, "up": False},
        clears={"up": True},
    ),
    Row(
        "net_link_flap",
        "nic",
        holds={**NIC, "operstate": "up", "carrier_changes": Goes(2, 6)},
        holds_not={"operstate": "up", "carrier_changes": Goes(2, 6)},
    ),
    Row(
        "net_errors",
        "nic",
        holds=DAMAGED,
        holds_not={**DAMAGED, "receive_errors": Rises(0.05)},
        clears=CALM,
        unknown=NIC,
    ),
    Row(
        "net_drop",
        "nic",
        holds=DROPPED,
        holds_not={**DROPPED, "receive_drops": Rises(10)},
        clears=CALM,
        unknown=NIC,
    ),
    Row(
        "nic_pause_storm",
        "nic",
        holds={**NIC, "pauses_received": Rises(9000), "pauses_sent": Rises(10)},
        holds_not={**NIC, "pauses_received": Rises(2000), "pauses_sent": Rises(10)},
        clears={"pauses_received": Rises(0)},
        unknown={},
        is_gated=True,
        summary="The network pauses interface it:",
    ),
    Row(
        "nic_pause_storm",
        "nic",
        holds={**NIC, "receive_pause_seconds": Rises(0.5), **NEAR},
        holds_not={**NIC, "receive_pause_seconds": Rises(0.1), **NEAR},
        clears={"receive_pause_seconds": Rises(0)},
        unknown={},
        is_gated=True,
        summary="it, nearest to GPU 3:",
    ),
    Row(
        "nic_pause_storm",
        "nic",
        holds={**NIC, "pauses_received": Rises(9000), "pauses_sent": Rises(9000), **NEAR},
        holds_not={**NIC, "pauses_received": 9_000_000, "pauses_sent": 9_000_000, **NEAR},
        clears={"pauses_received": Rises(0), "pauses_sent": Rises(0)},
        unknown={},
        is_gated=True,
        summary="it, nearest to GPU 3, pauses the network",
    ),
    Row(
        "nic_discards",
        "nic",
        holds={**NIC, "receive_no_buffer": Rises(300)},
        holds_not={**NIC, "receive_no_buffer": Rises(30), "transmit_discards": 1_000_000},
        clears={"receive_no_buffer": Rises(0)},
        unknown={},
        is_gated=True,
        summary="Network adapter it discards",
    ),
    Row(
        "nic_discards",
        "nic",
        holds={**NIC, "receive_discards": Rises(300), **NEAR},
        holds_not={**NIC, "receive_discards": Rises(30), **NEAR},
        clears={"receive_discards": Rises(0)},
        unknown={},
        is_gated=True,
        summary="it, nearest to GPU 3, discards",
    ),
    Row(
        "nic_fec_uncorrectable",
        "nic",
        holds={**NIC, "fec_uncorrectable_blocks": Rises(0.2), **NEAR},
        holds_not={**NIC, "fec_uncorrectable_blocks": Goes(0, 400)},
        clears={"fec_uncorrectable_blocks": Rises(0)},
        unknown={},
        is_gated=True,
        summary="it, nearest to GPU 3, has errors",
    ),
    Row(
        "nic_fec_uncorrectable",
        "nic",
        holds={**NIC, "symbol_errors": Rises(2)},
        holds_not={**NIC, "symbol_errors": Rises(0.01)},
        clears={"symbol_errors": Rises(0)},
        unknown={},
        is_gated=True,
        summary="The link of it has errors",
    ),
    Row(
        "net_link_down",
        "nic",
        holds={**NIC, "up": Goes(before=True, after=False), **NEAR},
        holds_not={**NIC, "up": False, **NEAR},
        clears={"up": True},
        summary="it, nearest to GPU 3, lost its link",
    ),
    Row(
        "net_tx_timeout",
        "nic",
        about="ens1np0",
        holds={"kernel": MLX5 + "TX timeout detected"},
        holds_not={"kernel": MLX5 + "Link up"},
        severity="warning",
    ),
    Row(
        "net_tx_timeout",
        "nic",
        about="ens5",
        holds={"kernel": f"{ENA}: {HANGS}\n{ENA}: {RESET}\n" * 4},
        holds_not={"kernel": f"{ENA}: {RESET}"},
        severity="warning",
    ),
    Row(
        "net_tx_timeout",
        "nic",
        about="ens5",
        holds={"kernel": f"{ENA}: {HANGS}\n" * 3},
        holds_not={"kernel": f"{ENA}: {RESET}"},
        severity="critical",
    ),
    Row(
        "nic_driver_fatal",
        "nic",
        about="0000:17:00.0",
        holds={
            "kernel": "mlx5_core 0000:17:00.0: health_care:158:(pid 99): "
            "device's health compromised - reached miss count"
        },
        holds_not={
            "kernel": "mlx5_core 0000:17:00.0: port_module:268:(pid 0): "
            "Detected insufficient power on the PCIe slot (27W)."
        },
        severity="critical",
    ),
    Row(
        "nic_module_hot",
        "nic",
        about="0000:17:00.0",
        holds={
            "kernel": "mlx5_core 0000:17:00.0: Port module event[error]: module 0, Cable error, "
            "High Temperature"
        },
        holds_not={"kernel": "mlx5_core 0000:17:00.0: Port module event: module 0, Cable plugged"},
    ),
    Row(
        "nic_cable_unplugged",
        "nic",
        about="0000:17:00.0",
        holds={"kernel": "mlx5_core 0000:17:00.0: Port module event: module 0, Cable unplugged"},
        holds_not={"kernel": "mlx5_core 0000:17:00.0: Port module event: module 0, Cable plugged"},
        clears={"kernel": "mlx5_core 0000:17:00.0: Port module event: module 0, Cable plugged"},
    ),
    Row(
        "net_interface_leak",
        "nic",
        about="eth0",
        holds={
            "kernel": "\n".join(
                ["unregister_netdevice: waiting for eth0 to become free. Usage count = 1"] * 3
            )
        },
        holds_not={
            "kernel": "unregister_netdevice: waiting for eth0 to become free. Usage count = 1"
        },
    ),
    Row(
        "tcp_retransmit_burst",
        "node",
        holds={"tcp_segments_sent": Rises(5000), "tcp_retransmitted_segments": Rises(200)},
        holds_not={"tcp_segments_sent": Rises(5000), "tcp_retransmitted_segments": Rises(5)},
        clears={"tcp_retransmitted_segments": Rises(0)},
        unknown={},
    ),
    Row(
        "tcp_listen_overflow",
        "node",
        holds={"tcp_listen_drops": Rises(20)},
        holds_not={"tcp_listen_drops": 1_000_000},
        clears={"tcp_listen_drops": Rises(0)},
        unknown={},
    ),
    Row(
        "softnet_drops",
        "node",
        holds={"softnet_dropped": Rises(100)},
        holds_not={"softnet_dropped": 1_000_000},
        clears={"softnet_dropped": Rises(0)},
        unknown={},
    ),
    Row(
        "ib_port_down",
        "ib_port",
        holds={
            "up": Goes(before=True, after=False),
            "state": Goes("active", "down"),
            "phys_state": Goes("linkup", "polling"),
        },
        holds_not={"up": False, "state": "down", "phys_state": "disabled"},
        clears={"up": True},
        unknown={},
        is_gated=True,
        severity="critical",
        summary="(down, polling)",
    ),
    Row(
        "ib_port_rate_low",
        "ib_port",
        holds={"up": True, "rate_bytes_per_second": Goes(50e9, 25e9)},
        holds_not={"up": True, "rate_bytes_per_second": 50e9},
        clears={"rate_bytes_per_second": 50e9},
        unknown={"up": True},
    ),
    Row(
        "ib_link_errors",
        "ib_port",
        holds={"errors[symbol_error]": Rises(2)},
        holds_not={"errors[symbol_error]": Rises(0.01), "errors[link_downed]": 4},
        clears={"errors[symbol_error]": Rises(0)},
        unknown={},
        is_gated=True,
    ),
    Row(
        "ib_port_errors",
        "ib_port",
        holds={"errors[port_xmit_discards]": Rises(500)},
        holds_not={"errors[port_xmit_discards]": Rises(5)},
        clears={"errors[port_xmit_discards]": Rises(0)},
        unknown={},
        is_gated=True,
    ),
    Row(
        "roce_congestion",
        "ib_port",
        holds={"rdma_events[local_ack_timeout_err]": Rises(5)},
        holds_not={"rdma_events[out_of_sequence]": Rises(1)},
        clears={"rdma_events[local_ack_timeout_err]": Rises(0)},
        unknown={},
        is_gated=True,
    ),
)
