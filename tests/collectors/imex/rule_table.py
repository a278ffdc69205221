"""Trials of the rules about the IMEX domain."""

from tests.faults.rules.trials import Given, Row

READY: Given = {"ready": True, "status": "READY", "connected": True}
UNKNOWN: Given = {"ready": None, "status": "", "connected": None}
UP: Given = {"imex_domain_up": True, "imex_domain_ready_count": 2, "imex_domain_node_count": 2}

ROWS = (
    Row(
        "imex_node_not_ready",
        "imex_node",
        {"ready": False, "status": "UNAVAILABLE", "connected": False},
        READY,
        READY,
        UNKNOWN,
        summary="is not ready (UNAVAILABLE)",
    ),
    Row(
        "imex_node_disconnected",
        "imex_node",
        {**READY, "connected": False},
        {"ready": False, "status": "UNAVAILABLE", "connected": False},
        READY,
        {**READY, "connected": None},
        summary="this node is not connected to it",
    ),
    Row(
        "imex_domain_not_up",
        "node",
        {**UP, "imex_domain_up": False, "imex_domain_ready_count": 1},
        UP,
        UP,
        {**UP, "imex_domain_up": None},
        summary="The IMEX domain is not up: 1 of 2 nodes are ready",
    ),
)
