"""`python -m bench.faults`: how well the rules judge recorded incidents, and how fast.

Prints every recording that was not judged as labelled, and the processor time of one judgement by
all rules on a node with 16 GPUs and 1,000 processes.
"""

import gc
import logging
import statistics
import time

from bench.figures import Figure, table
from exporter.faults.engine import Reasoner, rule_book
from tests.corpus.cases import CASES
from tests.corpus.large_node import snapshots
from tests.corpus.scoring import score

GPUS = 16
PROCESSES = 1000
ROUNDS = 30
WARM_UP = 5


def main() -> None:
    """Print misses and figures."""
    logging.disable(logging.WARNING)  # each fault of each recording would be logged
    book = rule_book()
    corpus = score(CASES, book)
    for miss in corpus.misses():
        print(miss)
    figures = [
        Figure("recordings", len(CASES)),
        Figure("incidents among them", sum(case.is_incident for case in CASES)),
        Figure("rules", len(book.rules)),
        Figure("precision", corpus.precision, budget=0.95, at_least=True),
        Figure("recall", corpus.recall, budget=0.90, at_least=True),
        Figure("root right", corpus.root_right, budget=0.90, at_least=True),
        *_times(),
    ]
    print(f"\n{table(figures)}")


def _times() -> list[Figure]:
    """How long one snapshot of a large node takes: a quiet one, and one with incidents."""
    return [
        Figure(f"judgement, {what}", 1000 * _median(ill=ill), "ms", budget=20)
        for what, ill in (("all well", False), ("every GPU ill", True))
    ]


def _median(*, ill: bool) -> float:
    reasoner = Reasoner(rule_book(), time.perf_counter, boot_id="")
    spent = []
    moments = list(snapshots(ROUNDS + WARM_UP, GPUS, PROCESSES, ill=ill))
    gc.collect()
    gc.freeze()  # the recordings are not part of the program: collecting garbage must skip them
    for snapshot in moments:
        began = time.process_time()
        reasoner.conclude(snapshot)
        spent.append(time.process_time() - began)
    return statistics.median(spent[WARM_UP:])


if __name__ == "__main__":
    main()
