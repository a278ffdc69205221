"""Counts the notifications of an on-call engineer: `python -m bench.pager [BATCH ...]`.

Every recorded incident and every healthy or noisy node is replayed through a real Prometheus and a
real Alertmanager with what is shipped; one row each.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from exporter.collectors.demo.script import INCIDENTS
from exporter.collectors.everything import rule_book
from tests.corpus.cases import BATCHES
from tests.fakes.pager import SPEED, Notified, Replay, demo_replay, notifications, replay_of
from tests.fakes.prometheus import why_not

MOST_SECS = 3600
"""Longer recordings are left out: they last for hours, as what they are about does."""

AT_ONCE = 150
DEMO = "demo"


def main() -> int:
    """Print the table of the batches that are named, or of all."""
    parser = argparse.ArgumentParser(prog="python -m bench.pager", description=__doc__)
    allowed = (DEMO, *BATCHES)
    parser.add_argument("batch", nargs="*", help=f"all without one: {', '.join(allowed)}")
    batches = parser.parse_args().batch or allowed
    if wrong := [batch for batch in batches if batch not in allowed]:
        parser.error(f"there is no batch {wrong[0]}")
    reason = why_not("prometheus", "prometheus-alertmanager")
    if reason:
        print(reason)
        return 1
    logging.disable()
    book = rule_book()
    for batch in batches:
        if batch == DEMO:
            whole = demo_replay(book, *INCIDENTS)
            _measure(DEMO, [*(demo_replay(book, it) for it in INCIDENTS), whole])
        else:
            _measure(batch, [replay_of(case, book) for case in BATCHES[batch]])
    return 0


def _measure(batch: str, replays: Iterable[Replay]) -> None:
    short = [replay for replay in replays if replay.pages[-1][0] <= MOST_SECS]
    rows: list[tuple[Replay, Notified]] = []
    for first in range(0, len(short), AT_ONCE):
        some = short[first : first + AT_ONCE]
        with tempfile.TemporaryDirectory(prefix="hw-pager-") as folder:
            got = notifications(some, Path(folder))
        rows += [(replay, got[replay.name]) for replay in some]
    _print(batch, rows)


def _print(batch: str, rows: Sequence[tuple[Replay, Notified]]) -> None:
    print(f"\n{batch}: one second stands for {SPEED}")
    print(f"{'recording':44} critical warning resolved first  notified of")
    for replay, notified in rows:
        critical, warning = (notified.firing[each] for each in ("critical", "warning"))
        wait = replay.wait_of(notified)
        first = "-" if wait is None else f"{wait:.0f}"
        named = " ".join(dict.fromkeys(each for _, _, each in notified.names))
        print(
            f"{replay.name:44} {critical:8} {warning:7} {notified.resolved:8} {first:>5}  {named}"
        )
    incidents = [row for row in rows if len(row[0].roots) == 1]
    told = [row for row in incidents if row[1].names]
    waits = [wait for replay, notified in told if (wait := replay.wait_of(notified)) is not None]
    totals = {
        "incidents": len(incidents),
        "notified": len(told),
        "notified twice with the highest severity": sum(it.gravest > 1 for _, it in told),
        "root not named": sum(not replay.is_root_named(it) for replay, it in told),
        "notified after the end": sum(bool(replay.after_end(it)) for replay, it in told),
        "longest wait in seconds": round(max(waits, default=0)),
        "several incidents in one": sum(len(replay.roots) > 1 for replay, _ in rows),
        "healthy nodes": sum(not replay.roots for replay, _ in rows),
        "healthy nodes notified": sum(not it.roots and bool(got.names) for it, got in rows),
    }
    print("; ".join(f"{name}: {number}" for name, number in totals.items()))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
