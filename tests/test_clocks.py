"""Clocks that step and machines that sleep: ages and limits follow the time that really passed."""

import asyncio
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.collectors.cpu.usage import CpuTimes, usage_percent
from exporter.collectors.everything import EVERYTHING
from exporter.collectors.gpu.backend import GpuAnswer
from exporter.collectors.gpu.cache import GpuCache
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.gpu.xids.nvml_events import GpuEvents
from exporter.collectors.kernel_log.values import KernelLog
from exporter.config import Config, Faults, GpuConfig, Sources
from exporter.exposition.page import Moment, Pages
from exporter.exposition.render import Format
from exporter.loop import Clocks, CollectionLoop
from exporter.model.reading import Reading
from exporter.model.snapshot import MAX_AGE_SECS, Snapshot
from exporter.rule_runner import RuleRunner
from tests.fakes.source_context import call_now
from tests.fakes.virtual_time import in_virtual_time
from tests.faults.scenes import event
from tests.loaded_once import EVERYTHING_ONCE
from tests.program import value_of

EPOCH = 1.7e9
HOUR = 3600.0
BOOT = 5000.0


class KernelThatSpoke:
    """A source: the kernel told of one error, `ago` seconds before the start."""

    name = "kernel_log"
    deadline_secs = 2.0

    def __init__(self, ago: float) -> None:
        oops = replace(event("kernel_oops", BOOT - ago, ("node", "")), number=1)
        self._log = KernelLog("kmsg", "ok", 1, 0, 0, events=(oops,))

    async def read(self) -> Reading[object]:
        return Reading(self._log)

    async def close(self) -> None:
        """Nothing is held."""


def _steps(seconds: int) -> dict[str, list[float]]:
    """What the wall clock says at each second, for every kind of clock that steps."""
    right = [EPOCH + second for second in range(seconds)]
    return {
        "forward": [at + (HOUR if at - EPOCH > 5 else 0) for at in right],
        "back": [at - (HOUR if at - EPOCH > 5 else 0) for at in right],
        "1970": [at - (EPOCH if at - EPOCH > 5 else 0) for at in right],
        "every second": [at + (-1) ** index * index * 60 for index, at in enumerate(right)],
        "2106": [at + 2.6e9 for at in right],
    }


@pytest.mark.parametrize("how", _steps(1))
@in_virtual_time
async def test_a_wall_clock_that_steps_changes_no_age(how: str) -> None:
    """Nothing expires early or late, no age is negative, and an event stays as old as it is."""
    wall = _steps(40)[how]
    pages_seen: list[str] = []
    judging = RuleRunner(
        Config(faults=Faults(), sources=Sources(proc_root="/nowhere")),
        EVERYTHING_ONCE,
        call_now,
        lambda: 0.0,
    )
    loop = asyncio.get_running_loop()

    def boottime() -> float:
        return BOOT + loop.time()

    pages = Pages(EVERYTHING, boottime, Moment)
    collector = CollectionLoop(
        "n",
        [KernelThatSpoke(ago=60)],
        interval_secs=5,
        clocks=Clocks(lambda: wall[int(loop.time())], boottime),
        publish=pages.publish,
        conclude=judging.conclude,
    )
    running = asyncio.ensure_future(collector.run())
    for second in range(1, 38):
        await asyncio.sleep(second + 0.5 - loop.time())
        body = pages.body(Format.TEXT, gzipped=False)
        assert body is not None
        pages_seen.append(body.decode())
    running.cancel()
    ages = [value_of(page, "hw_exporter_snapshot_age_seconds") for page in pages_seen]
    assert all(age is not None and 0 <= age < 5.2 for age in ages)
    for page in pages_seen:
        assert value_of(page, 'hw_fault_active{node="n",fault="kernel_oops"') == 1
        assert list(parse_text(page))


@pytest.mark.parametrize("asleep_secs", [30.0, 299.0, 600.0])
def test_time_asleep_counts(asleep_secs: float) -> None:
    """After a machine slept, what was read before is as old as it is, or gone."""
    now = BOOT
    cache = GpuCache(GpuConfig(), vendor="nvidia")
    cache.take(GpuAnswer((Gpu(0, "GPU-0", "H", temperature_celsius=40),)), now)
    pages = Pages(EVERYTHING, lambda: now, Moment)
    pages.publish(Snapshot("n", 1, EPOCH, BOOT, 0.0, readings={KernelLog: KernelThatSpoke(1)._log}))
    now += asleep_secs
    page = (pages.body(Format.TEXT, gzipped=False) or b"").decode()
    assert value_of(page, "hw_exporter_snapshot_age_seconds") == asleep_secs
    assert ("hw_kernel_log_records_total{" in page) is (asleep_secs < MAX_AGE_SECS)
    (state,) = cache.states(now)
    assert (state.gpu.temperature_celsius is not None) is (asleep_secs < 300)


def test_the_use_over_a_pause_is_of_the_ticks_that_were_counted() -> None:
    """Processors that slept did not count: their use is a share of ticks, not of a clock."""
    before = CpuTimes(100, 1000, 4, (), {})
    assert usage_percent(before, CpuTimes(150, 1100, 4, (), {})) == 50
    assert usage_percent(before, before) is None


def test_an_xid_under_a_wrong_clock_is_as_old_as_it_is() -> None:
    """The moment by the wall clock is what that clock said; its age is by the time since boot."""
    events = GpuEvents(wall=lambda: -5.0, boottime=lambda: BOOT)
    events.take({"event": "xid", "xid": 79, "uuid": "GPU-0"})
    (said,) = events.events
    assert (said.at, said.boottime) == (-5.0, BOOT)
