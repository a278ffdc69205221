"""`python -m bench.faults [BATCH ...]`: how well the rules judge recorded incidents, and how fast.

Prints, by batch, every recording that was not judged as labelled, and the processor time of one
judgement by all rules on a node with 16 GPUs and 1,000 processes.
"""

import argparse
import gc
import logging
import statistics
import time
from dataclasses import replace

from bench.figures import Figure, table
from exporter.collectors.everything import KINDS, rule_book
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from tests.corpus.cases import BATCHES
from tests.corpus.large_node import STEP_SECS, snapshots
from tests.corpus.scoring import Score, score

GPUS = 16
PROCESSES = 1000
ROUNDS = 30
WARM_UP = 5


def main() -> None:
    """Print misses and figures of the batches that are named, or of all."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("batch", nargs="*", help=f"all without one: {', '.join(BATCHES)}")
    batches = parser.parse_args().batch or tuple(BATCHES)
    if wrong := [batch for batch in batches if batch not in BATCHES]:
        parser.error(f"there is no batch {wrong[0]}")
    logging.disable(logging.WARNING)  # each fault of each recording would be logged
    book = rule_book()
    figures = [Figure("rules", len(book.rules))]
    for batch in batches:
        scored = score(BATCHES[batch], book)
        for miss in scored.misses():
            print(f"{batch}: {miss}")
        figures += _figures(batch, scored)
    figures += _times()
    print(f"\n{table(figures)}")


def _figures(batch: str, scored: Score) -> list[Figure]:
    """Return what one batch of recordings shows."""
    incidents = sum(result.case.is_incident for result in scored.results)
    shares = {
        "precision": (scored.precision, 0.97),
        "recall": (scored.recall, 0.97),
        "root right": (scored.root_right, 0.95),
        "one root": (scored.one_root, 0.97),
        "one alert": (scored.one_alert, 0.97),
        "healthy nodes silent": (scored.silent, 0.98),
        "verdict of the node right": (scored.verdict_right, 0.99),
        "ends right": (scored.end_right, 0.95),
    }
    return [
        Figure(f"{batch}: recordings", len(scored.results)),
        Figure(f"{batch}: incidents among them", incidents),
        *(
            Figure(f"{batch}: {name}", share, budget=least, at_least=True)
            for name, (share, least) in shares.items()
        ),
    ]


def _times() -> list[Figure]:
    """How long one snapshot of a large node takes: a quiet one, and one with incidents."""
    figures = []
    for what, ill in (("all well", False), ("every GPU ill", True)):
        moving, still = _medians(ill=ill)
        figures.append(Figure(f"judgement, {what}", 1000 * moving, "ms", budget=20))
        figures.append(Figure(f"judgement, {what}, nothing changed", 1000 * still, "ms", budget=2))
    return figures


def _medians(*, ill: bool) -> tuple[float, float]:
    """Return the seconds of a judgement while readings change, and while only time goes on."""
    rule_engine = RuleEngine(rule_book(), KINDS, time.perf_counter, boot_id="")
    spent = []
    moments = list(snapshots(ROUNDS + WARM_UP, GPUS, PROCESSES, ill=ill))
    moments += [_later(moments[-1], number * STEP_SECS) for number in range(1, ROUNDS + 1)]
    gc.collect()
    gc.freeze()  # the recordings are not part of the program: collecting garbage must skip them
    for snapshot in moments:
        began = time.process_time()
        rule_engine.conclude(snapshot)
        spent.append(time.process_time() - began)
    return statistics.median(spent[WARM_UP:-ROUNDS]), statistics.median(spent[-ROUNDS:])


def _later(snapshot: Snapshot, secs: float) -> Snapshot:
    """Return the same readings at a later time."""
    return replace(
        snapshot,
        taken_at=snapshot.taken_at + secs,
        taken_boottime=snapshot.taken_boottime + secs,
    )


if __name__ == "__main__":
    main()
