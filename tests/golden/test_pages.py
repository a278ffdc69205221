"""Whole pages of whole nodes, compared byte by byte; `make golden` rewrites them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.exposition.render import Format
from tests.fakes.promtool import listed_remarks, remarks
from tests.golden.node_under_test import STAT, TWO, NodeUnderTest, write_host
from tests.golden.openmetrics import PAGES, as_openmetrics

pytestmark = pytest.mark.system


async def cpu_only(node: NodeUnderTest) -> None:
    """A node without a GPU, at its second collection."""
    await node.collect()
    write_host(node.host, STAT[1])
    await node.collect(after_secs=15)


async def gpus_by_nvml(node: NodeUnderTest) -> None:
    """Two GPUs through NVML."""
    node.driver_is_loaded()
    await node.collect()


async def gpus_by_nvidia_smi(node: NodeUnderTest) -> None:
    """The same two where the library does not fit the driver."""
    node.driver_is_loaded()
    node.nvml_says("init = error 18")
    await node.collect()


async def one_gpu_lost(node: NodeUnderTest) -> None:
    """GPU 1 falls off the bus after the first collection."""
    await gpus_by_nvml(node)
    node.nvml_says("device.1.any = error 15")
    await node.collect(after_secs=15)


async def nothing_but_cache(node: NodeUnderTest) -> None:
    """Neither way answers any more."""
    await gpus_by_nvml(node)
    node.nvml_says("any = error 9")
    node.smi.say(TWO, "smi = exit 9")
    await node.collect(after_secs=15)


async def cache_expired(node: NodeUnderTest) -> None:
    """Neither way answers, and no collection happens while the cache runs out."""
    await nothing_but_cache(node)
    node.boottime += 285


async def driver_appears(node: NodeUnderTest) -> None:
    """The driver is loaded after the first collection."""
    await node.collect()
    node.driver_is_loaded()
    await asyncio.wait_for(node.woken.wait(), 10)
    await node.collect(after_secs=15)


async def driver_gone(node: NodeUnderTest) -> None:
    """The driver is unloaded after the first collection."""
    await gpus_by_nvml(node)
    node.woken.clear()
    node.marker.unlink()
    await asyncio.wait_for(node.woken.wait(), 10)
    await node.collect(after_secs=15)


SCENARIOS: tuple[Callable[[NodeUnderTest], Awaitable[None]], ...] = (
    cpu_only,
    gpus_by_nvml,
    gpus_by_nvidia_smi,
    one_gpu_lost,
    nothing_but_cache,
    cache_expired,
    driver_appears,
    driver_gone,
)
NAMES = [scenario.__name__ for scenario in SCENARIOS]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
async def test_the_whole_page_is_as_expected(
    scenario: Callable[[NodeUnderTest], Awaitable[None]],
    node: NodeUnderTest,
    is_as_expected: Callable[[str, str], None],
) -> None:
    """Every name, label, order, type and value, in both formats and in `/node`."""
    await scenario(node)
    document = json.loads(node.node_document())
    page = node.page(Format.TEXT)
    assert node.page(Format.OPENMETRICS, after_secs=0) == as_openmetrics(page)
    name = scenario.__name__
    is_as_expected(f"{name}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    is_as_expected(f"{name}.prom", page)


@pytest.mark.parametrize("name", NAMES)
def test_both_parsers_read_every_page(name: str) -> None:
    """prometheus_client's own parsers find the same samples in both formats."""
    text = list(parse_text((PAGES / f"{name}.prom").read_text("utf-8")))
    openmetrics = list(
        parse_openmetrics(as_openmetrics((PAGES / f"{name}.prom").read_text("utf-8")))
    )
    in_text, in_openmetrics = (
        {sample.name for family in page for sample in family.samples}
        for page in (text, openmetrics)
    )
    assert in_text == in_openmetrics
    assert all(name.startswith("hw_") for name in in_text)
    assert all(next(iter(sample.labels)) == "node" for family in text for sample in family.samples)


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.prom")), ids=lambda page: page.stem)
def test_the_page_lints_clean(page: Path) -> None:
    """`promtool check metrics` says nothing but about names that must stay."""
    assert remarks(page.read_bytes()) <= listed_remarks()
