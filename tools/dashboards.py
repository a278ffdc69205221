"""Grafana dashboards as code: from rows of panels to the JSON that Grafana provisions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
GRID_WIDTH = 24
HEIGHTS = {"stat": 4, "timeseries": 8, "table": 9, "bargauge": 8, "state-timeline": 7}
GREEN_TO_RED = ({"color": "green", "value": None}, {"color": "red", "value": 1})


@dataclass(frozen=True, slots=True)
class Query:
    """One expression and what its series are called; `{{label}}` stands for a label's value."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel; `width` counts 24ths of the page, `help` says how to read it.

    A panel that `warns` is green at 0 and red from 1 on.
    """

    title: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 12
    help: str = ""
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A list at the top of the page, filled by a query."""

    name: str
    query: str
    is_multi: bool = True


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One page of Grafana; its file is named for `uid`."""

    uid: str
    title: str
    help: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]


def to_json(dashboard: Dashboard) -> str:
    """The text of the dashboard's file."""
    document = {
        "uid": f"hw-{dashboard.uid}",
        "title": f"Hardware / {dashboard.title}",
        "description": dashboard.help,
        "tags": ["hw-exporter"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "links": [_links()],
        "templating": {"list": [_datasource(), *map(_variable, dashboard.variables)]},
        "panels": list(_placed(dashboard.rows)),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _links() -> dict[str, Any]:
    return {
        "type": "dashboards",
        "title": "Hardware",
        "tags": ["hw-exporter"],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
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
        "label": variable.name.replace("_", " ").capitalize(),
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": variable.query, "refId": variable.name},
        "refresh": 2,
        "sort": 1,
        "multi": variable.is_multi,
        **(everything if variable.is_multi else {}),
    }


def _placed(rows: tuple[Row, ...]) -> Iterator[dict[str, Any]]:
    """Every panel with its number and its place, rows from left to right and top to bottom."""
    number = y = 0
    for row in rows:
        number += 1
        place = {"x": 0, "y": y, "w": GRID_WIDTH, "h": 1}
        yield {"id": number, "type": "row", "title": row.title, "gridPos": place, "panels": []}
        x, y, height = 0, y + 1, 0
        for panel in row.panels:
            number += 1
            if x + panel.width > GRID_WIDTH:
                x, y, height = 0, y + height, 0
            own = HEIGHTS[panel.kind]
            place = {"x": x, "y": y, "w": panel.width, "h": own}
            yield {"id": number, "gridPos": place, **_panel(panel)}
            x, height = x + panel.width, max(height, own)
        y += height


def _panel(panel: Panel) -> dict[str, Any]:
    is_now = panel.kind not in {"timeseries", "state-timeline"}
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.warns:
        defaults["thresholds"] = {"mode": "absolute", "steps": list(GREEN_TO_RED)}
        defaults["color"] = {"mode": "thresholds"}
    found = {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.help,
        "datasource": DATASOURCE,
        "targets": [
            _target(query, chr(ord("A") + number), is_now=is_now, is_table=panel.kind == "table")
            for number, query in enumerate(panel.queries)
        ],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel),
    }
    if panel.kind == "table":
        hidden = {"Time": True, "__name__": True, "job": True, "instance": True}
        found["transformations"] = [{"id": "organize", "options": {"excludeByName": hidden}}]
    return found


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind in ("stat", "bargauge"):
        return {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background_solid"}
    if panel.kind == "timeseries":
        legend = {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]}
        return {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
    return {}


def _target(query: Query, letter: str, *, is_now: bool, is_table: bool) -> dict[str, Any]:
    return {
        "refId": letter,
        "datasource": DATASOURCE,
        "expr": query.expr,
        "legendFormat": query.legend or "__auto",
        "instant": is_now,
        "range": not is_now,
        "format": "table" if is_table else "time_series",
    }


def config_maps(dashboards: tuple[Dashboard, ...]) -> str:
    """All dashboards as ConfigMaps with the label that Grafana's sidecar looks for."""
    head = "# Generated from tools/dashboard_pages.py by `make docs`.\n"
    items = (
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"hw-exporter-dashboard-{dashboard.uid}",
                "namespace": "hw-exporter",
                "labels": {"grafana_dashboard": "1"},
            },
            "data": {f"hw-{dashboard.uid}.json": to_json(dashboard)},
        }
        for dashboard in dashboards
    )
    return head + yaml.safe_dump_all(items, sort_keys=False, allow_unicode=True, width=1000)
