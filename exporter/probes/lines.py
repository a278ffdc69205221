"""What a line of an external probe may say: a value, an event, or a named metric."""

import math
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from exporter.model.event import Event, EventType
from exporter.model.label import clean_text
from exporter.model.probe import Labels, ProbeMetric, ProbeValue
from exporter.probes.protocol import BadLine

MAX_LABELS = 10

_METRIC_NAME = re.compile(r"hw_[a-z][a-z0-9_]{0,99}")
_LABEL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?")
_EVENT_TYPES = {kind.value: kind for kind in EventType}

ProbeRecord = ProbeValue | ProbeMetric | Event


class LineReader:
    """Parses the lines of one probe; `is_taken` tells names that are ours."""

    def __init__(
        self, probe: str, is_taken: Callable[[str], bool], boottime: Callable[[], float]
    ) -> None:
        self._probe = probe
        self._is_taken = is_taken
        self._boottime = boottime

    def parse(self, message: dict[str, Any]) -> ProbeRecord:
        """Parse one line; raises BadLine."""
        return self._metric(message) if "metric" in message else self._record(message)

    def _metric(self, message: dict[str, Any]) -> ProbeMetric:
        name, kind = message["metric"], message.get("type", "gauge")
        if not isinstance(name, str) or not _METRIC_NAME.fullmatch(name):
            raise BadLine("a metric needs a name like hw_npu_temperature_celsius")
        if kind not in ("gauge", "counter"):
            raise BadLine(f"{name}: the type must be gauge or counter")
        if (kind == "counter") != name.endswith("_total"):
            raise BadLine(f"{name}: a counter, and nothing else, ends in _total")
        if self._is_taken(name):
            raise BadLine(f"{name} is a name of the exporter itself")
        help_text = message.get("help", "")
        return ProbeMetric(
            name=name,
            kind=kind,
            help=clean_text(help_text) if isinstance(help_text, str) else "",
            labels=_labels(name, message.get("labels", {})),
            value=_number(name, message.get("value")),
        )

    def _record(self, message: dict[str, Any]) -> ProbeValue | Event:
        kind = _EVENT_TYPES.get(str(message.get("event_type")))
        if kind is None:
            raise BadLine("event_type must be one of " + ", ".join(_EVENT_TYPES))
        entity, value = message.get("entity_id"), message.get("value")
        if not isinstance(entity, str) or not entity or not isinstance(value, (str, int, float)):
            raise BadLine("a line needs entity_id and value")
        entity, text = clean_text(entity), clean_text(str(value))
        if _NUMBER.fullmatch(text):
            return ProbeValue(kind.value, entity, float(text))
        return self._event(message, kind, entity, text)

    def _event(self, message: dict[str, Any], kind: EventType, entity: str, text: str) -> Event:
        moment, pid = message.get("ts"), message.get("pid")
        if isinstance(moment, bool) or not isinstance(moment, (int, float)):
            raise BadLine("ts must be milliseconds since the epoch")
        job = message.get("job_id")
        has_job = isinstance(job, str) and job
        return Event(
            at=moment / 1000,
            boottime=self._boottime(),
            type=kind,
            kind=text[:64],
            entity_type="probe",
            entity_id=entity,
            source=f"probe:{self._probe}",
            pid=pid if isinstance(pid, int) and not isinstance(pid, bool) else None,
            fields=MappingProxyType({"job": clean_text(str(job))} if has_job else {}),
            raw=text,
        )


def _labels(name: str, found: object) -> Labels:
    if not isinstance(found, dict) or len(found) > MAX_LABELS:
        raise BadLine(f"{name}: labels must be an object of at most {MAX_LABELS} texts")
    for label, value in found.items():
        if not _LABEL_NAME.fullmatch(label) or label == "node" or not isinstance(value, str):
            raise BadLine(f"{name}: a label is a lower-case name, not node, with a text")
    return tuple((label, clean_text(value)) for label, value in found.items())


def _number(name: str, found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise BadLine(f"{name}: value must be a number")
    try:
        number = float(found)
    except OverflowError as error:
        raise BadLine(f"{name}: value is too large") from error
    if not math.isfinite(number):
        raise BadLine(f"{name}: value must be finite")
    return number
