"""Blind sets of lines from public threads: the share that becomes events, and the quiet ones."""

import sys
from pathlib import Path
from typing import Any

import pytest

from exporter.toml import tomllib
from tests.collectors.kernel_log.feeding import events_of

FILES = sorted((Path(__file__).parent / "threads").glob("*.toml"))


def trouble_in(lines: dict[str, Any]) -> list[str]:
    """Every line of trouble of the file, whatever its component and severity."""
    return [line for part in lines["trouble"].values() for some in part.values() for line in some]


def missed_in(lines: dict[str, Any]) -> list[str]:
    """The lines of trouble that make no event."""
    return [line for line in trouble_in(lines) if not events_of(*line.splitlines())]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_lines_that_matter_become_events(file: Path) -> None:
    """Nine of ten at least."""
    lines = tomllib.loads(file.read_text("utf-8"))
    missed = missed_in(lines)
    assert len(missed) <= len(trouble_in(lines)) // 10, missed


def main() -> None:
    """Print the shares of every file, and the lines that were missed."""
    for file in FILES:
        lines = tomllib.loads(file.read_text("utf-8"))
        missed, trouble = missed_in(lines), trouble_in(lines)
        share = 1 - len(missed) / len(trouble)
        sys.stdout.write(f"{file.stem}: {share:.3f} of {len(trouble)} lines of trouble\n")
        sys.stdout.writelines(f"  missed: {line}\n" for line in missed)


if __name__ == "__main__":
    main()
