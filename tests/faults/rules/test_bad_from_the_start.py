"""What is bad at the first look: a fault where it was ever meant to be good, else none."""

from collections.abc import Mapping

import pytest

from exporter.faults.values import Value
from tests.faults.rules.shipped_rules import at_first_look, shipped

Given = Mapping[str, Value]
NIC: Given = {"pci_bus_id": "0000:5c:00.0", "admin_up": True, "up": False}
PORT: Given = {"up": False, "state": "down", "phys_state": "polling"}
CLOCK: Given = {"clock_synchronized": False, "clock_error_seconds": 16.0}
COUNT: Given = {"gpu_backend": "nvidia-smi", "gpu_up_count": 7}

ROWS: tuple[tuple[str, Given, Given], ...] = (
    (
        "net_link_down",
        {**NIC, "receive_packets": 5000},
        {**NIC, "receive_packets": 0, "link_was_up": False},
    ),
    (
        "net_link_down",
        {**NIC, "receive_packets": 0, "link_was_up": True},
        {**NIC, "receive_packets": 5000, "admin_up": False},
    ),
    ("ib_port_down", {**PORT, "receive_bytes": 1}, {**PORT, "receive_bytes": 0}),
    (
        "nvlink_down",
        {"links_down": 1, "links_up": 17, "links_down_of_siblings": 0},
        {"links_down": 18, "links_up": 0, "links_down_of_siblings": 0},
    ),
    (
        "clock_not_synced",
        {**CLOCK, "clock_offset_seconds": 0.4},
        {**CLOCK, "clock_offset_seconds": 0.0},
    ),
    (
        "clock_not_synced",
        {**CLOCK, "clock_offset_seconds": 0.0, "clock_was_synchronized": True},
        {**CLOCK, "clock_offset_seconds": 0.0, "clock_was_synchronized": False},
    ),
    (
        "fabric_not_ready",
        {"fabric_state": "not_started", "process_count": 1},
        {"fabric_state": "not_started", "process_count": 0},
    ),
    ("gpu_count_low", {**COUNT, "gpu_pci_count": 8}, {**COUNT, "gpu_pci_count": 7}),
)


@pytest.mark.parametrize(("name", "bad", "meant"), ROWS)
def test_a_bad_state_at_the_first_look(name: str, bad: Given, meant: Given) -> None:
    """It is a fault though nobody saw it begin, and none where it was never meant to be good."""
    rule = next(rule for rule in shipped().rules if rule.id == name)
    assert at_first_look(rule, bad).active
    assert not at_first_look(rule, meant).active
