"""What the guides say of Kubernetes folders and of queries."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.documentation.blocks import PAGES, blocks
from tests.fakes.promtool import needs_promtool
from tests.program import ROOT

KUBERNETES = ROOT / "deploy/kubernetes"


def test_every_component_is_described() -> None:
    """The table of the guide has every overlay and every component, and no other."""
    text = (ROOT / "docs/kubernetes.md").read_text()
    named = set(re.findall(r"`((?:overlays|components)/[a-z-]+)`", text))
    folders = [*(KUBERNETES / "overlays").iterdir(), *(KUBERNETES / "components").iterdir()]
    assert named == {str(folder.relative_to(KUBERNETES)) for folder in folders}


def test_every_page_is_listed() -> None:
    """Who looks for a page finds it in the index, in one of its four groups."""
    index = (ROOT / "docs/README.md").read_text()
    assert re.findall(r"^## (\w+)", index, re.MULTILINE) == [
        *("Start", "Operate", "Reference", "Develop")
    ]
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


@pytest.mark.system
@needs_promtool
def test_queries_in_the_pages_are_well_formed(tmp_path: Path) -> None:
    """Every query of the guide for migration, and of the other pages, is accepted by promtool."""
    text = (ROOT / "docs/migration.md").read_text()
    cells = [line.split(" | ")[1].strip(" |") for line in text.splitlines() if " | `hw_" in line]
    queries = [query for cell in cells for query in re.findall(r"`([^`]+)`", cell)]
    queries += [
        block.text for page in PAGES for block in blocks(page) if block.language == "promql"
    ]
    assert len(queries) > 50
    rules = [{"record": f"x:y{n}", "expr": query} for n, query in enumerate(queries)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "pages", "rules": rules}]}))
    subprocess.run(["promtool", "check", "rules", file], check=True, capture_output=True)
