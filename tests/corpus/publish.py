"""`python -m tests.corpus.publish FILE`: write all recordings as the next version of the benchmark.

Recordings of the version before stay as they are; newer ones are written moment by moment.
"""

import argparse
import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

from exporter.collectors.everything import EVERYTHING
from tests.corpus.cases import CASES, OF_BENCHMARK, Case, labels_of


def plain(case: Case) -> Iterator[str]:
    """Yield the lines of a recording, without base nodes and steps."""
    steps = EVERYTHING.recordings.steps
    for line in filter(str.strip, case.recording()):
        if not line.startswith("#"):
            yield from (
                json.dumps(row, ensure_ascii=False) for row in steps.moments(json.loads(line))
            )


def lines(version: int) -> Iterator[str]:
    """Yield the lines of the file."""
    yield json.dumps({"benchmark": version, "recordings": len(CASES), "license": "MIT"})
    published = {case.name for case in OF_BENCHMARK}
    for case in CASES:
        yield json.dumps(labels_of(case), ensure_ascii=False)
        yield from case.recording() if case.name in published else plain(case)


def main() -> None:
    """Write the file; its name has the version."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.publish", description=__doc__)
    parser.add_argument("file", type=Path, help="for example tests/corpus/benchmark-3.jsonl.xz")
    file = parser.parse_args().file
    if (named := re.fullmatch(r"benchmark-(\d+)\.jsonl\.xz", file.name)) is None:
        parser.error(f"{file.name} is not named benchmark-VERSION.jsonl.xz")
    with lzma.open(file, "wt", preset=9 | lzma.PRESET_EXTREME, encoding="utf-8") as to:
        to.writelines(f"{line}\n" for line in lines(int(named[1])))


if __name__ == "__main__":
    main()
