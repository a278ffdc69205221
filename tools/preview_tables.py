"""Tables of a dashboard: frames of instant answers, their transformations, their cells."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tools.preview_asking import Series
from tools.preview_known import Unlooked
from tools.preview_values import Shown, shown

Cell = float | str | None


@dataclass(frozen=True, slots=True)
class Frame:
    """Columns by name and rows of as many cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def frame_of(series: Sequence[Series], value_name: str) -> Frame:
    """An instant answer as a table: the time, each label, the value."""
    labels = sorted({label for one in series for label in one.labels})
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.points[-1][0], *(one.labels.get(label, "") for label in labels), one.points[-1][1])
        for one in series
    )
    return Frame(("Time", *labels, value_name), rows if series else ())


def transformed(frames: Sequence[Frame], steps: Sequence[Mapping[str, Any]]) -> Frame:
    """One frame after all transformations; Unlooked where several are left."""
    left = [frame for frame in frames if frame.rows] or list(frames[:1])
    names: dict[str, str] = {}
    for step in steps:
        if step["id"] == "merge":
            left = [_merged(left)]
        else:
            left = [_organized(frame, step["options"]) for frame in left]
            names = step["options"].get("renameByName", {})
    if len(left) != 1:
        raise Unlooked("a table of several answers that are not merged")
    return Frame(tuple(names.get(name, name) for name in left[0].columns), left[0].rows)


def _merged(frames: Sequence[Frame]) -> Frame:
    """Rows that agree in every column that all frames have become one row."""
    if len(frames) == 1:
        return frames[0]
    shared = [name for name in frames[0].columns if all(name in one.columns for one in frames)]
    columns = [*dict.fromkeys(name for frame in frames for name in frame.columns)]
    found: dict[tuple[Cell, ...], dict[str, Cell]] = {}
    for frame in frames:
        for row in frame.rows:
            cells = dict(zip(frame.columns, row, strict=True))
            found.setdefault(tuple(cells[name] for name in shared), {}).update(cells)
    rows = (tuple(cells.get(name) for name in columns) for cells in found.values())
    return Frame(tuple(columns), tuple(rows))


def _organized(frame: Frame, options: Mapping[str, Any]) -> Frame:
    hidden, order = options.get("excludeByName", {}), options.get("indexByName", {})
    kept = [number for number, name in enumerate(frame.columns) if not hidden.get(name)]
    kept.sort(key=lambda number: order.get(frame.columns[number], len(order)))
    rows = tuple(tuple(row[number] for number in kept) for row in frame.rows)
    return Frame(tuple(frame.columns[number] for number in kept), rows)


def fields_of(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The properties of the field: the defaults, then every override that matches its name."""
    defaults = config["defaults"]
    found = {key: value for key, value in defaults.items() if key != "custom"}
    found |= {f"custom.{key}": value for key, value in defaults.get("custom", {}).items()}
    for override in config["overrides"]:
        if override["matcher"]["options"] == name:
            found |= {given["id"]: given["value"] for given in override["properties"]}
    return found


def drawn_table(panel: Mapping[str, Any], answered: Sequence[Sequence[Series]]) -> str:
    """The table as HTML, or the words for when there is nothing."""
    several = len(panel["targets"]) > 1
    frames = [
        frame_of(series, f"Value #{target['refId']}" if several else "Value")
        for target, series in zip(panel["targets"], answered, strict=True)
    ]
    frame = transformed(frames, panel.get("transformations", ()))
    if not frame.rows:
        return nothing(panel)
    fields = {name: fields_of(panel["fieldConfig"], name) for name in frame.columns}
    rows = _sorted(frame, panel["options"].get("sortBy", ()))
    lines = "".join(
        "<tr>" + "".join(_cell(cells[name], fields[name]) for name in frame.columns) + "</tr>"
        for cells in rows
    )
    return f"<table>{''.join(_heads(frame.columns, fields, rows))}{lines}</table>"


def nothing(panel: Mapping[str, Any]) -> str:
    """What stands where there is nothing to show."""
    words = panel["fieldConfig"]["defaults"].get("noValue", "No data")
    return f'<p class="nothing">{escape(words)}</p>'


def _heads(
    columns: Sequence[str],
    fields: Mapping[str, Mapping[str, Any]],
    rows: Sequence[Mapping[str, Cell]],
) -> Iterator[str]:
    for name in columns:
        width = fields[name].get("custom.width")
        size = f"width:{width}px;" if width else ""
        align = _align(next((row[name] for row in rows if row[name] is not None), ""), fields[name])
        yield f'<th style="{size}text-align:{align}">{escape(name)}</th>'


def _sorted(frame: Frame, order: Sequence[Mapping[str, Any]]) -> list[dict[str, Cell]]:
    rows = [dict(zip(frame.columns, row, strict=True)) for row in frame.rows]
    for wanted in reversed(order):
        name = wanted["displayName"]
        if name not in frame.columns:
            raise Unlooked(f"sorted by {name!r}, which is not a column of {frame.columns}")
        rows.sort(key=lambda cells: _rank(cells[name]), reverse=wanted["desc"])
    return rows


def _rank(cell: Cell) -> tuple[int, float, str]:
    if cell is None:
        return (0, 0.0, "")
    return (1, cell, "") if isinstance(cell, float) else (2, 0.0, cell)


def _align(cell: Cell, field: Mapping[str, Any]) -> str:
    is_left = isinstance(cell, str) or field.get("custom.align") == "left"
    return "left" if is_left else "right"


def _cell(cell: Cell, field: Mapping[str, Any]) -> str:
    if cell is None:
        return "<td></td>"
    value = shown(cell, field)
    kind = field.get("custom.cellOptions", {"type": "auto"})["type"]
    style = f"text-align:{_align(cell, field)}"
    inner = escape(value.text)
    if field.get("links"):
        inner = f"<u>{inner}</u>"
    if kind == "gauge" and isinstance(cell, float):
        return f'<td style="{style}">{_bar(cell, value, field)}</td>'
    if kind == "color-background" and value.colour:
        style += f";background:{value.colour};color:#111217"
    if kind == "color-text" and value.colour:
        style += f";color:{value.colour}"
    return f'<td style="{style}">{inner}</td>'


def _bar(cell: float, value: Shown, field: Mapping[str, Any]) -> str:
    least, most = field.get("min", 0), field.get("max", 100)
    share = max(0.0, min(1.0, (cell - least) / (most - least))) * 100
    bar = f'<i style="width:{share:.1f}%;background:{value.colour or "#73bf69"}"></i>'
    return f'<span class="bar"><b>{bar}</b>{escape(value.text)}</span>'
