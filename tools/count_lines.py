"""Counts the lines of Python: of the engine, of what the default configuration imports, of all.

The default configuration is imported in a fresh interpreter as `hw-exporter run` imports it; the
program of the NVML probe, which is a process of its own, is counted with it.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.test_house import ENGINE
from tools.tables import ROOT

PACKAGE = ROOT / "exporter"
DEFAULT = """
import sys
import exporter.__main__, exporter.app, exporter.cli, exporter.commands.run, exporter.running
from exporter.collectors import chosen
from exporter.config import Config
collectors = chosen(Config())
collectors.rule_book(), collectors.names, collectors.subjects.vocabulary
import exporter.collectors.gpu.nvml_probe.serving
for module in tuple(sys.modules.values()):
    if module.__name__.partition(".")[0] == "exporter":
        print(module.__file__)
"""


def lines_of(paths: list[Path]) -> int:
    """Return the number of lines in these files."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def engine() -> list[Path]:
    """Return the files of the engine, which knows no hardware."""
    single = [PACKAGE / f"{name}.py" for name in ENGINE]
    folders = [path for name in ENGINE for path in (PACKAGE / name).rglob("*.py")]
    return [path for path in (*single, *folders) if path.is_file()]


def imported_by_default() -> list[Path]:
    """Return the files that the default configuration imports."""
    run = subprocess.run(
        [sys.executable, "-c", DEFAULT], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return [Path(line) for line in sorted(set(run.stdout.split()))]


def main() -> None:
    """Print the numbers of lines."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, paths in (
        ("engine", engine()),
        ("imported by the default configuration", imported_by_default()),
        ("exporter/", [*PACKAGE.rglob("*.py")]),
        ("tests/", [*(ROOT / "tests").rglob("*.py")]),
    ):
        sys.stdout.write(f"{lines_of(paths):7,} lines  {name}\n")


if __name__ == "__main__":
    main()
