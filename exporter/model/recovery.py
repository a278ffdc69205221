"""What the driver requests to be done to a GPU."""

from collections.abc import Mapping

RECOVERY_ACTIONS: Mapping[int, str] = {
    0: "none",
    1: "reset",
    2: "reboot",
    3: "drain_p2p",
    4: "drain_and_reset",
    5: "recover_imex",
    6: "bus_reset",
    7: "reboot",
}
"""NVML's numbers, which an Xid 154 has too."""
