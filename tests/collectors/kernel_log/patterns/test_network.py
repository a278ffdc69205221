"""Lines of network drivers and of the transmit watchdog."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event, only_event

NIC = ("network", "0000:5c:00.0")
PORT = ("network", "ens1f0np0")
MLX = "mlx5_core 0000:5c:00.0: "
NET = "mlx5_core 0000:5c:00.0 ens1f0np0: "

CASES: tuple[Case, ...] = (
    (
        "mlx5_fatal",
        NIC,
        {"command": "ACCESS_REG"},
        MLX + "wait_func:1151:(pid 812): ACCESS_REG(0x805) timeout. Will cause a leak of a command "
        "resource",
    ),
    (
        "mlx5_fatal",
        NIC,
        {},
        MLX + "poll_health:1009:(pid 0): device's health compromised - reached miss count",
    ),
    (
        "mlx5_fatal",
        NIC,
        {"syndrome": "0x8"},
        MLX + "print_health_info:500:(pid 0): synd 0x8: unrecoverable hardware error",
    ),
    ("mlx5_fatal", NIC, {}, MLX + "poll_health:801:(pid 0): Fatal error 1 detected"),
    ("mlx5_fatal", NIC, {}, MLX + "print_health:819:(pid 0): Fatal error detected"),
    (
        "mlx5_fatal",
        NIC,
        {},
        MLX + "mlx5_health_try_recover:338:(pid 55): health recovery flow aborted, PCI reads still "
        "not working",
    ),
    (
        "nic_module_hot",
        NIC,
        {},
        MLX + "print_health_info:520:(pid 0): synd 0x10: High temperature",
    ),
    ("nic_tx_timeout", PORT, {"state": "detected"}, NET + "TX timeout detected"),
    (
        "nic_rx_timeout",
        PORT,
        {"channel": "3"},
        NET + "RX timeout on channel: 3, ICOSQ: 0x1 RQ: 0x2, CQ: 0x3",
    ),
    (
        "nic_tx_timeout",
        PORT,
        {"queue": "4", "driver": "mlx5_core"},
        "NETDEV WATCHDOG: ens1f0np0 (mlx5_core): transmit queue 4 timed out",
    ),
    (
        "nic_tx_timeout",
        PORT,
        {"queue": "4", "milliseconds": "5016"},
        NET + "NETDEV WATCHDOG: CPU: 12: transmit queue 4 timed out 5016 ms",
    ),
    (
        "nic_module_hot",
        NIC,
        {"module": "0"},
        MLX + "Port module event[error]: module 0, Cable error, High Temperature",
    ),
    (
        "nic_module_hot",
        NIC,
        {},
        MLX + "temp_warn:239:(pid 0): High temperature on sensors with bit set 0 1",
    ),
    (
        "nic_cable",
        NIC,
        {"module": "0", "state": "unplugged"},
        MLX + "Port module event: module 0, Cable unplugged",
    ),
    (
        "nic_cable",
        NIC,
        {"state": "error", "text": "Power budget exceeded"},
        MLX + "Port module event[error]: module 0, Cable error, Power budget exceeded",
    ),
    (
        "nic_slot_power",
        NIC,
        {"watts": "27"},
        MLX + "mlx5_pcie_event:301:(pid 812): Detected insufficient power on the PCIe slot (27W).",
    ),
    (
        "nic_access_reg",
        NIC,
        {"status": "bad operation", "pid": "812"},
        MLX + "mlx5_cmd_out_err:838:(pid 812): ACCESS_REG(0x805) op_mod(0x1) failed, status bad "
        "operation(0x2), syndrome (0x305684), err(-22)",
    ),
    ("nic_link", PORT, {"state": "down"}, NET + "Link down"),
    ("nic_link", PORT, {"state": "up"}, NET + "Link up"),
    (
        "nic_link",
        ("network", "eno1"),
        {"state": "up", "driver": "igb"},
        "igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Up 1000 Mbps Full Duplex",
    ),
    (
        "nic_tx_timeout",
        PORT,
        {"queue": "3"},
        NET + "TX timeout on queue: 3, SQ: 0x11ab, CQ: 0x4e5, SQ Cons: 0x1 SQ Prod: 0x9, usecs "
        "since last trans: 8050000",
    ),
    (
        "mlx5_health",
        NIC,
        {"issue": "firmware internal error", "level": "3", "severity": "ERROR"},
        MLX + "print_health_info:424:(pid 0): Health issue observed, firmware internal error, "
        "severity(3) ERROR:",
    ),
    (
        "nic_lost",
        ("network", "enp2s0"),
        {"pci": "0000:02:00.0", "driver": "igb"},
        "igb 0000:02:00.0 enp2s0: PCIe link lost",
    ),
    (
        "nic_lost",
        ("network", "eno1"),
        {"state": "PCIe link lost"},
        "igc 0000:0a:00.0 eno1: PCIe link lost, device now detached",
    ),
    ("nic_lost", ("network", "0000:03:00.0"), {}, "ixgbe 0000:03:00.0: Adapter removed"),
    (
        "nic_hang",
        ("network", "eth0"),
        {"unit": "Hardware"},
        "e1000e 0000:00:19.0 eth0: Detected Hardware Unit Hang:\n  TDH                  <26>",
    ),
    (
        "nic_hang",
        ("network", "eth1"),
        {"unit": "Tx"},
        "ixgbe 0000:03:00.0 eth1: Detected Tx Unit Hang",
    ),
    (
        "nic_firmware_error",
        NIC,
        {"status": "0x8000", "driver": "bnxt_en"},
        "bnxt_en 0000:5c:00.0: Firmware not responding, status: 0x8000",
    ),
    (
        "mlx5_fatal",
        NIC,
        {},
        MLX + "mlx5_function_setup:1034:(pid 6985): Firmware over 120000 MS in pre-initializing "
        "state, aborting",
    ),
    (
        "nic_recovered",
        NIC,
        {},
        MLX + "mlx5_health_try_recover:335:(pid 55): health recovery succeeded",
    ),
    (
        "nic_recovered",
        NIC,
        {},
        MLX + "mlx5_health_try_recover:335:(pid 55): health revovery succeded",
    ),
    (
        "nic_recovered",
        ("network", "0000:00:05.0"),
        {"driver": "ena"},
        "ena 0000:00:05.0: Device reset completed successfully, Driver info: ena 2.13.0g",
    ),
    (
        "nic_recovered",
        ("network", "0000:01:00.0"),
        {"driver": "mlx4_core"},
        "mlx4_core 0000:01:00.0: device was reset successfully",
    ),
    (
        "nic_recovered",
        ("network", "0000:b5:00.0"),
        {"driver": "ionic"},
        "ionic 0000:b5:00.0: FW Up: LIFs restarted",
    ),
    (
        "nic_firmware_error",
        ("network", "eth0"),
        {},
        (
            "bnxt_en 0000:5c:00.0 eth0: Firmware fatal reset event, data1: 0x1, data2: 0x2, min "
            "wait 6000 ms, max wait 12000 ms"
        ),
    ),
    (
        "nic_firmware_error",
        NIC,
        {},
        "ice 0000:5c:00.0: Firmware recovery mode detected. Limiting functionality.",
    ),
    (
        "nic_probe_failed",
        NIC,
        {"driver": "mlx5_core", "error": "-110"},
        "mlx5_core: probe of 0000:5c:00.0 failed with error -110",
    ),
    (
        "nic_probe_failed",
        NIC,
        {"driver": "mlx5_core", "error": "-110"},
        MLX + "probe with driver mlx5_core failed with error -110",
    ),
    (
        "nic_module_hot",
        NIC,
        {},
        (
            "ixgbe 0000:5c:00.0: Network adapter has been stopped because it has over heated. "
            "Restart the computer. If the problem persists, power off the system and replace the "
            "adapter"
        ),
    ),
    (
        "nic_module_hot",
        ("network", "eno1"),
        {},
        "igb 0000:5c:00.0 eno1: The network adapter was stopped because it overheated",
    ),
    (
        "bond_link_down",
        ("network", "bond1"),
        {"text": "link status definitely down"},
        "bonding: bond1: link status definitely down for interface eth0, disabling it",
    ),
    (
        "bond_link_down",
        ("network", "bond1"),
        {"text": "now running without any active interface"},
        "bond1: now running without any active interface!",
    ),
    (
        "bond_link_down",
        ("network", "bond0"),
        {"ended": "yes"},
        "bond0: (slave ens1f0): link status definitely up, 25000 Mbps full duplex",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_a_network_error_is_one_event(case: Case) -> None:
    """The interface is named where the line names it, else the device."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "igb 0000:02:00.0 enp2s0: PCIe link width is x4",
        "bnxt_en 0000:5c:00.0: Firmware heartbeat stalled",
        "ixgbe 0000:03:00.0: Adapter removed by request of nobody",
        MLX + "firmware version: 28.39.1002",
        MLX + "print_health_info:500:(pid 0): synd 0x1: firmware internal error",
        MLX + "wait_func_handle_exec_timeout:1062:(pid 7): cmd[0]: CREATE_CQ(0x400) recovered",
        MLX + "mlx5_pcie_event:299:(pid 0): PCIe slot advertised sufficient power (27W).",
        MLX + "mlx5_cmd_out_err:838:(pid 8): QUERY_VPORT(0x750) op_mod(0x0) failed, status x(0x2)",
        "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
        "bond0: (slave ens1f0np0): Enslaving as a backup interface with a down link",
        "mlx5_core 0000:5c:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
        "bnxt_en 0000:5c:00.0 eth0: Firmware non-fatal reset event, data1: 0x1, data2: 0x2",
    ],
)
def test_other_words_of_the_network_are_no_event(line: str) -> None:
    """Notices, recoveries and foreign commands say nothing."""
    assert events_of(line) == ()


def test_a_plugged_cable_ends_what_an_unplugged_one_began() -> None:
    """The return of the cable is an event that ends the kind and is not counted."""
    event = only_event(MLX + "Port module event: module 0, Cable plugged")
    assert (event.kind, event.fields["ended"]) == ("nic_cable", "yes")
