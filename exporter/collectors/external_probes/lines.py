"""Parses a line of an external probe: a value, an event, or a named metric."""

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from exporter.collectors.external_probes.values import Labels, ProbeMetric, ProbeValue
from exporter.exposition.family import Histogram, names_taken
from exporter.model.event import Event, EventType
from exporter.model.label import clean_text
from exporter.probes.protocol import BadLine
from exporter.record import dataclass

MAX_LABELS = 10
MAX_BUCKETS = 64
MAX_COUNT = 2**53
MAX_PID = 2**22
"""PID_MAX_LIMIT of the kernel, include/linux/threads.h."""

END_OF_TIME_MS = 253_402_300_800_000
"""The year 10000: later times cannot be formatted."""

UNITS = (
    *("_amperes", "_bytes", "_celsius", "_grams", "_hertz", "_joules", "_meters", "_ratio"),
    *("_seconds", "_volts", "_watts"),
)

_METRIC_NAME = re.compile(r"hw_[a-z][a-z0-9_]{0,99}")
_LABEL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?")
_EVENT_TYPES = {kind.value: kind for kind in EventType}


@dataclass(frozen=True, slots=True)
class Gone:
    """A metric with these labels that the probe no longer reports."""

    name: str
    labels: Labels


ProbeRecord = ProbeValue | ProbeMetric | Event | Gone


class LineReader:
    """Parses the lines of one probe; `is_taken` tells names of the exporter's own metrics."""

    def __init__(
        self, probe: str, is_taken: Callable[[str], bool], boottime: Callable[[], float]
    ) -> None:
        self._probe = probe
        self._is_taken = is_taken
        self._boottime = boottime

    def parse(self, message: dict[str, Any]) -> ProbeRecord:
        """Parse one line; raise BadLine."""
        return self._metric(message) if "metric" in message else self._record(message)

    def _metric(self, message: dict[str, Any]) -> ProbeMetric | Gone:
        name, kind = message["metric"], message.get("type", "gauge")
        if not isinstance(name, str) or not _METRIC_NAME.fullmatch(name):
            raise BadLine("a metric needs a name like hw_npu_temperature_celsius")
        if not isinstance(kind, str) or kind not in VALUES:
            raise BadLine(f"{name}: the type must be gauge, counter or histogram")
        if (kind == "counter") != name.endswith("_total"):
            raise BadLine(f"{name}: a counter, and nothing else, ends in _total")
        if any(map(self._is_taken, names_taken(name, kind))):
            raise BadLine(f"{name} is a name of the exporter itself")
        labels = _labels(name, message.get("labels", {}))
        if message.get("value", 0) is None:
            return Gone(name, labels)
        help_text = message.get("help", "")
        return ProbeMetric(
            name=name,
            kind=kind,
            help=clean_text(help_text) if isinstance(help_text, str) else "",
            labels=labels,
            value=VALUES[kind](name, message),
        )

    def _record(self, message: dict[str, Any]) -> ProbeValue | Event:
        named = message.get("event_type")
        kind = _EVENT_TYPES.get(named) if isinstance(named, str) else None
        if kind is None:
            raise BadLine("event_type must be one of " + ", ".join(_EVENT_TYPES))
        entity, value = message.get("entity_id"), message.get("value")
        if not isinstance(entity, str) or not entity or not isinstance(value, (str, int, float)):
            raise BadLine("a line needs entity_id and value")
        entity, text = clean_text(entity), clean_text(str(value))
        if _NUMBER.fullmatch(text):
            return ProbeValue(kind.value, entity, _number(entity, float(text)))
        return self._event(message, kind, entity, text)

    def _event(self, message: dict[str, Any], kind: EventType, entity: str, text: str) -> Event:
        moment = message.get("ts")
        if isinstance(moment, bool) or not isinstance(moment, (int, float)):
            raise BadLine("ts must be milliseconds since the epoch")
        if not 0 <= moment < END_OF_TIME_MS:
            raise BadLine("ts must be milliseconds since the epoch, before the year 10000")
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
            pid=_pid(message.get("pid")),
            fields=MappingProxyType({"job": clean_text(str(job))} if has_job else {}),
            raw=text,
        )


def _pid(found: object) -> int | None:
    if not isinstance(found, int) or isinstance(found, bool):
        return None
    return found if 0 < found <= MAX_PID else None


def _labels(name: str, found: object) -> Labels:
    if not isinstance(found, dict) or len(found) > MAX_LABELS:
        raise BadLine(f"{name}: labels must be an object of at most {MAX_LABELS} texts")
    for label, value in found.items():
        if not _LABEL_NAME.fullmatch(label) or label == "node" or not isinstance(value, str):
            raise BadLine(f"{name}: a label is a lower-case name, not node, with a text")
    return tuple((label, clean_text(value)) for label, value in found.items())


def _histogram(name: str, message: dict[str, Any]) -> Histogram:
    found = message.get("buckets")
    if not name.endswith(UNITS):
        raise BadLine(f"{name}: a histogram ends in its base unit: " + ", ".join(UNITS))
    if "le" in message.get("labels", {}):
        raise BadLine(f"{name}: le is a label that histograms have by themselves")
    if not isinstance(found, dict) or not found or len(found) > MAX_BUCKETS:
        raise BadLine(f"{name}: buckets must be an object of at most {MAX_BUCKETS} counts")
    buckets = tuple(sorted((_bound(name, text), _count(name, n)) for text, n in found.items()))
    bounds, counts = zip(*buckets, strict=True)
    if bounds[-1] != math.inf or len(set(bounds)) < len(bounds):
        raise BadLine(f"{name}: buckets need +Inf, and each bound once")
    if list(counts) != sorted(counts):
        raise BadLine(f"{name}: counts of buckets are cumulative: none is less than the one before")
    total = _number(name, message.get("sum"))
    if total < 0 or (total and not counts[-1]):
        raise BadLine(f"{name}: sum must be that of the observations, none of them negative")
    return Histogram(buckets, total)


def _gauge(name: str, message: dict[str, Any]) -> float:
    return _number(name, message.get("value"))


def _counter(name: str, message: dict[str, Any]) -> float:
    number = _gauge(name, message)
    if number < 0:
        raise BadLine(f"{name}: a counter is not negative")
    return number


VALUES: Mapping[str, Callable[[str, dict[str, Any]], float | Histogram]] = MappingProxyType(
    {"gauge": _gauge, "counter": _counter, "histogram": _histogram}
)
"""What reads the value of a metric, by its type."""


def _bound(name: str, text: str) -> float:
    if text == "+Inf":
        return math.inf
    bound = float(text) + 0.0 if _NUMBER.fullmatch(text) else math.nan  # -0 is 0
    if not 0 <= bound < math.inf:
        raise BadLine(f"{name}: the bound of a bucket must be a number from 0, or +Inf")
    return bound


def _count(name: str, found: object) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= MAX_COUNT:
        raise BadLine(f"{name}: the count of a bucket must be a whole number")
    return found


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
