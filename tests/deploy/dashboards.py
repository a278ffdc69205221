"""The dashboards as Grafana reads them, and what it puts in place of variables."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.program import ROOT

DASHBOARDS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "dashboards").glob("*.json"))
}
"""Each page by its name."""


def panels_of(page: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All panels that ask for something, those in folded rows too."""
    for panel in page["panels"]:
        yield from (inner for inner in (panel, *panel.get("panels", ())) if inner.get("targets"))


def filled(text: str, chosen: Mapping[str, str]) -> str:
    """The text with what is chosen at the top of the page."""
    return re.sub(r"\$([a-z_]\w*)|\$\{(\w+)\}", lambda found: chosen[found[1] or found[2]], text)
