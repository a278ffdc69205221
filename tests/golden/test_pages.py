"""Whole pages of whole nodes, compared byte by byte; `make golden` rewrites them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.exposition.render import Format
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.promtool import listed_remarks, remarks
from tests.fakes.smi_program import NvidiaSmi
from tests.golden.node_under_test import STAT, NodeUnderTest, write_host
from tests.golden.openmetrics import PAGES, as_openmetrics

pytestmark = pytest.mark.system

CAPTURE = "h100x8.scenario"
TWO = "count = 2"


class Stage:
    """A node with the fakes behind it."""

    def __init__(self, node: NodeUnderTest, nvml: NvmlLibrary, smi: NvidiaSmi) -> None:
        self.node = node
        self.nvml = nvml
        self.smi = smi

    def driver_is_loaded(self) -> None:
        """Two cards answer, to NVML and to nvidia-smi."""
        self.nvml.say(TWO, capture=CAPTURE)
        self.smi.say(TWO, capture=CAPTURE)
        self.node.marker.touch()

    def nvml_says(self, *lines: str) -> None:
        """The same cards, but for these lines."""
        self.nvml.say(TWO, *lines, capture=CAPTURE)


@pytest.fixture
async def stage(tmp_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi) -> AsyncIterator[Stage]:
    """A node without a driver yet."""
    node = NodeUnderTest(tmp_path, nvml, nvidia_smi)
    yield Stage(node, nvml, nvidia_smi)
    await node.close()


async def cpu_only(stage: Stage) -> None:
    """A node without a GPU, at its second collection."""
    await stage.node.collect()
    write_host(stage.node.host, STAT[1])
    await stage.node.collect(after_secs=15)


async def gpus_by_nvml(stage: Stage) -> None:
    """Two GPUs through NVML."""
    stage.driver_is_loaded()
    await stage.node.collect()


async def gpus_by_nvidia_smi(stage: Stage) -> None:
    """The same two where the library does not fit the driver."""
    stage.driver_is_loaded()
    stage.nvml_says("init = error 18")
    await stage.node.collect()


async def one_gpu_lost(stage: Stage) -> None:
    """GPU 1 falls off the bus after the first collection."""
    await gpus_by_nvml(stage)
    stage.nvml_says("device.1.any = error 15")
    await stage.node.collect(after_secs=15)


async def nothing_but_cache(stage: Stage) -> None:
    """Neither way answers any more."""
    await gpus_by_nvml(stage)
    stage.nvml_says("any = error 9")
    stage.smi.say(TWO, "smi = exit 9")
    await stage.node.collect(after_secs=15)


async def cache_expired(stage: Stage) -> None:
    """Neither way answers, and no collection happens while the cache runs out."""
    await nothing_but_cache(stage)
    stage.node.boottime += 285


async def driver_appears(stage: Stage) -> None:
    """The driver is loaded after the first collection."""
    await stage.node.collect()
    stage.driver_is_loaded()
    await asyncio.wait_for(stage.node.woken.wait(), 10)
    await stage.node.collect(after_secs=15)


async def driver_gone(stage: Stage) -> None:
    """The driver is unloaded after the first collection."""
    await gpus_by_nvml(stage)
    stage.node.woken.clear()
    stage.node.marker.unlink()
    await asyncio.wait_for(stage.node.woken.wait(), 10)
    await stage.node.collect(after_secs=15)


SCENARIOS: tuple[Callable[[Stage], Awaitable[None]], ...] = (
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
    scenario: Callable[[Stage], Awaitable[None]],
    stage: Stage,
    is_as_expected: Callable[[str, str], None],
) -> None:
    """Every name, label, order, type and value, in both formats and in `/node`."""
    await scenario(stage)
    document = json.loads(stage.node.node_document())
    page = stage.node.page(Format.TEXT)
    assert stage.node.page(Format.OPENMETRICS, after_secs=0) == as_openmetrics(page)
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
