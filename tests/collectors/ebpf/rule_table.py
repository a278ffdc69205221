"""Trials of the rules about collective operations."""

from tests.faults.rules.trials import Given, Row

WAITING: Given = {
    "missing_ranks": 1,
    "missing": "rank 1 (pid 42, stopped)",
    "waiting_secs": 24.0,
    "waiting_ranks": 3,
    "ranks_here": 4,
    "call": "ncclAllReduce",
}
LATE: Given = {"late": "rank 3 (pid 44)", "late_ratio": 0.3, "late_secs": 0.02}

ROWS = (
    Row(
        "nccl_rank_missing",
        "communicator",
        holds=WAITING,
        holds_not={**WAITING, "waiting_secs": 8.0},
        clears={"missing_ranks": 0, "waiting_secs": 0.0},
        unknown={"missing_ranks": 1},
        severity="warning",
        summary="rank 1 (pid 42, stopped)",
    ),
    Row(
        "nccl_rank_missing",
        "communicator",
        holds={**WAITING, "missing_busy": True},
        holds_not={**WAITING, "missing_busy": True, "waiting_secs": 8.0},
        clears={"missing_ranks": 0, "waiting_secs": 0.0},
        severity="info",
    ),
    Row(
        "nccl_rank_missing",
        "communicator",
        holds={**WAITING, "missing_busy": True, "waiting_secs": 550.0},
        holds_not={**WAITING, "missing_busy": False, "waiting_secs": 8.0},
        clears={"missing_ranks": 0, "waiting_secs": 0.0},
        severity="warning",
    ),
    Row(
        "nccl_hang",
        "communicator",
        holds={**WAITING, "missing_ranks": 0, "waiting_ranks": 4},
        holds_not=WAITING,
        clears={"waiting_secs": 0.0},
        unknown={"missing_ranks": 0},
        summary="4 of 4",
    ),
    Row(
        "nccl_straggler",
        "communicator",
        holds=LATE,
        holds_not={**LATE, "late_ratio": 0.05},
        clears={"late": "", "late_ratio": 0.0, "late_secs": 0.0},
        unknown={"late_ratio": 0.3},
        summary="rank 3 (pid 44)",
    ),
)
