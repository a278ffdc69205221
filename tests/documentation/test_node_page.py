"""The page about what is read from where."""

import re

from exporter.collectors.everything import SOURCES
from tests.collectors.whole_node import NODE_ROWS
from tests.program import ROOT

ROW = re.compile(r"^\| `(\w+)`( \(opt-in\))? \| (\w+) \|", re.MULTILINE)


def test_every_source_of_files_has_its_row() -> None:
    """Each is there once with its group, and whether it runs by default."""
    page = (ROOT / "docs/node.md").read_text()
    found = {(name, group, not opt_in) for name, opt_in, group in ROW.findall(page)}
    rows = {(row.name, row.group, row.by_default) for row in NODE_ROWS}
    assert rows - found == set()
    assert {name for name, _, _ in found} <= {row.name for row in SOURCES}
