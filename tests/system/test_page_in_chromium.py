"""The live page in a real browser: live, honest, safe, and usable by everybody."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import pytest

from exporter.collectors.gpu.values import Gpus
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from tests.fakes.prometheus import free_port
from tests.program import Program
from tests.web.pages import HOSTILE, broken_node
from tests.web.serving import Node, serving
from tools.pictures.browser import NoBrowser, Tab, browser, find_program, new_tab

WIDTHS = ((360, 780), (768, 1024), (1600, 1000), (3840, 2160))
VERDICT = "document.querySelector('.verdict').className"
SENTENCE = "document.querySelector('.verdict .sentence').textContent"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a browser; skipped where there is none."""
    try:
        find_program()
    except NoBrowser as reason:
        pytest.skip(str(reason))
    with browser() as address:
        yield address


@pytest.fixture
async def tab(address: str) -> AsyncIterator[Tab]:
    """An empty page of the browser."""
    async with new_tab(address) as page:
        yield page


def _healthy() -> Snapshot:
    node = broken_node()
    gpus = node.reading(Gpus)
    assert gpus is not None
    states = tuple(replace(state, up=True, stale=False, reason=None) for state in gpus.states)
    readings = MappingProxyType({**node.readings, Gpus: replace(gpus, states=states)})
    return replace(node, readings=readings, conclusions=Conclusions())


@asynccontextmanager
async def _open(tab: Tab, snapshot: Snapshot) -> AsyncIterator[Node]:
    """Open the page of a node, whose snapshot may be replaced until the block ends."""
    node = Node(snapshot)
    async with serving(snapshot, node=node) as server:
        await tab.open(f"http://127.0.0.1:{server.port}/")
        yield node


async def test_an_incident_comes_and_goes_without_a_reload(tab: Tab) -> None:
    """The verdict, the cause and its path appear and clear on a page that stays open."""
    async with _open(tab, _healthy()) as node:
        assert "healthy" in await tab.evaluate(VERDICT)
        await tab.evaluate("window.same = true; document.querySelector('.gpu a').focus()")
        node.latest = broken_node()
        await tab.until(f"{VERDICT}.includes('critical')")
        assert "because the link of slot 6 went down" in await tab.evaluate(SENTENCE)
        root = "document.querySelector('.node.root').textContent"
        assert "root cause · pcie_link_down" in await tab.evaluate(root)
        effect = "document.querySelector('.node.root + ul .node').textContent"
        assert "gpu_lost" in await tab.evaluate(effect)
        node.latest = _healthy()
        await tab.until(f"{VERDICT}.includes('healthy')")
        assert await tab.evaluate("window.same")
        assert await tab.evaluate("document.querySelectorAll('.incident').length") == 0
    assert tab.complaints() == []


async def test_an_exporter_that_does_not_answer_is_shown_as_such(tab: Tab) -> None:
    """What was read before is greyed, the moment is named, and the title does not stay healthy."""
    async with _open(tab, _healthy()):
        assert await tab.evaluate("document.getElementById('offline').hidden")
    await tab.until("!document.getElementById('offline').hidden")
    said = await tab.evaluate("document.getElementById('offline').textContent")
    assert "does not answer since" in said
    assert await tab.evaluate("document.getElementById('live').textContent") == "no answer"
    shown = "getComputedStyle(document.querySelector('main')).filter"
    assert await tab.evaluate(shown) == "grayscale(1)"


async def test_a_restart_is_survived(tab: Tab, tmp_path: Path) -> None:
    """The page of an exporter that comes back is live again by itself."""
    port = free_port()
    server = {"server": {"port": port}}
    with Program(tmp_path / "first", server, port=port) as program:
        program.first_page()
        await tab.open(f"http://127.0.0.1:{port}/")
        await tab.evaluate("window.same = true")
        program.stop()
    await tab.until("document.body.classList.contains('lost')")
    with Program(tmp_path / "second", server, port=port) as program:
        program.first_page()
        await tab.until("!document.body.classList.contains('lost')")
        assert await tab.evaluate("document.getElementById('offline').hidden")
        assert await tab.evaluate("window.same")


async def test_hostile_names_stay_text_and_nothing_foreign_is_loaded(tab: Tab) -> None:
    """Names of cards, pods and kernel lines run nothing; only this exporter is asked."""
    async with _open(tab, _healthy()) as node:
        origin = await tab.evaluate("location.href")
        node.latest = broken_node()
        await tab.until(f"{VERDICT}.includes('critical')")
        assert HOSTILE in await tab.evaluate("document.querySelector('main').textContent")
        assert await tab.evaluate("document.scripts.length") == 1
        assert all(url.startswith(origin) for url in tab.urls())
    assert tab.complaints() == []


async def test_it_is_complete_without_a_script(tab: Tab) -> None:
    """Everything is in the page itself, and the browser reloads it now and then."""
    await tab.command("Emulation.setScriptExecutionDisabled", value=True)
    async with _open(tab, broken_node()):
        text = await tab.evaluate("document.body.innerText")
        assert "because the link of slot 6 went down" in text
        assert "read " in text
        assert await tab.evaluate("!!document.querySelector('meta[http-equiv=refresh]')")


@pytest.mark.parametrize("size", WIDTHS, ids=str)
async def test_it_fits_every_window(tab: Tab, size: tuple[int, int]) -> None:
    """Nothing has to be scrolled sideways, from a phone to a wall."""
    await tab.resize(*size)
    async with _open(tab, broken_node()):
        assert await tab.evaluate("document.documentElement.scrollWidth") <= size[0]


async def test_light_and_dark(tab: Tab) -> None:
    """Both are there, and text can be read on both: contrast of 4.5 and more."""
    async with _open(tab, broken_node()):
        for scheme in ("light", "dark"):
            await tab.prefer(scheme)
            assert await tab.evaluate(CONTRAST) >= 4.5, scheme


CONTRAST = """
(() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (node) => {
    for (let each = node; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll("main *, header *, footer *")].filter(
    (n) => [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim()));
  return Math.min(...texts.map((node) => {
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
})()
"""


async def test_the_keyboard_reaches_everything(tab: Tab) -> None:
    """The first stop skips to the content; every link can be reached and shows that it is."""
    async with _open(tab, broken_node()):
        links = await tab.evaluate("document.querySelectorAll('a[href]').length")
        seen = set()
        for stop in range(links):
            await tab.command("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab")
            active = "document.activeElement"
            if not stop:
                assert await tab.evaluate(f"{active}.textContent") == "Skip to content"
            outline = f"getComputedStyle({active}).outlineStyle"
            assert await tab.evaluate(outline) != "none"
            seen.add(await tab.evaluate(f"[...document.links].indexOf({active})"))
        assert seen == set(range(links))


async def test_a_screen_reader_is_told(tab: Tab) -> None:
    """The verdict is announced, pictures have words, tables captions, and headings an order."""
    async with _open(tab, broken_node()):
        nameless = (
            "[...document.querySelectorAll('svg')].filter((s) => "
            "!s.getAttribute('aria-label') && s.getAttribute('aria-hidden') !== 'true').length"
        )
        assert await tab.evaluate(nameless) == 0
        assert await tab.evaluate("document.querySelectorAll('[role=status]').length") == 1
        captions = "[...document.querySelectorAll('table')].every((t) => t.caption)"
        assert await tab.evaluate(captions)
        levels = await tab.evaluate(
            "[...document.querySelectorAll('h1,h2,h3')].map((h) => Number(h.tagName[1]))"
        )
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert await tab.evaluate("document.documentElement.lang") == "en"
