"""What the detectors cost on a node with eight GPUs that is collected every fifteen seconds."""

import statistics
import time
from collections.abc import Iterator

from bench.figures import Figure
from bench.unusual.jobs import HOUR, jobs
from bench.unusual.node import Node
from bench.unusual.visits import visits
from exporter.collectors.detectors.detectors import STEPS, Detectors
from exporter.collectors.detectors.past import REFIT_SECS, AnomalyDetector
from exporter.collectors.detectors.siblings import SiblingDetector

INTERVAL_SECS = 15.0
SEED = 1
DAYS = 1.0


def figures() -> Iterator[Figure]:
    """Measure each collection of a day, and the fit at its middle and end, step by step."""
    anomaly = AnomalyDetector()
    detectors = Detectors(SiblingDetector(), anomaly)
    seen, parts = [], []
    planned = jobs(SEED, DAYS)
    node = Node(SEED, planned, (), visits(SEED, DAYS, planned))
    for snapshot in node.snapshots(DAYS):
        began = time.thread_time()
        detectors.see(snapshot, None)
        seen.append(time.thread_time() - began)
        is_fitting = True
        while is_fitting:
            began = time.thread_time()
            is_fitting = detectors.advance()
            parts.append(time.thread_time() - began)
    fit_secs = sum(part for part in parts if part > 1e-5)
    fits = DAYS * 24 * HOUR / REFIT_SECS - 1
    share = statistics.mean(seen) / INTERVAL_SECS + fit_secs / fits / REFIT_SECS
    yield Figure("detectors: a collection, 8 GPUs", 1000 * statistics.mean(seen), "ms")
    yield Figure("detectors: a fit, 1,536 readings", fit_secs / fits, "s")
    worst = sorted(parts)[-max(1, len(parts) // 100_000)]
    yield Figure(f"detectors: the longest {STEPS} steps of a fit", 1000 * worst, "ms", 5)
    yield Figure("detectors: all of it, every 15 s", 100 * share, "% of a core", 0.1)
