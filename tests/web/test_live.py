"""The page at `/`, and `/status` and `/doctor`: what they show, and what they never show."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest

from exporter.collectors.disk.values import Filesystem, Filesystems
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.model.snapshot import Snapshot
from exporter.reports.history import MAX_SERIES, SLOT_SECS, SLOTS, NodeHistory
from exporter.web.answer import PageRequest
from exporter.web.html.builder import asset
from exporter.web.live import LivePages
from exporter.web.runbooks import runbooks
from tests.web.pages import broken_node
from tests.web.serving import Node, serving, snapshot

BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


def _page(pages: LivePages, latest: Snapshot | None, boottime: float = 1003.0) -> str:
    return pages.landing(latest, boottime).body.decode()


def test_the_page_says_what_is_broken_and_why() -> None:
    """The verdict in a sentence, the root with what follows, evidence, action and runbook."""
    page = _page(LivePages("1.2.3"), broken_node())
    assert "1 critical: GPU 1 no longer answers, because the link of slot 6 went down" in page
    assert page.index("root cause · pcie_link_down") < page.index("gpu_lost · since")
    assert "Check seating" in page
    assert 'href="/runbooks/pcie_link_down"' in page
    assert "read 3 s ago" in page
    assert "no_host_pids" in page
    assert "/proc/diskstats cannot be read: EIO" in page


def test_a_gpu_that_is_lost_or_stale_shows_no_numbers() -> None:
    """Old values are neither in the page nor in the document; the reason is."""
    pages = LivePages("1.2.3")
    page, latest = _page(pages, broken_node()), broken_node()
    tiles = re.findall(r'<li class="card gpu (\w+)">(.*?)</li>', page)
    assert [state for state, _ in tiles] == ["ok", "lost", "stale"]
    assert ">42<" in tiles[0][1]
    for _, tile in tiles[1:]:
        assert "No " in tile
        assert not re.search(r"\d (?:°C|W|GiB)|>1[37]<", tile)
    rows = json.loads(pages.status(PageRequest("/status"), latest, 1003.0).body)["gpus"]
    assert [row["utilization_percent"] for row in rows] == [42.0, None, None]
    assert rows[0]["throttled"] == ["sw_power_cap"]
    assert [row["power_draw_watts"] for row in rows[1:]] == [None, None]


def test_room_of_a_filesystem_is_what_users_may_take() -> None:
    """Of ten GiB four are free and one of them is reserved: that one is neither used nor room."""
    gib = 2**30
    disk = Filesystem(
        "/dev/sda1",
        "/data",
        "ext4",
        readonly=False,
        size_bytes=10 * gib,
        free_bytes=4 * gib,
        available_bytes=3 * gib,
    )
    node = broken_node()
    readings = {**node.readings, Filesystems: Filesystems((disk,))}
    assert "3.0 / 10.0 GiB available" in _page(LivePages("1.2.3"), replace(node, readings=readings))


def test_hostile_names_stay_text() -> None:
    """Whatever a card, a pod or the kernel says is escaped, in content and in attributes."""
    page = _page(LivePages("1.2.3"), broken_node())
    assert "<script>alert" not in page
    assert page.count("<script>") == 1
    assert "&lt;script&gt;alert(1)" in page


def test_only_our_own_style_and_script_may_run() -> None:
    """The policy names both by their hashes and allows nothing else; nothing is styled inline."""
    answer = LivePages("1.2.3").landing(broken_node(), 1000.0)
    policy = (answer.headers or {})["Content-Security-Policy"]
    for name, directive in (("page.css", "style-src"), ("page.js", "script-src")):
        digest = base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page = answer.body.decode()
    assert " style=" not in page
    assert not re.search(r" on\w+=|(?:src|href)=\"(?:https?:)?//", page)


def test_an_old_reading_is_marked_and_a_missing_one_is_said() -> None:
    """Neither passes for a fresh one."""
    pages = LivePages("1.2.3")
    assert 'class="live old"' in _page(pages, broken_node(), 1000.0 + 46)
    assert 'class="live"' in _page(pages, broken_node(), 1000.0 + 44)
    assert "not read yet" in _page(pages, None)
    assert "Nothing was read yet, or not recently" in _page(pages, snapshot())


async def test_the_form_is_negotiated() -> None:
    """A browser gets the page, programs JSON, and text comes when it is asked for."""
    async with serving(broken_node()) as node:
        assert (await node.get("/")).headers["content-type"].startswith("text/html")
        assert (
            (await node.get("/status", Accept=BROWSER))
            .headers["content-type"]
            .startswith("text/html")
        )
        status = json.loads((await node.get("/status", Accept="*/*")).body)
        assert status["verdict"]["state"] == "critical"
        text = (await node.get("/status?format=text")).body.decode()
        assert "do: Check seating" in text
        assert max(len(line) for line in text.splitlines()) <= 80
        assert b"fix: " in (await node.get("/doctor", Accept="text/plain")).body
        assert (await node.get("/status?format=xml")).status == 400
        assert (await node.get("/doctor?all=1")).status == 400


@pytest.mark.parametrize("path", ["/faults", "/why", "/why?hw_id=GPU-1"])
async def test_a_browser_gets_pages_of_faults(path: str) -> None:
    """The same document as a page: no script at all, and hostile lines stay text."""
    async with serving(broken_node()) as node:
        answer = await node.get(path, Accept=BROWSER)
        assert answer.headers["content-type"].startswith("text/html")
        assert "script" not in answer.headers["content-security-policy"]
        page = answer.body.decode()
        assert "<script" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "Check seating" in page
        assert 'href="/runbooks/' in page
        assert json.loads((await node.get(path, Accept="*/*")).body)["node"] == "node-1"
        assert (
            (await node.get(path, Accept="text/plain"))
            .headers["content-type"]
            .startswith("text/plain")
        )


async def test_every_runbook_is_a_page() -> None:
    """Paragraphs, lists and code are drawn, and nothing of the Markdown is left."""
    async with serving(broken_node()) as node:
        index = (await node.get("/runbooks/", Accept=BROWSER)).body.decode()
        rules = re.findall(r'href="/runbooks/(\w+)"', index)
        assert set(rules) == set(runbooks())
        for rule in rules:
            page = (await node.get(f"/runbooks/{rule}", Accept=BROWSER)).body.decode()
            assert f"Runbook {rule}" in page
            assert "```" not in page
            assert "](" not in page


async def test_nothing_is_shown_before_the_first_reading() -> None:
    """Programs get 503, a browser a page that says so."""
    async with serving(node=Node(None)) as node:
        assert (await node.get("/")).status == 200
        assert (await node.get("/status")).status == 503
        assert (await node.get("/doctor")).status == 503


def test_the_page_is_drawn_once_per_snapshot() -> None:
    """A request between two collections costs the age alone."""
    pages, latest = LivePages("1.2.3"), broken_node()
    _page(pages, latest)
    drawn = pages._drawn
    assert _page(pages, latest, 1009.0) != _page(pages, latest, 1001.0)
    assert pages._drawn is drawn
    _page(pages, broken_node())
    assert pages._drawn is not drawn


def _at(boottime: float, use: float | None, gpus: int = 1) -> Snapshot:
    states = tuple(
        GpuState(Gpu(index, f"GPU-{index}", "card", utilization_percent=use), boottime)
        for index in range(gpus)
    )
    reading = Gpus(GpuBackend("nvml", "ok"), states)
    return replace(snapshot(readings={Gpus: reading}), taken_boottime=boottime)


def test_a_sparkline_keeps_fifteen_minutes_with_their_gaps() -> None:
    """What was not said is a gap, and what is older is gone."""
    history = NodeHistory()
    for slot in range(100):
        history.add(_at(slot * SLOT_SECS, None if slot == 95 else float(slot)))
    points = history.points("GPU-0", "utilization")
    assert points == [None if slot == 95 else float(slot) for slot in range(40, 100)]
    history.add(_at(99 * SLOT_SECS + SLOTS * SLOT_SECS, None))
    assert history.points("GPU-0", "utilization") == []


def test_a_stale_value_is_no_point_of_a_sparkline() -> None:
    """A GPU that is served from the cache draws a gap."""
    history = NodeHistory()
    history.add(_at(0.0, 50.0))
    stale = _at(SLOT_SECS, 50.0)
    gpus = stale.reading(Gpus)
    assert gpus is not None
    states = tuple(replace(state, stale=True) for state in gpus.states)
    history.add(replace(stale, readings={Gpus: replace(gpus, states=states)}))
    assert history.points("GPU-0", "utilization")[-2:] == [50.0, None]


def test_the_memory_of_sparklines_is_bounded() -> None:
    """However many things there are, and however long it runs."""
    history = NodeHistory()
    for turn in range(3):
        history.add(_at(turn * SLOT_SECS, 1.0, gpus=2000))
    assert len(history._rings) == MAX_SERIES
    assert all(len(ring._values) == SLOTS for ring in history._rings.values())


@pytest.mark.parametrize("boottime", [0.0, 5.0, 1e9])
def test_time_may_jump(boottime: float) -> None:
    """A clock that stands still or leaps breaks nothing."""
    history = NodeHistory()
    for moment in (boottime, boottime, boottime + 1e7, boottime):
        history.add(_at(moment, 3.0))
    assert len(history.points("GPU-0", "utilization")) == SLOTS
