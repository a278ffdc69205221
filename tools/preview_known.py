"""What the preview of dashboards can draw; a dashboard that uses anything else is refused."""

from typing import Any

from tools.preview_values import COLOURS, UNITS

NUMBER = (int, float)
DATASOURCE = {"type": {"prometheus"}, "uid": {"${datasource}"}}
KINDS = {"row", "stat", "timeseries", "table", "bargauge", "state-timeline"}

TARGET = {
    "refId": str,
    "datasource": DATASOURCE,
    "expr": str,
    "legendFormat": str,
    "instant": bool,
    "range": bool,
    "format": {"table", "time_series"},
}
THRESHOLDS = {
    "mode": {"absolute"},
    "steps": [{"color": COLOURS, "value": (int, float, type(None))}],
}
MAPPING = {
    "type": {"value"},
    "options": {"*": {"text": str, "color": COLOURS, "index": int}},
}
LINK = {"title": str, "url": str, "targetBlank": bool}
CUSTOM = {
    "drawStyle": {"line", "bars"},
    "lineWidth": int,
    "fillOpacity": int,
    "spanNulls": {False},
    "showPoints": {"never"},
    "stacking": {"mode": {"none", "normal"}, "group": {"A"}},
    "thresholdsStyle": {"mode": {"off", "dashed"}},
    "align": {"auto", "left"},
    "width": int,
    "cellOptions": {"type": {"auto", "color-background", "color-text", "gauge"}, "mode": {"basic"}},
}
FIELD = {
    "unit": UNITS,
    "decimals": int,
    "min": NUMBER,
    "max": NUMBER,
    "noValue": str,
    "mappings": [MAPPING],
    "thresholds": THRESHOLDS,
    "color": {"mode": {"thresholds", "palette-classic", "fixed"}, "fixedColor": COLOURS},
    "links": [LINK],
    "custom": CUSTOM,
}
OVERRIDABLE = {
    **{name: spec for name, spec in FIELD.items() if name != "custom"},
    **{f"custom.{name}": spec for name, spec in CUSTOM.items()},
}
REDUCE = {"calcs": [{"lastNotNull"}], "fields": {""}, "values": {False}}
LEGEND = {
    "displayMode": {"list"},
    "placement": {"bottom"},
    "showLegend": bool,
    "calcs": [set()],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "stat": {
        "reduceOptions": REDUCE,
        "colorMode": {"background_solid", "value", "none"},
        "graphMode": {"none"},
        "textMode": {"auto", "name"},
        "justifyMode": {"center"},
        "orientation": {"auto"},
    },
    "bargauge": {
        "reduceOptions": REDUCE,
        "displayMode": {"basic"},
        "orientation": {"horizontal"},
        "showUnfilled": {True},
        "valueMode": {"color"},
    },
    "timeseries": {"legend": LEGEND, "tooltip": {"mode": {"multi"}, "sort": {"desc"}}},
    "state-timeline": {
        "legend": LEGEND,
        "tooltip": {"mode": {"single"}},
        "mergeValues": {True},
        "showValue": {"auto", "never"},
        "rowHeight": NUMBER,
        "alignValue": {"left"},
    },
    "table": {
        "showHeader": {True},
        "cellHeight": {"sm"},
        "footer": {"show": {False}},
        "sortBy": [{"displayName": str, "desc": bool}],
    },
    "row": {},
}
ORGANIZE = {
    "excludeByName": {"*": {True}},
    "indexByName": {"*": int},
    "renameByName": {"*": str},
}
TRANSFORMATIONS: dict[str, dict[str, Any]] = {"merge": {}, "organize": ORGANIZE}
PANEL = {
    "id": int,
    "type": KINDS,
    "title": str,
    "description": str,
    "datasource": DATASOURCE,
    "gridPos": {"x": int, "y": int, "w": int, "h": int},
    "targets": [TARGET],
    "fieldConfig": {"defaults": FIELD, "overrides": [dict]},
    "options": dict,
    "transformations": [dict],
    "links": [LINK],
    "collapsed": bool,
    "panels": [dict],
}
VARIABLE = {
    "name": str,
    "label": str,
    "type": {"query", "datasource"},
    "query": (str, dict),
    "datasource": DATASOURCE,
    "refresh": {1, 2},
    "sort": {1, 3},
    "multi": bool,
    "includeAll": bool,
    "allValue": str,
    "current": {"text": str, "value": str},
}
ANNOTATION = {
    "name": str,
    "datasource": DATASOURCE,
    "enable": bool,
    "iconColor": COLOURS,
    "expr": str,
    "step": str,
    "titleFormat": str,
    "textFormat": str,
}
PAGE = {
    "uid": str,
    "title": str,
    "description": str,
    "tags": [str],
    "schemaVersion": {38},
    "version": int,
    "editable": bool,
    "graphTooltip": {0, 1},
    "refresh": str,
    "time": {"from": str, "to": {"now"}},
    "timezone": {"browser"},
    "annotations": {"list": [ANNOTATION]},
    "links": [dict],
    "templating": {"list": [VARIABLE]},
    "panels": [dict],
}


class Unlooked(Exception):  # noqa: N818 - what it says is not always a mistake
    """The dashboard uses something that nobody has looked at."""


def check(value: object, spec: object, where: str) -> None:
    """Raise Unlooked where the value is not as described.

    A set holds what is allowed, a list of one what each item is like, a mapping the keys there
    may be ("*" stands for any), a type or several what it is an instance of.
    """
    if isinstance(spec, dict):
        _check_object(value, spec, where)
    elif isinstance(spec, list):
        if not isinstance(value, list):
            raise Unlooked(f"{where}: {value!r} is not a list")
        for number, item in enumerate(value):
            check(item, spec[0], f"{where}[{number}]")
    elif not _is_one_of(value, spec):
        raise Unlooked(f"{where}: {value!r} is not known")


def _check_object(value: object, spec: dict[str, Any], where: str) -> None:
    if not isinstance(value, dict):
        raise Unlooked(f"{where}: {value!r} is not an object")
    for key, item in value.items():
        if key not in spec and "*" not in spec:
            raise Unlooked(f"{where}.{key} is not known")
        check(item, spec[key] if key in spec else spec["*"], f"{where}.{key}")


def _is_one_of(value: object, spec: object) -> bool:
    if isinstance(spec, (set, frozenset)):
        return value.__hash__ is not None and value in spec
    return isinstance(value, spec)  # type: ignore[arg-type] # what is left are types


def check_page(page: dict[str, Any]) -> None:
    """Raise Unlooked for a dashboard with anything that would not be drawn."""
    check(page, PAGE, page.get("uid", "dashboard"))
    for panel in page["panels"]:
        _check_panel(panel)
        for inner in panel.get("panels", ()):
            _check_panel(inner)


def _check_panel(panel: dict[str, Any]) -> None:
    where = f"panel {panel.get('title', '')!r}"
    check(panel, PANEL, where)
    kind = panel["type"]
    check(panel.get("options", {}), OPTIONS[kind], f"{where}.options")
    for step in panel.get("transformations", ()):
        check(step, {"id": set(TRANSFORMATIONS), "options": dict}, f"{where}.transformations")
        check(step["options"], TRANSFORMATIONS[step["id"]], f"{where}.{step['id']}")
    for override in panel.get("fieldConfig", {}).get("overrides", ()):
        matcher = {"id": {"byName"}, "options": str}
        check(override, {"matcher": matcher, "properties": [dict]}, f"{where}.overrides")
        for given in override["properties"]:
            check({given["id"]: given["value"]}, OVERRIDABLE, f"{where}.overrides")
