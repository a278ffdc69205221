"""Scenes as data: what happens at the seams of a node, and what an operator must be told."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from exporter.toml import tomllib

COLLECTORS = Path(__file__).resolve().parent.parent / "collectors"
FILE = "scenes.toml"
ACTS = ("begins", "restart", "end", "since_start", "twin", "smi")
"""What a scene shows: over a restart, with nvidia-smi alone …; the columns of the table."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Change:
    """What changes at the seams.

    `log` are lines that the kernel prints, `files` texts by path (None removes the
    file, `-> target` makes a link), `grows`
    texts in which `{7}` is replaced by 7 times the number of the look, `nvml` lines of the scenario
    of both fakes of the driver, `nvml_grows` such lines with numbers that grow, `calls` answers of
    system calls (`system_calls.py`), `processes` processes as `PID NAME STATE CGROUP`, `releases`
    how often an operator asks the exporter to let go of the GPUs, `lost` how many records of the
    kernel log were overwritten after its first line, `traced` Xids at the tracepoint of the driver,
    `late` how many seconds the second rank of a job enters each collective late, look by look.
    """

    log: tuple[str, ...] = ()
    files: Mapping[str, str | None] = field(default_factory=lambda: NOTHING)
    grows: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    nvml: tuple[str, ...] = ()
    nvml_grows: tuple[str, ...] = ()
    calls: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    processes: tuple[str, ...] = ()
    releases: int = 0
    lost: int = 0
    traced: tuple[str, ...] = ()
    late: tuple[float, ...] = ()


INTERVAL_SECS = 15.0


@dataclass(frozen=True, slots=True)
class Scene:
    """One rule the whole way.

    `node` is how the node is before it is ill, with its twin and after its repair; at each look
    a scene with a `pause` waits so many real seconds, as a program does that tries again. The
    end of a `watched` one is read at each interval: a detector takes each reading once. `root` is
    the rule of the fault that explains this one.
    The twin is there before the exporter starts if it `twin_was_before`.
    `cannot` names what cannot be shown (the words of `ACTS`) with the
    reason; `within` is in seconds, as is the
    `interval` between two looks; `late` is how many seconds the end may come after the
    window of the rule, whose oldest samples lie far apart. What stays as it is needs so many
    `looks`, after which only time passes: a second where a reader compares two, or where its
    source is asked at every second one.
    """

    rule: str
    ill: Change = Change()
    name: str = ""
    about: str = ""
    severity: str = ""
    says: str = ""
    root: str = ""
    within: float = 60.0
    interval: float = INTERVAL_SECS
    late: float = 0.0
    pause: float = 0.0
    watched: bool = False
    looks: int = 1
    node: Change = Change()
    well: Change = Change()
    twin: Change | None = None
    twin_was_before: bool = False
    gpus: bool = False
    settings: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    cannot: Mapping[str, str] = field(default_factory=lambda: NOTHING)

    @property
    def id(self) -> str:
        """What a test of the scene is called."""
        return f"{self.rule}-{self.name}" if self.name else self.rule


def scenes() -> list[Scene]:
    """Read the scenes of all subjects."""
    return [_scene(table) for table in _tables("scene")]


def unstaged() -> dict[str, str]:
    """Read which rules no scene can show, with the reason and the test that does."""
    return {rule: table["reason"] for table in _tables("unstaged") for rule in table["rules"]}


def _tables(name: str) -> Iterator[dict[str, Any]]:
    for path in sorted(COLLECTORS.glob(f"*/{FILE}")):
        yield from tomllib.loads(path.read_text()).get(name, ())


def _scene(table: dict[str, Any]) -> Scene:
    known = {each.name for each in fields(Scene)}
    assert table.keys() <= known, f"{table.get('rule')}: {sorted(table.keys() - known)}"
    changes: dict[str, Any] = {
        key: _change(table[key]) for key in ("node", "ill", "well", "twin") if key in table
    }
    return Scene(**{**table, **changes})


def _change(table: dict[str, Any]) -> Change:
    known = {each.name for each in fields(Change)}
    assert table.keys() <= known, sorted(table.keys() - known)
    return Change(
        tuple(table.get("log", ())),
        {path: text or None for path, text in table.get("files", {}).items()},
        table.get("grows", {}),
        tuple(table.get("nvml", ())),
        tuple(table.get("nvml_grows", ())),
        table.get("calls", {}),
        tuple(table.get("processes", ())),
        table.get("releases", 0),
        table.get("lost", 0),
        tuple(table.get("traced", ())),
        tuple(table.get("late", ())),
    )
