"""Other parts of the node as HTML: workloads, host, network, disks, and unread sources."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from exporter.reports.units import UNKNOWN, number, ranges, rate, size, used_of
from exporter.web.html.builder import Html, join, tag
from exporter.web.html.drawing import meter, sparkline
from exporter.web.html.incident import why_link

Row: TypeAlias = dict[str, Any]
Column: TypeAlias = tuple[str, str | None, Callable[[Row], object]]
"""The head, the class of the cells (n: numbers, s: pictures), and the content of a row's cell."""


def table(caption: str, columns: Sequence[Column], rows: Iterable[Row]) -> Html:
    """Draw a table of these rows."""
    heads = [
        tag("th", head, class_="n" if kind == "n" else None, scope="col")
        for head, kind, _ in columns
    ]
    lines = [tag("tr", [_cell(column, row) for column in columns]) for row in rows]
    hidden = tag("caption", caption, class_="hidden")
    parts = (hidden, tag("thead", tag("tr", heads)), tag("tbody", lines))
    return tag("div", tag("table", *parts, class_="stack"), class_="card scroll")


def _cell(column: Column, row: Row) -> Html:
    head, kind, content = column
    return tag("td", content(row), class_=kind, data_label=head if kind == "n" else None)


def _held(row: dict[str, Any]) -> str:
    """Return the memory of a workload, and its quota if there is one."""
    used, quota = row["memory_used_bytes"], row["quota_memory_bytes"]
    return size(used) if quota is None else used_of(used, quota)


def _owner(row: Row) -> str:
    names = (row["namespace"], row["pod"], row["container"])
    return "/".join(filter(None, names)) or UNKNOWN


def _device(row: Row) -> Html:
    return tag("a", row["device"], href=why_link(row["device"]))


def _link_state(row: dict[str, Any]) -> Html:
    word = {True: "up", False: "down", None: UNKNOWN}[row["up"]]
    speed = row["speed_bytes_per_second"]
    shown = f" {speed * 8 / 1e9:g} Gbit/s" if speed and row["up"] else ""
    return join([tag("span", word, class_="pill ok" if row["up"] else "pill"), tag("small", shown)])


def _traffic(row: Row) -> Html:
    points = row["history"]["receive"]
    return sparkline(points, None, f"{row['device']} receive in bytes per second")


def _busy(row: Row) -> Html:
    return sparkline(row["history"]["busy"], 1.0, f"{row['device']} share of time that it is busy")


def _mark(row: dict[str, Any]) -> Html:
    is_problem = row["state"] == "problem"
    return tag("span", row["state"], class_="pill warning" if is_problem else "pill")


WORKLOADS: tuple[Column, ...] = (
    ("Workload", "name", itemgetter("workload")),
    ("GPUs", "n", lambda row: ranges(row["gpus"])),
    ("Processes", "n", itemgetter("processes")),
    ("Memory", "n", _held),
    ("Use", "n", lambda row: number(row["utilization_percent"], " %")),
)
PROCESSES: tuple[Column, ...] = (
    ("PID", "n", itemgetter("pid")),
    ("Name", "name", lambda row: row["name"] or UNKNOWN),
    ("Pod or workload", None, _owner),
    ("GPUs", "n", lambda row: ranges(row["gpus"])),
    ("Memory", "n", lambda row: size(row["memory"])),
    ("Use", "n", lambda row: number(row["utilization"], " %")),
    ("State", None, lambda row: row["state"] or UNKNOWN),
)
INTERFACES: tuple[Column, ...] = (
    ("Interface", "name", _device),
    ("State", None, _link_state),
    ("Receive", "n", lambda row: rate(row["receive_bytes_per_second"])),
    ("Transmit", "n", lambda row: rate(row["transmit_bytes_per_second"])),
    ("", "s", _traffic),
)
DISKS: tuple[Column, ...] = (
    ("Disk", "name", _device),
    ("Model", None, lambda row: f"{row['model'] or ''} {size(row['size_bytes'])}".strip()),
    ("Read", "n", lambda row: rate(row["read_bytes_per_second"])),
    ("Write", "n", lambda row: rate(row["write_bytes_per_second"])),
    ("Busy", "n", lambda row: number(row["busy_percent"], " %")),
    ("", "s", _busy),
)
UNREAD: tuple[Column, ...] = (
    ("What", "name", lambda row: (row["name"], " ", _mark(row))),
    ("Why", None, itemgetter("found")),
    ("Fix", None, itemgetter("fix")),
)


def host_table(host: dict[str, Any], filesystems: Iterable[dict[str, Any]]) -> Html:
    """Draw the use of processors, memory and filesystems."""
    used, total = host["memory_used_bytes"], host["memory_total_bytes"]
    ratio = used / total if used is not None and total else None
    cpu = f"{number(host['cpu_usage_percent'], ' %')} of {number(host['cpu_threads'])} threads"
    load = f", load {host['load1']:.1f}" if host["load1"] is not None else ""
    history = host["history"]
    rows = (
        ("Processors", cpu + load, sparkline(history["cpu"], 100.0, "Processors in percent")),
        ("Memory", used_of(used, total), meter(ratio, "Memory", warns=True)),
    )
    hidden = tag("caption", "Processors, memory, filesystems", class_="hidden")
    body = tag("tbody", [_host_row(*row) for row in rows], map(_filesystem_row, filesystems))
    return tag("div", tag("table", hidden, body, class_="host"), class_="card scroll")


def _host_row(name: object, value: str, picture: Html) -> Html:
    return tag("tr", tag("td", name), tag("td", picture, class_="s"), tag("td", value, class_="n"))


def _filesystem_row(row: dict[str, Any]) -> Html:
    name = join([row["mountpoint"], " ", tag("small", row["fstype"])])
    return _host_row(name, _room(row), meter(_fullness(row), row["mountpoint"], warns=True))


def _fullness(row: dict[str, Any]) -> float | None:
    total, free = row["size_bytes"], row["available_bytes"]
    return (total - free) / total if total and free is not None else None


def _room(row: dict[str, Any]) -> str:
    if row["unreachable"]:
        return "does not answer"
    room = f"{used_of(row['available_bytes'], row['size_bytes'])} available"
    return room + (" read-only" if row["readonly"] else "")
