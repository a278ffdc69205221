"""Trials of the rules about services of systemd."""

from tests.faults.rules.trials import Given, Rises, Row


def _service(service: str, fabric: str = "node") -> Given:
    return {
        "service": service,
        "active": True,
        "active_state": "active",
        "enabled": True,
        "standing": "active (running)",
        "starting": False,
        "restarts_total": 0,
        "node.nvlink_fabric": fabric,
    }


def _down(rule: str, service: str, says: str, fabric: str = "node") -> Row:
    runs = _service(service, fabric)
    ill = {**runs, "active": False, "active_state": "failed", "standing": "failed (signal)"}
    return Row(rule, "service", ill, runs, runs, {**ill, "active": None}, summary=says)


KUBELET = _service("kubelet")

ROWS = (
    _down("fabric_manager_down", "nvidia-fabricmanager", "does not run: failed (signal)"),
    _down("imex_down", "nvidia-imex", "IMEX does not run: failed (signal)", "rack"),
    _down("persistence_daemon_down", "nvidia-persistenced", "does not run: failed (signal)"),
    _down("service_down", "kubelet", "kubelet is enabled and does not run: failed (signal)"),
    Row(
        "service_restarts",
        "service",
        {**KUBELET, "restarts_total": Rises(0.1)},
        KUBELET,
        {**KUBELET, "restarts_total": Rises(0.0)},
        {**KUBELET, "restarts_total": None},
        is_gated=True,
        summary="kubelet restarts again and again",
    ),
    Row(
        "units_failed",
        "node",
        {"failed_units": 2, "failed_unit_names": "a.service, b.mount"},
        {"failed_units": 0},
        {"failed_units": 0},
        {"failed_units": None},
        summary="Units of systemd failed (2): a.service, b.mount",
    ),
)
