"""Trials of the rules about expected hardware."""

from tests.faults.rules.trials import Given, Row


def _row(rule: str, kind: str, *, missing: bool = True) -> Row:
    short: Given = {"kind": kind, "missing": missing, "text": "GPU 0000:18:00.0 is missing"}
    other: Given = {**short, "missing": not missing}
    unknown: Given = {"kind": kind, "missing": None, "text": "GPU 0000:18:00.0 is missing"}
    said = "0000:18:00.0 is missing"
    return Row(rule, "expected", short, other, other, unknown, summary=said)


ROWS = (
    _row("expected_gpu_missing", "gpu"),
    _row("expected_nvlink_missing", "nvlink"),
    _row("expected_port_missing", "port"),
    _row("expected_disk_missing", "disk"),
    _row("expected_memory_missing", "dimm"),
    _row("expected_hardware_differs", "disk", missing=False),
)
