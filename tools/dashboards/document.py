"""Grafana dashboards as code: from rows of panels to the JSON that Grafana provisions."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import yaml

from tools.alerting.links import HOSTS, PODS, Place
from tools.dashboards.panels import DATASOURCE, Panel, drawn

GRID_WIDTH = 24
RUNBOOKS = "RUNBOOKS"
"""Stands in links for the address of runbooks, until a dashboard is written for a place."""

OLDEST_SCHEMA = 38
"""The schema of Grafana 10.0; newer ones bring it up to date when they read it."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading; a folded row asks nothing until somebody opens it."""

    title: str
    panels: tuple[Panel, ...]
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A list at the top of the page, filled by a query; without `has_all` the first is chosen."""

    name: str
    query: str
    is_multi: bool = True
    has_all: bool = True
    sort: int = 1
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """Stretches of time marked on all panels of a page: where the expression has a value."""

    name: str
    expr: str
    colour: str
    is_on: bool = True


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One page of Grafana; its file is named for `uid`.

    Where a family is `recorded`, every expression asks for what the recording rules keep of it.
    """

    uid: str
    title: str
    help: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    marks: tuple[Marks, ...] = field(default=())
    recorded: tuple[str, ...] = ()


def to_json(dashboard: Dashboard, place: Place = HOSTS) -> str:
    """Return the text of the dashboard's file; `place` is where runbooks are read."""
    document = {
        "uid": f"hw-{dashboard.uid}",
        "title": f"Hardware / {dashboard.title}",
        "description": dashboard.help,
        "tags": ["hw-exporter"],
        "schemaVersion": OLDEST_SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_marked(marks) for marks in dashboard.marks]},
        "links": [_links(), ALERTS],
        "templating": {"list": [_datasource(), *map(_variable, dashboard.variables)]},
        "panels": list(_placed(dashboard.rows)),
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    for series in dashboard.recorded:
        text = re.sub(rf"(?<![:\w]){series.split(':')[1]}(?![:\w])", series, text)
    return text.replace(f"{RUNBOOKS}/", f"{place.runbooks_of('${instance}')}/")


ALERTS = {"type": "link", "title": "Alerts", "url": "/alerting/list?search=Hw", "icon": "bell"}


def _links() -> dict[str, Any]:
    return {
        "type": "dashboards",
        "title": "Hardware",
        "tags": ["hw-exporter"],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
    }


def _marked(marks: Marks) -> dict[str, Any]:
    return {
        "name": marks.name,
        "datasource": DATASOURCE,
        "enable": marks.is_on,
        "iconColor": marks.colour,
        "expr": marks.expr,
        "step": "15s",
        "titleFormat": "{{fault}}",
        "textFormat": "{{node}} {{hw_name}}",
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}


def _variable(variable: Variable) -> dict[str, Any]:
    everything = {
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
    return {
        "name": variable.name,
        "label": "GPU" if variable.name == "gpu" else variable.name.capitalize(),
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": variable.query, "refId": variable.name},
        "refresh": 2,
        "sort": variable.sort,
        "multi": variable.is_multi,
        "hide": 2 if variable.is_hidden else 0,
        **(everything if variable.has_all else {}),
    }


def _placed(rows: tuple[Row, ...]) -> Iterator[dict[str, Any]]:
    """Every panel with its number and its place, rows from left to right and top to bottom."""
    number = y = 0
    for row in rows:
        number += 1
        place = {"x": 0, "y": y, "w": GRID_WIDTH, "h": 1}
        panels = list(_filled(row.panels, number, y + 1))
        number += len(panels)
        head = {"id": number - len(panels), "type": "row", "title": row.title, "gridPos": place}
        if row.is_folded:
            yield {**head, "collapsed": True, "panels": panels}
            y += 1
            continue
        yield {**head, "collapsed": False, "panels": []}
        yield from panels
        y = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)


def _filled(panels: tuple[Panel, ...], number: int, y: int) -> Iterator[dict[str, Any]]:
    """Yield the panels of a row, each as high up and as far left as there is room."""
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        number += 1
        cells = next(cells for cells in _spots(panel) if not taken & cells)
        taken |= cells
        left, top = min(cells)
        place = {"x": left, "y": y + top, "w": panel.width, "h": panel.height}
        yield {"id": number, "gridPos": place, **drawn(panel)}


def _spots(panel: Panel) -> Iterator[set[tuple[int, int]]]:
    """Yield the cells a panel would take, from place to place."""
    for top in count():
        for left in range(GRID_WIDTH - panel.width + 1):
            columns = range(left, left + panel.width)
            yield {(x, y) for x in columns for y in range(top, top + panel.height)}


def config_maps(dashboards: tuple[Dashboard, ...]) -> str:
    """All dashboards as ConfigMaps with the label that Grafana's sidecar looks for."""
    head = "# Generated from tools/dashboards/pages.py by `make docs`.\n"
    items = (
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"hw-exporter-dashboard-{dashboard.uid}",
                "namespace": "hw-exporter",
                "labels": {"grafana_dashboard": "1"},
            },
            "data": {f"hw-{dashboard.uid}.json": to_json(dashboard, PODS)},
        }
        for dashboard in dashboards
    )
    return head + yaml.safe_dump_all(items, sort_keys=False, allow_unicode=True, width=1000)
