"""All labelled recordings, by the batch in which they were written.

They are data: `benchmark-2.jsonl.xz` has them with their labels (docs/benchmark.md), and each
folder some of its batch in the short format, of a batch that is newer than the file all.
A folder is named after the day on which its batch was written; docs/faults.md says how, and how
the rules did on it at first.
"""

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

HERE = Path(__file__).parent
BENCHMARK = HERE / "benchmark-2.jsonl.xz"
LABELS = "labels.jsonl"
FIRST = ("name", "batch", "says", "text")
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled recording.

    Faults are written `rule@component`, with `*` for what does not matter and `|` between
    alternatives. `expect` must be said at some moment, `root` is what the expected faults come
    from at last (several for independent ones), `may` is neither right nor wrong, `never` would
    be a grave error; everything else that is said is wrong. With `is_over` nothing may be active
    at the end; `lasts` must be active then, `gone` must not. `unfit` says whether the node must be
    said to be unhealthy at some moment, `fit_at_end` whether it must be healthy at the last one.
    """

    name: str
    batch: str
    says: str
    text: str = field(repr=False, compare=False)
    expect: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    is_over: bool = False
    lasts: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    unfit: bool | None = None
    fit_at_end: bool | None = None

    @property
    def is_incident(self) -> bool:
        """Whether something is broken."""
        return bool(self.root)

    def recording(self) -> list[str]:
        """Return the lines of the recording, one JSON object each."""
        return self.text.splitlines()


def case_of(labels: Tree, batch: str, text: str) -> Case:
    """Make a case of a line of labels and the text of its recording."""
    rest: Tree = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in labels.items()
        if name not in ("recording", "batch", "says")
    }
    return Case(labels["recording"], batch, labels["says"], text, **rest)


def labels_of(case: Case) -> Tree:
    """Return the line of labels of a case; what is as it is without a label is left out."""
    first = {"recording": case.name, "batch": case.batch, "says": case.says}
    labels = [(each, getattr(case, each.name)) for each in fields(case) if each.name not in FIRST]
    return first | {each.name: value for each, value in labels if value != each.default}


def readable(folder: Path) -> Iterator[Case]:
    """Yield the recordings of one folder, with their labels."""
    for line in (folder / LABELS).read_text(encoding="utf-8").splitlines():
        labels = json.loads(line)
        path = folder / f"{labels['recording']}.jsonl"
        yield case_of(labels, folder.name, path.read_text(encoding="utf-8"))


def folders() -> list[Path]:
    """Return the folders of the batches that have readable recordings."""
    return sorted(path.parent for path in HERE.glob(f"*/{LABELS}"))


def _of_benchmark(text: str) -> Iterator[Case]:
    """Yield the cases: after the head each is a line of labels, and lines of its recording."""
    begin = '{"recording": '
    for each in text.split(f"\n{begin}")[1:]:
        line, _, recording = each.partition("\n")
        labels = json.loads(begin + line)
        yield case_of(labels, labels["batch"], recording)


def _by_batch(cases: Iterable[Case]) -> Mapping[str, tuple[Case, ...]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.batch, []).append(case)
    return MappingProxyType({batch: tuple(some) for batch, some in found.items()})


with lzma.open(BENCHMARK, "rt", encoding="utf-8") as benchmark:
    OF_BENCHMARK = tuple(_of_benchmark(benchmark.read()))
_NEW = sorted({path.name for path in folders()} - {case.batch for case in OF_BENCHMARK})
CASES = (*OF_BENCHMARK, *(case for name in _NEW for case in readable(HERE / name)))
BATCHES = _by_batch(CASES)
JUDGED_EVERY = 24
"""Of each batch the tests judge every so-and-so-many-th recording, `make bench-faults` all."""

NOT_MENDED = frozenset(
    {
        "2026-11-23-b",
        "2026-11-23-c",
        "2026-11-25-a",
        "2026-11-25-b",
        "2026-11-25-c",
        "2026-11-26-a",
        "2026-11-26-b",
        "2026-11-27-a",
        "2026-11-28-a",
        "2026-11-28-b",
        "2026-11-29-a",
        "2026-11-29-b",
        "2026-11-29-c",
        "2026-11-29-d",
        "2026-11-29-e",
        "2026-11-29-f",
        "2026-11-29-g",
        "2026-11-29-h",
        "2026-11-29-i",
        "2026-11-29-j",
        "2026-11-29-k",
        "2026-11-29-l",
        "2026-11-29-m",
        "2026-11-29-n",
        "2026-11-30-a",
        "2026-11-30-b",
        "2026-11-30-c",
        "2026-11-30-d",
        "2026-11-30-e",
        "2026-11-30-f",
        "2026-11-30-g",
    }
)
"""Batches of which not all misses are mended."""
