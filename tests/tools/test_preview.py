"""The pictures of dashboards: all that is used can be drawn, and nothing else is accepted."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.preview_asking import Choice, Span, chosen, interpolated, named
from tools.preview_known import Unlooked, check_page
from tools.preview_lines import _pieces
from tools.preview_page import Picture, View, page
from tools.preview_tables import Frame, fields_of, transformed
from tools.preview_values import NAMED, said, shown

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "dashboards").glob("*.json"))
RECORDED = json.loads(Path(__file__).with_name("answer.json").read_text())
SPAN = Span(1_800_000_000, 1_800_000_060)
HOSTILE = "<script>alert('1')</script>\"&{{node}}"


class Recording:
    """Gives the recorded answer to every question; `labels` replace what they are called."""

    def __init__(self, **labels: str) -> None:
        self.labels = labels
        self.queries: list[str] = []

    def __call__(self, path: str, **parameters: str) -> Any:
        if path.startswith("label/"):
            return [self.labels.get(path.split("/")[1], "gpu-7"), "zz"]
        self.queries.append(parameters["query"])
        found = RECORDED["instant" if path == "query" else "range"]
        return {"result": [{**one, "metric": {**one["metric"], **self.labels}} for one in found]}


def _dashboard(name: str = "hw-node") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / f"dashboards/{name}.json").read_text())
    return found


def _drawn(dashboard: dict[str, Any], width: int = 1600) -> Picture:
    return page(dashboard, Recording(), View(SPAN, width, is_opened=True))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_dashboard_can_be_drawn(file: Path) -> None:
    """All six, with every folded row, from a small recorded answer; the page needs nothing else."""
    drawn = _drawn(json.loads(file.read_text()))
    assert drawn.empty == ()
    assert "src=" not in drawn.html
    assert "http" not in drawn.html


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_dashboard_says_so_when_there_is_nothing(file: Path) -> None:
    """Without any answer the page still comes, and says in words what there is none of."""

    def nothing(path: str, **_: str) -> Any:
        return [] if path.startswith("label/") else {"result": []}

    drawn = page(json.loads(file.read_text()), nothing, View(SPAN, is_opened=True))
    panels = [*json.loads(file.read_text())["panels"]]
    panels += [inner for panel in panels for inner in panel.get("panels", ())]
    assert drawn.empty
    assert len(drawn.empty) == sum(panel["type"] != "row" for panel in panels)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_hostile_names_stay_text(file: Path) -> None:
    """A node, pod or device called like markup is shown as it is called."""
    names = ("node", "pod", "device", "hw_name", "fault", "source", "gpu_name")
    recording = Recording(**dict.fromkeys(names, HOSTILE))
    html = page(json.loads(file.read_text()), recording, View(SPAN, is_opened=True)).html
    assert "<script" not in html
    assert "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;&quot;&amp;" in html


UNKNOWN = {
    "kind of panel": {"type": "heatmap"},
    "key of a panel": {"repeat": "node"},
    "unit": {"fieldConfig": {"defaults": {"unit": "furlongs"}, "overrides": []}},
    "data source": {"datasource": {"type": "prometheus", "uid": "P1"}},
    "option": {"options": {"wideLayout": True}},
    "transformation": {"transformations": [{"id": "reduce", "options": {}}]},
    "override": {
        "fieldConfig": {
            "defaults": {},
            "overrides": [
                {
                    "matcher": {"id": "byName", "options": "x"},
                    "properties": [{"id": "custom.filterable", "value": True}],
                }
            ],
        }
    },
}


@pytest.mark.parametrize("given", UNKNOWN.values(), ids=UNKNOWN)
def test_what_nobody_has_looked_at_is_refused(given: dict[str, Any]) -> None:
    """A dashboard cannot use a kind, unit or option that is not drawn: the panel is named."""
    dashboard = _dashboard()
    number = next(n for n, one in enumerate(dashboard["panels"]) if one["type"] == "stat")
    dashboard["panels"][number] |= given
    with pytest.raises(Unlooked, match=r"panel 'Health'"):
        check_page(dashboard)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "short", "0"),
        (1234, "short", "1.23 K"),
        (45.31, "percent", "45.3%"),
        (0.071, "percentunit", "7.1%"),
        (3 * 2**30, "bytes", "3 GiB"),
        (1.5e9, "Bps", "1.5 GB/s"),
        (1_980_000_000, "hertz", "1.98 GHz"),
        (12_400, "watt", "12.4 kW"),
        (0.0031, "s", "3.1 ms"),
        (462, "s", "7.7 mins"),
        (13_212, "s", "3.67 hours"),
        (float("nan"), "s", "nan"),
    ],
)
def test_numbers_carry_their_unit(value: float, unit: str, text: str) -> None:
    """A number is scaled and named as Grafana does it."""
    assert said(value, unit) == text


def test_words_come_before_limits() -> None:
    """A mapped value is called by its word; another takes the colour of its threshold."""
    field = {
        "mappings": [{"type": "value", "options": {"0": {"text": "LOST", "color": "red"}}}],
        "thresholds": {"steps": [{"color": "green", "value": None}, {"color": "red", "value": 5}]},
        "color": {"mode": "thresholds"},
        "unit": "short",
    }
    assert (shown(0.0, field).text, shown(0.0, field).colour) == ("LOST", NAMED["red"])
    assert (shown(4.0, field).text, shown(4.0, field).colour) == ("4", NAMED["green"])
    assert shown(5.0, field).colour == NAMED["red"]


def test_answers_are_merged_by_what_they_share() -> None:
    """Rows with the same shared labels become one; columns are hidden, renamed and ordered."""
    frames = (
        Frame(("Time", "node", "Value #A"), ((1.0, "a", 3.0), (1.0, "b", 2.0))),
        Frame(("Time", "node", "Value #B"), ((1.0, "b", 7.0),)),
    )
    organize = {
        "excludeByName": {"Time": True},
        "indexByName": {"Value #B": 0, "node": 1},
        "renameByName": {"node": "Node"},
    }
    steps = ({"id": "merge", "options": {}}, {"id": "organize", "options": organize})
    found = transformed(frames, steps)
    assert found.columns == ("Value #B", "Node", "Value #A")
    assert found.rows == ((None, "a", 3.0), (7.0, "b", 2.0))


def test_several_answers_must_be_merged() -> None:
    """A table of two answers without a merge would show one of them only: it is refused."""
    frame = Frame(("node",), (("a",),))
    with pytest.raises(Unlooked):
        transformed((frame, frame), ())


def test_overrides_change_the_field_they_name() -> None:
    """Defaults hold for every field, an override for its own."""
    override = {
        "matcher": {"id": "byName", "options": "CPU"},
        "properties": [{"id": "unit", "value": "percent"}],
    }
    config = {"defaults": {"unit": "short", "custom": {"width": 9}}, "overrides": [override]}
    assert fields_of(config, "CPU") == {"unit": "percent", "custom.width": 9}
    assert fields_of(config, "other")["unit"] == "short"


def test_what_was_not_said_is_not_bridged() -> None:
    """A line ends where a point is missing, and begins again after it."""
    points = [(0.0, 1.0), (15.0, 1.0), (45.0, 2.0), (60.0, float("nan")), (75.0, 3.0)]
    assert [len(piece) for piece in _pieces(points, 15)] == [2, 1, 1]


def test_variables_follow_one_another() -> None:
    """All stands for everything; without it the first is taken, of those the ones before allow."""
    dashboard = _dashboard()
    lists = dashboard["templating"]["list"]
    assert chosen(Recording(), lists, {}, SPAN)["cluster"] == Choice(".*", "All")
    assert chosen(Recording(node="gpu-1"), lists, {}, SPAN)["node"].value == "gpu-1"
    assert chosen(Recording(), lists, {"node": "a.b"}, SPAN)["node"].value == r"a\\.b"
    assert chosen(Recording(), lists, {"node": "a,b"}, SPAN)["node"].value == "(a|b)"


def test_intervals_are_filled_in() -> None:
    """The window of a rate holds four scrapes at least; `$1` of label_replace is left alone."""
    text = interpolated("rate(x[$__rate_interval]) $1 ${node}", {"node": Choice("n", "n")}, SPAN)
    assert text == "rate(x[60s]) $1 n"
    with pytest.raises(KeyError):
        interpolated("$unheard_of", {}, SPAN)


def test_a_narrow_page_has_one_column() -> None:
    """Below Grafana's limit panels stand below one another, none wider than the page."""
    wide, narrow = _drawn(_dashboard()), _drawn(_dashboard(), 480)
    assert narrow.height > wide.height
    assert "left:8.0px" in narrow.html
    assert "width:464.0px" in narrow.html


def test_folded_rows_ask_nothing() -> None:
    """As in Grafana: the panels of a folded row cost no query until somebody opens it."""
    asked, more = Recording(), Recording()
    page(_dashboard(), asked, View(SPAN))
    page(_dashboard(), more, View(SPAN, is_opened=True))
    assert len(asked.queries) < len(more.queries)


def test_series_are_called_by_their_legend() -> None:
    """Names are put together from labels; one that a series lacks is left empty."""
    dashboard = _dashboard("hw-gpu")
    html = page(dashboard, Recording(gpu_index="3"), View(SPAN)).html
    assert "gpu-7 GPU 3" in html
    assert named("{{pod}}-{{ node }}", {"node": "a"}) == "-a"
