"""The pages for operators: what they name exists, and their examples work."""

import re
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml

from exporter.config_file import load, read_file
from exporter.exposition import FAMILIES, LIVE_FAMILIES
from tests.fakes.manifests import KUBERNETES, ROOT
from tests.fakes.prometheus import why_not

PAGES = tuple(
    ROOT / name
    for name in (
        "docs/kubernetes.md",
        "docs/security.md",
        "docs/migration.md",
        "docs/sizing.md",
        "docs/alerts.md",
        "docs/RIGHTS.md",
        "docs/reliability.md",
        "dashboards/README.md",
        "SECURITY.md",
    )
)
KNOWN = {*(family.name for family in FAMILIES), *(family.name for family in LIVE_FAMILIES)}
METRIC = re.compile(r"(?<![:\w])(hw_[a-z0-9_]+)(?![\w*:])")
LABELS = {
    "hw_type",
    "hw_id",
    "hw_name",
    "hw_state",
    "hw_limit_type",
    "hw_power_brake_slowdown",
    "hw_thermal_slowdown",
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
TARGET = re.compile(r"\bmake ([a-z]+)\b")


def _blocks(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, text)
        for page in PAGES
        for found, text in BLOCK.findall(page.read_text())
        if found == language
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_metrics_and_links_exist(page: Path) -> None:
    """Every metric that a page names is one of ours, and every file it points to is there."""
    text = page.read_text()
    assert set(METRIC.findall(text)) - LABELS - KNOWN == set()
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


def test_make_targets_exist() -> None:
    """What the pages tell to make can be made."""
    makefile = (ROOT / "Makefile").read_text()
    wanted = {name for page in PAGES for name in TARGET.findall(page.read_text())}
    assert {name for name in wanted if f"\n{name}:" not in makefile} == set()


def test_every_component_is_described() -> None:
    """The table of the guide has every overlay and every component, and no other."""
    text = (ROOT / "docs/kubernetes.md").read_text()
    named = set(re.findall(r"`((?:overlays|components)/[a-z-]+)`", text))
    there = {
        f"{kind}/{folder.name}"
        for kind in ("overlays", "components")
        for folder in (KUBERNETES / kind).iterdir()
    }
    assert named == there


@pytest.mark.parametrize(("page", "text"), _blocks("toml"))
def test_settings_in_the_pages_are_keys(page: str, text: str) -> None:
    """Every TOML example is a configuration that is accepted."""
    with tempfile.NamedTemporaryFile("w", suffix=f"-{page}.toml") as file:
        file.write(text)
        file.flush()
        load([read_file(Path(file.name))])


@pytest.mark.parametrize(("page", "text"), _blocks("yaml"))
def test_yaml_in_the_pages_is_yaml(page: str, text: str) -> None:
    """Every YAML example can be read, and its paths into our manifests exist."""
    document = yaml.safe_load(text)
    assert document, page
    paths = [*document.get("resources", ()), *document.get("components", ())]
    assert [path for path in paths if not (ROOT / path.removeprefix("hw-exporter/")).exists()] == []


@pytest.mark.skipif(why_not("promtool") is not None, reason="promtool is not installed")
def test_queries_in_the_pages_are_well_formed(tmp_path: Path) -> None:
    """Every query for our metrics in the guide for migration is accepted by promtool."""
    text = (ROOT / "docs/migration.md").read_text()
    cells = [line.split(" | ")[1].strip(" |") for line in text.splitlines() if " | `hw_" in line]
    queries = [query for cell in cells for query in re.findall(r"`([^`]+)`", cell)]
    queries += [block for _, block in _blocks("promql")]
    assert len(queries) > 50
    rules = [{"record": f"x:y{n}", "expr": query} for n, query in enumerate(queries)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "pages", "rules": rules}]}))
    subprocess.run(["promtool", "check", "rules", file], check=True, capture_output=True)
