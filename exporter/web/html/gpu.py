"""GPUs as tiles: utilization, memory, temperature, power and workloads."""

from collections.abc import Iterable, Iterator
from typing import Any

from exporter.reports.remedies import gpu_meaning
from exporter.reports.text.status import STATE_WORDS
from exporter.reports.units import moment, number, used_of
from exporter.web.html.builder import Html, join, tag
from exporter.web.html.drawing import meter, sparkline
from exporter.web.html.incident import why_link

HOT_CELSIUS = 100.0


def gpu_tiles(gpus: Iterable[dict[str, Any]], now: float) -> Html:
    """Draw all GPUs; a GPU without current values has a tile without numbers."""
    return tag("ul", [_tile(gpu, now) for gpu in gpus], class_="gpus")


def _tile(gpu: dict[str, Any], now: float) -> Html:
    top = tag(
        "div",
        tag("a", f"GPU {gpu['index']}", href=why_link(gpu["uuid"])),
        tag("span", gpu["name"], class_="model", title=gpu["name"]),
        _badge(gpu),
        class_="top",
    )
    body = _values(gpu) if gpu["state"] == "ok" else _no_values(gpu, now)
    who = ", ".join(gpu["workloads"]) or ("no workload" if gpu["state"] == "ok" else "")
    if gpu["shared"]:
        who += f" · shared by {', '.join(gpu['shared'])}".replace("_", "-")
    owner = tag("p", who, class_="who", title=who) if who else None
    return tag("li", top, body, owner, class_=f"card gpu {gpu['state']}")


def _badge(gpu: dict[str, Any]) -> Html:
    if gpu["state"] != "ok":
        word = "hung" if gpu["reason"] == "hung" else STATE_WORDS[gpu["state"]]
        return tag("span", word, class_="pill")
    reasons = [name.replace("_", " ") for name in gpu["throttled"] or ()]
    if reasons:
        return tag(
            "span", f"throttled: {reasons[0]}", class_="pill warning", title=", ".join(reasons)
        )
    return Html("")


def _no_values(gpu: dict[str, Any], now: float) -> Html:
    sentence = {
        "lost": f"No values: {gpu_meaning(gpu['reason']) or 'it does not answer'}.",
        "stale": "No current values: the driver does not answer.",
        "suspended": "Suspended to save power; a reading would wake it.",
    }[gpu["state"]]
    read = gpu["read_at"]
    last = tag("p", f"Last read {moment(read, now)}", class_="why") if read else None
    return join([tag("p", sentence, class_="why"), last])


def _values(gpu: dict[str, Any]) -> Html:
    history, use = gpu["history"], gpu["utilization_percent"]
    unit = tag("small", "%") if use is not None else None
    big = tag("div", tag("small", "use "), number(use), unit, class_="big")
    line = sparkline(history["utilization"], 100.0, f"GPU {gpu['index']} use in percent")
    return join([tag("div", big, line, class_="use"), tag("dl", list(_rows(gpu)), class_="values")])


def _rows(gpu: dict[str, Any]) -> Iterator[Html]:
    history, index = gpu["history"], gpu["index"]
    used, total = gpu["memory_used_bytes"], gpu["memory_total_bytes"]
    ratio = used / total if used is not None and total else None
    yield _row("Memory", meter(ratio, f"GPU {index} memory"), used_of(used, total))
    heat, watts = gpu["temperature_celsius"], gpu["power_draw_watts"]
    picture = sparkline(history["temperature"], HOT_CELSIUS, f"GPU {index} temperature in Celsius")
    yield _row("Temp", picture, number(heat, " °C"))
    limit = gpu["power_limit_watts"]
    picture = sparkline(history["power"], limit, f"GPU {index} power in watts")
    shown = f"{number(watts)} / {limit:.0f} W" if limit else number(watts, " W")
    yield _row("Power", picture, shown)


def _row(name: str, picture: Html, value: str) -> Html:
    return join([tag("dt", name), tag("dd", picture), tag("dd", value)])
