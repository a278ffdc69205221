"""The cases the exporter must survive, and how a run of the tests turned out for each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

FOLDER = Path(__file__).parent
COLLECTORS = FOLDER.parent / "collectors"
TOPICS = (
    *("driver", "nvidia_smi", "values", "node", "program", "clients", "tenants", "kernel_log"),
)
"""The files of the table, in the order of the page."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that goes wrong, what it costs the operator, and the tests that prove it.

    `needs` is what a machine must have for its tests to run: without it they are skipped.
    """

    name: str
    case: str
    data: str
    promise: str
    tests: tuple[str, ...]
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """Cases about one thing, under a title of the page."""

    title: str
    cases: tuple[Case, ...]


def topics() -> tuple[Topic, ...]:
    """The whole table: the files beside this one, then those of collectors, which name a topic."""
    of_rooms: dict[str, list[dict[str, object]]] = {name: [] for name in TOPICS}
    for path in sorted(COLLECTORS.glob("*/scoreboard.toml")):
        for row in tomli.loads(path.read_text())["case"]:
            of_rooms[row.pop("topic")].append(row)
    return tuple(_topic(name, rows) for name, rows in of_rooms.items())


def _topic(name: str, more: Iterable[Mapping[str, Any]]) -> Topic:
    document = tomli.loads((FOLDER / f"{name}.toml").read_text())
    rows = (*document["case"], *more)
    return Topic(
        document["title"], tuple(Case(**{**row, "tests": tuple(row["tests"])}) for row in rows)
    )


def cases() -> tuple[Case, ...]:
    """All cases, in the order of the page."""
    return tuple(case for topic in topics() for case in topic.cases)


def function_of(node_id: str) -> str:
    """The test a node id belongs to, without the parameters of one of its runs."""
    return node_id.partition("[")[0]


def verdict(case: Case, outcomes: Mapping[str, set[str]]) -> str:
    """`passed`, `failed`, `skipped`, or `not run`.

    `outcomes` has, for each test, how its runs ended. A case is skipped when one of its tests was
    skipped as a whole, and not run when one of them was not among those selected.
    """
    of_each = [outcomes.get(test, set()) for test in case.tests]
    if any("failed" in ended for ended in of_each):
        return "failed"
    if not all(of_each):
        return "not run"
    return "passed" if all("passed" in ended for ended in of_each) else "skipped"


def summary(outcomes: Mapping[str, set[str]]) -> str:
    """One line about all cases of this run; empty where no case was run whole."""
    by_verdict: dict[str, list[str]] = {}
    for case in cases():
        by_verdict.setdefault(verdict(case, outcomes), []).append(case.name)
    partial = by_verdict.pop("not run", [])
    run = sum(map(len, by_verdict.values()))
    if not run:
        return ""
    parts = [f"scoreboard: {len(by_verdict.get('passed', ()))} of {run} cases passed"]
    parts += [_counted(word, by_verdict.get(word, ())) for word in ("failed", "skipped")]
    if partial:
        parts.append(f"{len(partial)} not in this run")
    return ", ".join(filter(None, parts))


def _counted(word: str, names: Iterable[str]) -> str:
    found = list(names)
    return f"{len(found)} {word}: {' '.join(found)}" if found else ""


def reliability_page() -> str:
    """Return `docs/reliability.md`: each case, its effect on the data, and its tests."""
    found = topics()
    count = sum(len(topic.cases) for topic in found)
    lines = [
        "# Reliability tests",
        "",
        "This page lists every failure that is tested, its effect, and the tests that prove it.",
        "It is generated from `tests/scoreboard/`.",
        "",
        f"`make test` runs all tests and ends with the number of the {count} cases that passed,",
        "and the cases that could not be tested on this machine.",
        "`make soak` runs these failures at full size for half an hour and prints their cost.",
    ]
    for topic in found:
        lines += ["", f"## {topic.title}", ""]
        lines += ["| case | effect on the data | guarantee | tests |", "|---|---|---|---|"]
        lines += [_row(case) for case in topic.cases]
    return "\n".join(lines) + "\n"


def _row(case: Case) -> str:
    needs = f" (needs {case.needs})" if case.needs else ""
    what = f"**{case.name}**: {case.case}{needs}"
    return f"| {what} | {case.data} | {case.promise} | {', '.join(map(_link, case.tests))} |"


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../{path})"
