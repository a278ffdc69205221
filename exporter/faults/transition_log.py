"""Logs the beginning and the end of each fault."""

import logging

from exporter.model.verdict import Fault

log = logging.getLogger("exporter.faults")


def log_transition(fault: Fault, state: str) -> None:
    """Log one line with fields for programs; a warning for an active fault above info."""
    level = logging.WARNING if state == "active" and fault.severity != "info" else logging.INFO
    log.log(
        level,
        "fault %s is %s on %s %s: %s",
        *(fault.rule, state, fault.subject.hw_type, fault.subject.hw_name, fault.summary),
        extra={
            "fields": {
                "fault": fault.rule,
                "state": state,
                "severity": fault.severity,
                "hw_type": fault.subject.hw_type,
                "hw_id": fault.subject.hw_id,
                "since": round(fault.since, 3),
                "cause": fault.root.rule,
                "cause_hw_id": fault.root.subject.hw_id,
            }
        },
    )
