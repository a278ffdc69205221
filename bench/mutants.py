"""Breaks the product in the small ways of breaks.toml, each alone in a copy, and runs its tests."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter.toml import tomllib

ROOT = Path(__file__).parent.parent
BREAKS = Path(__file__).with_name("breaks.toml")
LEFT_OUT = (".git", ".venv", ".cache", "build", "dist", "*.egg-info", "__pycache__")
LONGEST_SECS = 300.0
GOAL = 0.85
TESTS_FAILED = 1  # pytest's own exit status; others mean that they did not run


@dataclass(frozen=True, slots=True)
class Break:
    """One text of one file that becomes another, and the tests that must see it."""

    part: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def breaks(parts: list[str]) -> Iterator[Break]:
    """All breaks of these parts of the product; of all for none."""
    for part, rows in tomllib.loads(BREAKS.read_text("utf-8")).items():
        for name, row in rows.items():
            if not parts or part in parts:
                tests = tuple(row["tests"].split())
                yield Break(part, name, row["file"], row["old"], row["new"], tests)


def unfit(broken: Break, top: Path = ROOT) -> str:
    """Say why a break cannot be made; empty when it can."""
    count = (top / broken.file).read_text("utf-8").count(broken.old)
    missing = [test for test in broken.tests if not (top / test).exists()]
    if count != 1:
        return f"{broken.file} has the text {count} times"
    return f"there is no {missing[0]}" if missing else ""


def seen_by(broken: Break, top: Path) -> str:
    """Return the first test that fails with the break; empty when none does."""
    path = top / broken.file
    good = path.read_text("utf-8")
    path.write_text(good.replace(broken.old, broken.new), "utf-8")
    options = ("-x", "-q", "--no-header")
    command = [sys.executable, "-m", "pytest", *options, *broken.tests]
    try:
        done = subprocess.run(
            command, cwd=top, capture_output=True, text=True, timeout=LONGEST_SECS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"nothing within {LONGEST_SECS:g} s"
    finally:
        path.write_text(good, "utf-8")
    if done.returncode not in (0, TESTS_FAILED):
        raise SystemExit(f"{broken.name}: the tests did not run\n{done.stdout[-2000:]}")
    lines = [
        line
        for line in done.stdout.splitlines()
        if line.startswith(("FAILED tests", "ERROR tests"))
    ]
    return lines[0].split()[1] if lines else ""


def main() -> int:
    """Print for each break the test that saw it, and for each part how many were seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", help="which parts of the product; all without one")
    wanted = [*breaks(parser.parse_args().part)]
    wrong = [f"{each.name}: {why}" for each in wanted if (why := unfit(each))]
    if wrong or not wanted:
        print("\n".join(wrong) or "no such part", file=sys.stderr)
        return 2
    seen = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        top = Path(folder) / "copy"
        shutil.copytree(ROOT, top, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        for broken in wanted:
            started = time.monotonic()
            test = seen_by(broken, top)
            seen += bool(test)
            secs = time.monotonic() - started
            print(f"{broken.part}/{broken.name}: {test or 'UNSEEN'} ({secs:.0f} s)", flush=True)
    secs = time.monotonic() - began
    print(f"{seen} of {len(wanted)} breaks seen in {secs:.0f} s")
    return int(seen < GOAL * len(wanted))


if __name__ == "__main__":
    sys.exit(main())
