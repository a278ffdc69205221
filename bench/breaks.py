"""Breaks the product as breaks.toml says, in ways no test saw once; names the test that does."""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.broken_copy import ROOT, copied, seen_by
from exporter.toml import tomllib

BREAKS = Path(__file__).with_name("breaks.toml")
LONGEST_SECS = 300.0
SCENES = ("tests/scenes/test_scenes.py", "--all-scenes", "-k")
"""How the scenes are played whose names have a word."""


@dataclass(frozen=True, slots=True)
class Break:
    """One text of one file that becomes another, and the tests, or scenes, that must see it."""

    part: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, top: Path = ROOT) -> bytes:
        """Return the broken file."""
        return (top / self.file).read_text("utf-8").replace(self.old, self.new).encode()


def breaks(parts: list[str]) -> Iterator[Break]:
    """All breaks of these parts of the product; of all for none."""
    for part, rows in tomllib.loads(BREAKS.read_text("utf-8")).items():
        for name, row in rows.items():
            if not parts or part in parts:
                is_seen_by = (*SCENES, row["scenes"]) if "scenes" in row else row["tests"].split()
                yield Break(part, name, row["file"], row["old"], row["new"], tuple(is_seen_by))


def unfit(broken: Break, top: Path = ROOT) -> str:
    """Say why a break cannot be made; empty when it can."""
    count = (top / broken.file).read_text("utf-8").count(broken.old)
    paths = (test for test in broken.tests if test.startswith("tests/"))
    missing = [path for path in paths if not (top / path).exists()]
    if count != 1:
        return f"{broken.file} has the text {count} times"
    return f"there is no {missing[0]}" if missing else ""


def main() -> int:
    """Print for each break the test that saw it; all must be seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", help="which parts of the product; all without one")
    wanted = [*breaks(parser.parse_args().part)]
    wrong = [f"{each.name}: {why}" for each in wanted if (why := unfit(each))]
    if wrong or not wanted:
        print("\n".join(wrong) or "no such part", file=sys.stderr)
        return 2
    seen = 0
    began = time.monotonic()
    with copied() as (top,):
        for each in wanted:
            test = seen_by(top, each.file, each.applied(), each.tests, LONGEST_SECS)
            seen += bool(test)
            print(f"{each.part}/{each.name}: {test or 'UNSEEN'}", flush=True)
    secs = time.monotonic() - began
    print(f"{seen} of {len(wanted)} breaks seen in {secs:.0f} s")
    return int(seen < len(wanted))


if __name__ == "__main__":
    sys.exit(main())
