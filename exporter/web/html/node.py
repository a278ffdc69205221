"""Other parts of the node as HTML: workloads, host, network, disks, and unread sources."""

from collections.abc import Iterable
from typing import Any

from exporter.reports.units import UNKNOWN, number, ranges, rate, size, used_of
from exporter.web.html.builder import Html, join, tag
from exporter.web.html.drawing import meter, sparkline
from exporter.web.html.incident import why_link

MAX_ROWS = 40


def _table(caption: str, heads: Iterable[str], rows: Iterable[Html]) -> Html:
    """Build a table; a head that begins with `#` is of a column of numbers."""
    cells = [
        tag("th", head.removeprefix("#"), class_="n" if head.startswith("#") else None, scope="col")
        for head in heads
    ]
    hidden = tag("caption", caption, class_="hidden")
    table = tag(
        "table", hidden, tag("thead", tag("tr", cells)), tag("tbody", list(rows)), class_="stack"
    )
    return tag("div", table, class_="card scroll")


def _cell(label: str, content: object) -> Html:
    return tag("td", content, class_="n", data_label=label)


def workloads_table(rows: Iterable[dict[str, Any]]) -> Html:
    """List the workloads that use GPUs."""
    return _table(
        "Workloads on GPUs",
        ("Workload", "#GPUs", "#Processes", "#Memory", "#Use"),
        (
            tag(
                "tr",
                tag("td", row["workload"], class_="name"),
                _cell("GPUs", ranges(row["gpus"])),
                _cell("Processes", row["processes"]),
                _cell("Memory", _held(row)),
                _cell("Use", number(row["utilization_percent"], " %")),
            )
            for row in list(rows)[:MAX_ROWS]
        ),
    )


def processes_table(rows: Iterable[dict[str, Any]]) -> Html:
    """List the processes on GPUs."""
    return _table(
        "Processes on GPUs",
        ("#PID", "Name", "Pod or workload", "#GPUs", "#Memory", "#Use", "State"),
        (
            tag(
                "tr",
                _cell("PID", row["pid"]),
                tag("td", row["name"] or UNKNOWN, class_="name"),
                tag("td", "/".join(filter(None, _owner_of(row))) or UNKNOWN),
                _cell("GPUs", ranges(row["gpus"])),
                _cell("Memory", size(row["memory"])),
                _cell("Use", number(row["utilization"], " %")),
                tag("td", row["state"] or UNKNOWN),
            )
            for row in rows
        ),
    )


def _owner_of(row: dict[str, Any]) -> tuple[str | None, ...]:
    return row["namespace"], row["pod"], row["container"]


def _held(row: dict[str, Any]) -> str:
    """Return the memory of a workload, and its quota if there is one."""
    used, quota = row["memory_used_bytes"], row["quota_memory_bytes"]
    return size(used) if quota is None else used_of(used, quota)


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


def network_table(rows: Iterable[dict[str, Any]]) -> Html:
    """List the interfaces."""
    return _table(
        "Network interfaces",
        ("Interface", "State", "#Receive", "#Transmit", ""),
        (
            tag(
                "tr",
                tag("td", tag("a", row["device"], href=why_link(row["device"])), class_="name"),
                tag("td", _link_state(row)),
                _cell("Receive", rate(row["receive_bytes_per_second"])),
                _cell("Transmit", rate(row["transmit_bytes_per_second"])),
                tag("td", _traffic(row), class_="s"),
            )
            for row in rows
        ),
    )


def _traffic(row: dict[str, Any]) -> Html:
    points = row["history"]["receive"]
    return sparkline(points, None, f"{row['device']} receive in bytes per second")


def _link_state(row: dict[str, Any]) -> Html:
    word = {True: "up", False: "down", None: UNKNOWN}[row["up"]]
    speed = row["speed_bytes_per_second"]
    shown = f" {speed * 8 / 1e9:g} Gbit/s" if speed and row["up"] else ""
    return join([tag("span", word, class_="pill ok" if row["up"] else "pill"), tag("small", shown)])


def disks_table(rows: Iterable[dict[str, Any]]) -> Html:
    """List the disks."""
    return _table(
        "Disks",
        ("Disk", "Model", "#Read", "#Write", "#Busy", ""),
        (
            tag(
                "tr",
                tag("td", tag("a", row["device"], href=why_link(row["device"])), class_="name"),
                tag("td", f"{row['model'] or ''} {size(row['size_bytes'])}".strip()),
                _cell("Read", rate(row["read_bytes_per_second"])),
                _cell("Write", rate(row["write_bytes_per_second"])),
                _cell("Busy", number(row["busy_percent"], " %")),
                tag("td", _busy(row), class_="s"),
            )
            for row in rows
        ),
    )


def _busy(row: dict[str, Any]) -> Html:
    return sparkline(row["history"]["busy"], 1.0, f"{row['device']} share of time that it is busy")


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


def unread_table(rows: Iterable[dict[str, Any]]) -> Html:
    """List the sources that could not be read, with reason and fix."""
    return _table(
        "What could not be read",
        ("What", "Why", "Fix"),
        (
            tag(
                "tr",
                tag("td", row["name"], " ", _mark(row), class_="name"),
                tag("td", row["found"]),
                tag("td", row["fix"]),
            )
            for row in rows
        ),
    )


def _mark(row: dict[str, Any]) -> Html:
    is_problem = row["state"] == "problem"
    return tag("span", row["state"], class_="pill warning" if is_problem else "pill")
