"""Counts the notifications of an on-call engineer: `make bench-pager`.

Every recorded incident and every healthy or noisy node is replayed through a real Prometheus and a
real Alertmanager with what is shipped; one row each.
"""

import logging
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from exporter.faults.engine import rule_book
from tests.corpus.cases import BATCHES
from tests.corpus.labels import Case
from tests.fakes.pager import SPEED, Notified, Replay, notifications, replay_of
from tests.fakes.prometheus import why_not

MOST_SECS = 3600
"""Longer recordings are left out: they last for hours, as what they are about does."""

AT_ONCE = 150


def main() -> int:
    """Print the table."""
    reason = why_not("prometheus", "prometheus-alertmanager")
    if reason:
        print(reason)
        return 1
    logging.disable()
    book = rule_book()
    for batch, cases in BATCHES.items():
        replays = [replay_of(case, book) for case in cases]
        short = [replay for replay in replays if replay.pages[-1][0] <= MOST_SECS]
        got: dict[str, Notified] = {}
        for first in range(0, len(short), AT_ONCE):
            with tempfile.TemporaryDirectory(prefix="hw-pager-") as folder:
                got.update(notifications(short[first : first + AT_ONCE], Path(folder)))
        _print(batch, cases, short, got)
        sys.stdout.flush()
    return 0


def _print(
    batch: str, cases: Iterable[Case], replays: Iterable[Replay], got: Mapping[str, Notified]
) -> None:
    by_name = {case.name: case for case in cases}
    roots = {replay.name: replay.first_root for replay in replays}
    print(f"\n{batch}: one second stands for {SPEED}")
    print(f"{'recording':44} critical warning resolved first  notified of")
    totals = {"incidents": 0, "more than one critical": 0, "silent nodes": 0, "noise": 0}
    for name, notified in got.items():
        case = by_name[name]
        critical, warning = (notified.firing[each] for each in ("critical", "warning"))
        first = _first(notified, roots[name])
        named = " ".join(dict.fromkeys(each for _, _, each in notified.names))
        print(f"{name:44} {critical:8} {warning:7} {notified.resolved:8} {first:>5}  {named}")
        totals["incidents"] += case.is_incident
        totals["more than one critical"] += case.is_incident and critical > 1
        totals["silent nodes"] += not case.is_incident
        totals["noise"] += not case.is_incident and bool(critical or warning)
    print(", ".join(f"{name}: {number}" for name, number in totals.items()))


def _first(notified: Notified, root: float | None) -> str:
    """Tell the seconds from the first root to the first notification."""
    if root is None or not notified.names:
        return "-"
    return f"{notified.names[0][0] - root:.0f}"


if __name__ == "__main__":
    sys.exit(main())
