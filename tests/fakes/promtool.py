"""Pages and unit tests of rules by promtool, and the series that rules are tried on."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.fakes.manifests import ROOT, document
from tests.fakes.prometheus import RULES

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed"
)
METRIC = re.compile(r"\bhw_[a-z0-9_]+\b")
CONVENTIONS = ROOT / "docs/conventions.md"
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
OURS = (RULES / "alerts.yml", RULES / "recording.yml")
"""The rules of each node and of a cluster, as we ship them."""


def remarks(page: bytes) -> set[str]:
    """What `promtool check metrics` says of a page; without promtool the test is skipped."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    ended = subprocess.run(
        [promtool, "check", "metrics"], input=page, capture_output=True, timeout=30, check=False
    )
    return {*(ended.stdout + ended.stderr).decode().splitlines()}


def listed_remarks() -> set[str]:
    """The remarks about names that must stay, in the table of docs/conventions.md."""
    linting = CONVENTIONS.read_text("utf-8").partition("## Linting")[2]
    listed = re.findall(r"^\| `(hw_\w+)` \| (.+) \|$", linting, re.MULTILINE)
    return {f"{name} {remark}" for name, remark in listed}


def run(*files: Path) -> None:
    """Run files of tests; what fails is in the message."""
    done = subprocess.run(
        ["promtool", "test", "rules", *files],
        capture_output=True,
        text=True,
        env={**os.environ, "GOGC": "400"},  # 120 MB instead of 70, for a sixth less time
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def written(
    file: Path, rules: Iterable[Path], tests: Iterable[dict[str, Any]], evaluated: str = "1m"
) -> Path:
    """Write tests of these rule files."""
    names = [str(name) for name in rules]
    trials = {"rule_files": names, "evaluation_interval": evaluated, "tests": list(tests)}
    file.write_text(yaml.dump(trials, Dumper=DUMPER))
    return file


def tried(
    folder: Path,
    *tests: dict[str, Any],
    rules: Iterable[Path] = OURS,
    evaluated: str = "1m",
) -> None:
    """Run tests of these rule files; what fails is in the message."""
    run(written(folder / "tests.yml", rules, tests, evaluated))


def only(groups: Iterable[str], folder: Path) -> Path:
    """A rule file with these groups of ours alone, which takes less time."""
    ours = {group["name"]: group for file in OURS for group in document(file)["groups"]}
    rules = folder / "rules.yml"
    rules.write_text(yaml.safe_dump({"groups": [ours[name] for name in groups]}))
    return rules


@dataclass(frozen=True, slots=True)
class Series:
    """One input series in promtool's notation."""

    series: str
    values: str


def gives(expr: str, minute: float, value: float | None, labels: str = "{}") -> dict[str, Any]:
    """That an expression has one sample of this value at this minute; None for no sample."""
    samples = [] if value is None else [{"labels": labels, "value": value}]
    return {"expr": expr, "eval_time": f"{minute}m", "exp_samples": samples}


def trial(
    series: Iterable[Series], *expected: dict[str, Any], interval: str = "1m", **more: Any
) -> dict[str, Any]:
    """A unit test: what is expected of these series; `more` are further keys of promtool's."""
    return {
        "interval": interval,
        "input_series": [{"series": it.series, "values": it.values} for it in series],
        "promql_expr_test": list(expected),
        **more,
    }


def quoted(text: str) -> str:
    """The value of a label as PromQL has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def samples(page: str) -> Mapping[str, float]:
    """Every sample of a page by its series."""
    found = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels = ",".join(f"{name}={quoted(text)}" for name, text in sample.labels.items())
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def input_series(scrapes: Sequence[Mapping[str, float]]) -> list[Series]:
    """What was scraped one after another, series by series."""
    names = dict.fromkeys(name for scrape in scrapes for name in scrape)
    return [Series(name, _values(scrape.get(name) for scrape in scrapes)) for name in names]


def _values(values: Iterable[float | None]) -> str:
    runs = ((value, sum(1 for _ in run)) for value, run in groupby(values))
    return " ".join(
        f"_x{count}" if value is None else f"{value:g}x{count - 1}" for value, count in runs
    )
