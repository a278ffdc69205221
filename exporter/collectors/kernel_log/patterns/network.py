"""Lines of network drivers, most of all mlx5, and of the transmit watchdog.

Layouts are those of drivers/net/ethernet/mellanox/mlx5/core (health.c, events.c, cmd.c) and
net/sched/sch_generic.c from 4.15 to 6.16.
"""

from collections.abc import Callable
from typing import TypeAlias

from exporter.collectors.kernel_log.patterns.pattern import (
    NODE,
    Chosen,
    Fields,
    LinePattern,
    Role,
    Subject,
    rx,
)

Refine: TypeAlias = Callable[[dict[str, str]], dict[str, str]]

_MLX5 = r"mlx5_core (?P<pci>@PCI@)(?: (?P<interface>[^\s:/]{1,16})(?: \(\w{1,16}\))?)?: "
_WHERE = r"(?:\w{1,64}:\d{1,5}:\(pid \d{1,10}\): )?"
_NETDEV = r"(?P<driver>[\w-]{1,32}) (?P<pci>@PCI@) (?P<interface>[^\s:/]{1,16}): "

_NETWORK_DRIVER = (
    r"(?:mlx[45]_core|bnxt_en|ice|i40e|ixgbe|igb|igc|idpf"
    r"|efa|ena|gve|mana|cxgb4|qede|sfc|ionic|hns3)"
)
_DEVICE = r"(?P<driver>[\w-]{1,32}) (?P<pci>@PCI@)(?: (?P<interface>[^\s:/]{1,16}))?: "

_ADAPTER = rf"(?P<driver>{_NETWORK_DRIVER}) (?P<pci>@PCI@)(?: (?P<interface>[^\s:/]{{1,16}}))?: "


def _port(fields: Fields) -> Subject:
    """Return the interface where the line names it, else the device."""
    name = fields.get("interface") or fields.get("pci")
    return ("network", name) if name else NODE


def _probed(fields: dict[str, str]) -> dict[str, str]:
    """Return the driver and the address under one name each, whichever kernel said them."""
    for name, other in (("driver", "old"), ("pci", "address")):
        if other in fields:
            fields[name] = fields.pop(other)
    return fields


def _chosen(pattern: str) -> tuple[Chosen, ...]:
    return (Chosen.INTERFACE,) if "<interface>" in pattern else ()


def _kind(
    name: str, tag: str, pattern: str, role: Role = Role.WHOLE, refine: Refine | None = None
) -> LinePattern:
    return LinePattern(name, tag, rx(pattern), _port, role, refine=refine, chosen=_chosen(pattern))


_FATAL = (
    _kind(
        "mlx5_fatal",
        "timeout. Will cause a leak",
        _MLX5
        + _WHERE
        + r"(?:cmd\[\d+\]: )?(?P<command>\w{1,40})\(0x[0-9a-f]{1,6}\) timeout\. Will",
    ),
    _kind(
        "mlx5_fatal",
        "health compromised",
        _MLX5 + _WHERE + r"(?P<text>device's health compromised.{0,60})",
    ),
    _kind(
        "mlx5_fatal",
        "synd 0x8:",
        _MLX5 + _WHERE + r"synd (?P<syndrome>0x8): (?P<text>.{0,80})",
    ),
    _kind(
        "mlx5_fatal",
        "atal error",
        _MLX5 + _WHERE + r"(?P<text>[Ff]atal error(?: \d{1,5})? detected)",
    ),
    _kind(
        "mlx5_fatal",
        "recovery flow aborted",
        _MLX5 + _WHERE + r"(?P<text>health recovery flow aborted.{0,60})",
    ),
    _kind(
        "mlx5_fatal",
        "initializing state, aborting",
        _MLX5 + _WHERE + r"(?P<text>Firmware over \d{1,20} MS in (?:pre-)?initializing state)",
    ),
    _kind(
        "nic_recovered",
        "health re",
        _MLX5 + _WHERE + r"health (?:recovery|revovery) succee?ded",
    ),
    _kind("nic_recovered", "Device reset completed", _ADAPTER + r"Device reset completed success"),
    _kind("nic_recovered", "was reset successfully", _ADAPTER + r"device was reset successfully"),
    _kind("nic_recovered", "LIFs restarted", _ADAPTER + r"FW Up: LIFs restarted"),
    _kind(
        "mlx5_fatal",
        "unrecoverable hardware error",
        _MLX5 + _WHERE + r"(?P<text>Health issue observed, unrecoverable hardware error.{0,60})",
    ),
)

_QUEUES = (
    _kind("nic_tx_timeout", "TX timeout detected", _MLX5 + r"TX timeout (?P<state>detected)"),
    _kind(
        "nic_rx_timeout",
        "RX timeout on channel",
        _MLX5 + r"RX timeout on channel: (?P<channel>\d{1,5})",
    ),
    _kind(
        "nic_tx_timeout",
        "NETDEV WATCHDOG: ",
        r"NETDEV WATCHDOG: (?P<interface>[^\s:/]{1,16}) \((?P<driver>[\w-]{1,32})\): "
        r"transmit queue (?P<queue>\d{1,6}) timed out(?: (?P<milliseconds>\d{1,10}) ms)?",
    ),
    _kind(
        "nic_tx_timeout",
        "NETDEV WATCHDOG: CPU",
        _NETDEV + r"NETDEV WATCHDOG: CPU: \d{1,5}: transmit queue (?P<queue>\d{1,6}) timed out"
        r"(?: (?P<milliseconds>\d{1,10}) ms)?",
    ),
    # Adapters of virtual machines have no PCI address of their own.
    _kind(
        "nic_tx_timeout",
        "NETDEV WATCHDOG: CPU",
        r"(?P<driver>virtio_net|hv_netvsc|xen_netfront|vif) [\w-]{1,40} "
        r"(?P<interface>[^\s:/]{1,16}): NETDEV WATCHDOG: CPU: \d{1,5}: "
        r"transmit queue (?P<queue>\d{1,6}) timed out(?: (?P<milliseconds>\d{1,10}) ms)?",
    ),
)

_ADAPTERS = (
    _kind(
        "nic_tx_timeout",
        "TX timeout on queue",
        _MLX5 + r"TX timeout on (?P<state>queue): (?P<queue>\d{1,6})",
    ),
    _kind("nic_lost", "PCIe link lost", _DEVICE + r"(?P<state>PCIe link lost)"),
    _kind("nic_lost", "Adapter removed", _DEVICE + r"(?P<state>Adapter removed)\s*$"),
    _kind("nic_hang", " Unit Hang", _DEVICE + r"Detected (?P<unit>Hardware|Tx) Unit Hang"),
    _kind(
        "nic_firmware_error",
        "Firmware not responding",
        _DEVICE + r"Firmware not responding(?:, status: (?P<status>0x[0-9a-f]{1,8}))?",
    ),
    _kind(
        "nic_firmware_error",
        "Firmware fatal reset",
        _DEVICE + r"(?P<text>Firmware fatal reset event)\b",
    ),
    _kind(
        "nic_firmware_error",
        "recovery mode detected",
        _DEVICE + r"(?P<text>Firmware recovery mode detected)",
    ),
    _kind(
        "nic_firmware_error",
        "Keep alive watchdog timeout",
        _ADAPTER + r"(?P<text>Keep alive watchdog timeout)",
    ),
    _kind(
        "nic_firmware_error",
        "Error (timeout: ",
        _ADAPTER + r"(?P<text>Error \(timeout: \d{1,10}\) msg \{0x[0-9a-f]{1,4} )",
    ),
    _kind(
        "nic_firmware_error",
        "irmware reset aborted",
        _ADAPTER + r"(?P<text>Firmware reset aborted)",
    ),
    _kind(
        "nic_firmware_error",
        "due to firmware status: ",
        _ADAPTER + r"(?P<text>Abandoning msg) \{0x[0-9a-f]{1,4} 0x[0-9a-f]{1,8}\} len: \d{1,8} "
        r"due to firmware status: (?P<status>0x[0-9a-f]{1,8})",
    ),
    _kind(
        "nic_firmware_error",
        "FW ",
        _ADAPTER + r"(?P<text>FW heartbeat stalled|FW Down: Stopping LIFs)",
    ),
    _kind(
        "nic_firmware_error",
        "nternal error ",
        _ADAPTER + r"(?P<text>Internal error (?:detected|mark was detected))",
    ),
    _kind(
        "nic_firmware_error",
        "ailed",
        _ADAPTER + r"(?P<text>Rebuild failed, unload and reload driver"
        r"|(?:PCI r|R)eset failed! !!! DISABLING ALL QUEUES)",
    ),
    _kind(
        "nic_firmware_error",
        "recovery unsuccessful",
        _ADAPTER + r"tx_timeout (?P<text>recovery unsuccessful, device is in "
        r"(?:unrecoverable|non-recoverable) state)",
    ),
    _kind(
        "nic_firmware_error",
        "Reset attempt failed",
        _ADAPTER + r"(?P<text>Reset attempt failed\. Can not reset the device)",
    ),
    _kind(
        "nic_firmware_error",
        "fatal error, adapter stopped",
        _ADAPTER + r"(?P<text>encountered fatal error, adapter stopped)",
    ),
    _kind(
        "nic_tx_timeout",
        "lost tx completions",
        _ADAPTER + r"The number of (?P<state>lost) tx completions is above the threshold",
    ),
    _kind(
        "nic_probe_failed",
        " failed with error ",
        rf"(?:(?P<old>{_NETWORK_DRIVER}): probe of (?P<pci>@PCI@)"
        rf"|(?P<driver>{_NETWORK_DRIVER}) (?P<address>@PCI@): probe with driver [\w-]{{1,32}})"
        r" failed with error (?P<error>-?\d{1,5})",
        refine=_probed,
    ),
)

_HEALTH = (
    _kind(
        "mlx5_health",
        "Health issue observed",
        _MLX5 + _WHERE + r"Health issue observed, (?P<issue>[^,]{1,80}), "
        r"severity\((?P<level>\d{1,2})\) (?P<severity>[A-Z]{1,16})",
    ),
)

_MODULES = (
    _kind(
        "nic_module_hot",
        "High",
        _MLX5 + _WHERE + r"(?:Port module event(?:\[error\])?: module (?P<module>\d{1,4}), "
        r".{0,40}?|synd 0x10: |Health issue observed, )?High [Tt]emperature(?P<text>.{0,80})",
    ),
    _kind(
        "nic_module_hot",
        "thermal threshold",
        _ADAPTER + r"(?P<text>Chip temperature has gone above the \w{1,16} thermal threshold)",
    ),
    _kind(
        "nic_module_hot",
        "heated",
        _DEVICE + r"(?P<text>(?:The )?[Nn]etwork adapter .{1,60} because it (?:has )?over ?heated)",
    ),
    _kind(
        "nic_cable",
        "Port module event",
        _MLX5 + _WHERE + r"Port module event(?:\[error\])?: module (?P<module>\d{1,4}), "
        r"Cable (?P<state>unplugged|error)(?:, (?P<text>.{1,60}))?",
    ),
    _kind(
        "nic_cable",
        "Cable plugged",
        _MLX5 + _WHERE + r"Port module event: module (?P<module>\d{1,4}), Cable (?P<state>plugged)",
        Role.ENDED,
    ),
    _kind(
        "nic_slot_power",
        "insufficient power",
        _MLX5 + _WHERE + r"Detected insufficient power on the PCIe slot"
        r"(?: \((?P<watts>\d{1,5})W\))?",
    ),
    _kind(
        "nic_access_reg",
        "ACCESS_REG",
        _MLX5 + r"mlx5_cmd_\w{1,24}:\d{1,5}:\(pid (?P<pid>\d{1,10})\): ACCESS_REG\(0x805\) "
        r"op_mod\(0x[0-9a-f]{1,4}\) failed, status (?P<status>[\w ]{1,40})\(0x[0-9a-f]{1,4}\)",
    ),
)

_LINKS = (
    LinePattern(
        "nic_link",
        "Link ",
        rx(_NETDEV + r"(?:\w{1,16}: \S{1,16} )?(?:NIC )?Link (?:is )?(?P<state>[Dd]own|DOWN)\b"),
        _port,
        refine=lambda fields: fields | {"state": "down"},
        chosen=(Chosen.INTERFACE,),
    ),
    LinePattern(
        "nic_link",
        "Link ",
        rx(_NETDEV + r"(?:\w{1,16}: \S{1,16} )?(?:NIC )?Link (?:is )?(?P<state>[Uu]p|UP)\b"),
        _port,
        refine=lambda fields: fields | {"state": "up"},
        chosen=(Chosen.INTERFACE,),
    ),
)

NETWORK: tuple[LinePattern, ...] = (
    *_FATAL,
    *_QUEUES,
    *_ADAPTERS,
    *_MODULES,
    *_HEALTH,
    *_LINKS,
)
