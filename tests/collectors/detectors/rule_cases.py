"""Cases of the rules about GPUs that are unusual."""

from typing import Any

from tests.faults.gpu_rule_cases import Case

AWAY: dict[str, Any] = {"sibling_signal": "sm_clock", "siblings_synchronous": False}
CASES = {
    "gpu_unlike_siblings": Case(
        {**AWAY, "sibling_deviation_furthest": 6.0}, {**AWAY, "sibling_deviation_furthest": 1.0}
    ),
    "gpu_unlike_itself": Case(
        {"anomaly_score": 20.0, "anomaly_is_change": True},
        {"anomaly_score": 0.5, "anomaly_is_change": True},
    ),
}
