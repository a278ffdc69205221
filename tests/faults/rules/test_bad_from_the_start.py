"""What is bad at the first look: a fault where it was ever meant to be good, else none."""

import pytest

from tests.faults.rules.trials import Given, Row, Trial

NIC: Given = {"pci_bus_id": "0000:5c:00.0", "admin_up": True, "up": False}
PORT: Given = {"up": False, "state": "down", "phys_state": "polling"}
CLOCK: Given = {"clock_synchronized": False, "clock_error_seconds": 16.0}

ROWS = (
    Row(
        "net_link_down",
        "nic",
        holds={**NIC, "receive_packets": 5000},
        holds_not={**NIC, "receive_packets": 0, "link_was_up": False},
    ),
    Row(
        "net_link_down",
        "nic",
        holds={**NIC, "receive_packets": 0, "link_was_up": True},
        holds_not={**NIC, "receive_packets": 5000, "admin_up": False},
    ),
    Row(
        "ib_port_down",
        "ib_port",
        holds={**PORT, "receive_bytes": 1},
        holds_not={**PORT, "receive_bytes": 0},
    ),
    Row(
        "nvlink_down",
        "gpu",
        holds={"links_down": 1, "links_up": 17, "links_down_of_siblings": 0},
        holds_not={"links_down": 18, "links_up": 0, "links_down_of_siblings": 0},
    ),
    Row(
        "clock_not_synced",
        "node",
        holds={**CLOCK, "clock_offset_seconds": 0.4},
        holds_not={**CLOCK, "clock_offset_seconds": 0.0},
    ),
    Row(
        "clock_not_synced",
        "node",
        holds={**CLOCK, "clock_offset_seconds": 0.0, "clock_was_synchronized": True},
        holds_not={**CLOCK, "clock_offset_seconds": 0.0, "clock_was_synchronized": False},
    ),
    Row(
        "fabric_not_ready",
        "gpu",
        holds={"fabric_state": "not_started", "process_count": 1},
        holds_not={"fabric_state": "not_started", "process_count": 0},
    ),
    Row(
        "gpu_count_low",
        "node",
        holds={"gpu_backend": "nvidia-smi", "gpu_up_count": 7, "gpu_pci_count": 8},
        holds_not={"gpu_backend": "nvidia-smi", "gpu_up_count": 7, "gpu_pci_count": 7},
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_a_bad_state_at_the_first_look(row: Row) -> None:
    """It is a fault though nobody saw it begin, and none where it was never meant to be good."""
    trial = Trial(row)
    assert any(map(trial.is_active, trial.look(row.holds, trial.window_secs)))
    trial = Trial(row)
    assert not any(map(trial.is_active, trial.look(row.holds_not, trial.window_secs)))
