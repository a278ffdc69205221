"""Blind sets of lines from public threads: which become events, and which become faults.

Run as a program, it prints the shares of every set, and the lines that were missed.
"""

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.everything import EVERYTHING, rule_book
from exporter.commands.rules import changes
from exporter.toml import tomllib
from tests.collectors.kernel_log.feeding import events_of

FILES = sorted((Path(__file__).parent / "threads").glob("*.toml"))
NODES = ("rack_server", "h100_8", "mi300x_8", "kubernetes_server")


def trouble_in(lines: dict[str, Any]) -> list[str]:
    """Every line of trouble of the set, whatever its component and severity."""
    return [line for part in lines["trouble"].values() for some in part.values() for line in some]


def missed_in(lines: dict[str, Any]) -> list[str]:
    """The lines of trouble that make no event."""
    return [line for line in trouble_in(lines) if not events_of(line)]


def faults_of(quiet: list[str], node: str) -> Iterator[str]:
    """What the rules say above info on a node that prints all these lines, five in five seconds."""
    logs = ({"log": quiet[at : at + 5], "wait": 5} for at in range(0, len(quiet), 5))
    steps = [{"base": node, "wait": 30}, *logs, {"wait": 180}]
    said = changes(map(json.dumps, steps), rule_book(), EVERYTHING)
    return (line for line in said if " warning " in line or " critical " in line)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_lines_that_matter_become_events(file: Path) -> None:
    """Nine of ten at least."""
    lines = tomllib.loads(file.read_text("utf-8"))
    missed = missed_in(lines)
    assert len(missed) <= len(trouble_in(lines)) // 10, missed


@pytest.mark.parametrize(("file", "node"), [*product(FILES, NODES)])
def test_quiet_lines_make_no_fault(file: Path, node: str) -> None:
    """A node that prints all of them has no fault above info, whatever else it holds."""
    assert not [*faults_of(tomllib.loads(file.read_text("utf-8"))["quiet"], node)]


def main() -> None:
    """Print the shares of every set, the lines missed, and the faults of quiet ones."""
    for file in FILES:
        lines = tomllib.loads(file.read_text("utf-8"))
        missed, trouble, quiet = missed_in(lines), trouble_in(lines), lines["quiet"]
        faults = [line for node in NODES for line in faults_of(quiet, node)]
        seen = len(trouble) - len(missed)
        sys.stdout.write(
            f"{file.stem}: {seen} of {len(trouble)} lines of trouble become events "
            f"({seen / len(trouble):.3f}); {len(quiet)} quiet lines: {len(faults)} faults\n"
        )
        sys.stdout.writelines(f"  missed: {line}\n" for line in missed)
        sys.stdout.writelines(f"  fault: {line}\n" for line in faults)


if __name__ == "__main__":
    main()
