"""A fake program nvidia-smi with its scenario and what it was asked."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.native import PROGRAM
from tests.fakes.nvml_library import write_scenario


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the program: its arguments, its own name first, and its environment."""

    arguments: tuple[str, ...]
    environment: dict[str, str]


class NvidiaSmi:
    """One copy of the program; it needs nothing in its environment to find its scenario."""

    def __init__(self, program_dir: Path, folder: Path) -> None:
        self.path = folder / PROGRAM
        self.scenario = folder / f"{PROGRAM}.scenario"
        self._record = folder / "record"
        _link_or_copy(program_dir / PROGRAM, self.path)
        self.say()

    def say(self, *lines: str, capture: str | None = None) -> None:
        """Replace the scenario: the lines of a capture (by file name), then these."""
        self.scenario.with_name(f"{self.scenario.name}.runs").unlink(missing_ok=True)
        write_scenario(self.scenario, (f"smi.record = {self._record}", *lines), capture)

    def runs(self) -> list[Run]:
        """What the program was started with, in order, scenarios replaced meanwhile included."""
        text = self._record.read_text() if self._record.exists() else ""
        lines = text.splitlines()
        return [_run(*lines[i : i + 2]) for i in range(0, len(lines), 2)]


def _run(arguments: str, environment: str) -> Run:
    variables = (item.partition("=") for item in environment.split("\0") if item)
    return Run(tuple(arguments.split("\0")[:-1]), {name: value for name, _, value in variables})


def _link_or_copy(source: Path, target: Path) -> None:
    """A link where the file system allows it: a fresh copy may be "busy" while others fork."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
