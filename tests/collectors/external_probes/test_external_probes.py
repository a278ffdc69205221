"""External probes as real programs, good and bad."""

import asyncio
import json
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from exporter.collectors.everything import families_of
from exporter.collectors.external_probes.pace import MAX_READ_LINES
from exporter.collectors.external_probes.source import ExternalProbesSource
from exporter.config import Config, ProbeCommand
from exporter.exposition.render import Format, render
from exporter.model.probe import ExternalProbes, ProbeState
from exporter.model.snapshot import Snapshot
from exporter.probes.child import READ_CHUNK_BYTES, Children
from tests.fakes.source_context import source_context

pytestmark = pytest.mark.system

GOOD = json.dumps({"metric": "hw_npu_temperature_celsius", "labels": {"npu": "0"}, "value": 61})
PYTHON = f"""{sys.executable} -c 'import sys; exec(sys.argv[1])'"""
PLAIN = json.dumps({"event_type": "transport.bw", "entity_id": "eth0", "value": "12", "ts": 1})
NUMBERED = json.dumps({"metric": "hw_npu_clock_hertz", "labels": {"n": "%d"}, "value": 1})
EVENT = json.dumps({"event_type": "error.hw", "entity_id": "eth0", "value": "broken", "ts": 1})


class Stage:
    """External probes with the scripts of a test; `boottime` stands still unless moved."""

    def __init__(self, folder: Path) -> None:
        self.boottime = 1000.0
        self.wakes = 0
        self.children = Children()
        self._folder = folder
        self.source: ExternalProbesSource | None = None

    def start(self, *scripts: str, mode: str = "stream", deadline: str = "10s") -> None:
        probes = tuple(
            ProbeCommand(f"p{n}", (self._script(n, text),), mode, every="1h", deadline=deadline)
            for n, text in enumerate(scripts)
        )
        self.source = ExternalProbesSource(
            source_context(
                replace(Config(), probes=probes),
                children=self.children,
                child_environment={"PATH": "/usr/bin:/bin"},
                boottime=self._now,
                wake=self._on_wake,
            )
        )

    async def until(self, is_so: Callable[[ProbeState], bool]) -> ExternalProbes:
        """What is read when the first probe is as wanted; fails after a while."""
        for _ in range(1000):
            reading = await self.read()
            if is_so(reading.probes[0]):
                return reading
            await asyncio.sleep(0.01)
        raise AssertionError(f"it never came to that: {reading}")

    async def read(self) -> ExternalProbes:
        assert self.source is not None
        value = (await self.source.read()).value
        assert isinstance(value, ExternalProbes)
        return value

    def _script(self, number: int, text: str) -> str:
        path = self._folder / f"probe{number}.sh"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def _now(self) -> float:
        return self.boottime

    def _on_wake(self, _source: str) -> None:
        self.wakes += 1


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """No probe yet."""
    stage = Stage(tmp_path)
    yield stage
    if stage.source is not None:
        await stage.source.close()
    await stage.children.end_all()


async def test_a_probe_is_heard(stage: Stage) -> None:
    """Its numbers and names are read while it runs."""
    stage.start(f"echo '{GOOD}'; echo '{PLAIN}'; sleep 1000")
    (probe,) = (await stage.until(lambda p: len(p.values) + len(p.metrics) == 2)).probes
    assert (probe.up, probe.restarts, probe.lines) == (True, 0, (("good", 2.0),))
    assert (probe.values[0].entity, probe.values[0].value) == ("eth0", 12.0)
    assert (probe.metrics[0].name, probe.metrics[0].value) == ("hw_npu_temperature_celsius", 61.0)


async def test_what_a_silent_probe_said_is_gone_at_its_deadline(stage: Stage) -> None:
    """Old numbers are not shown as new, and the probe is down."""
    stage.start(f"echo '{GOOD}'; sleep 1000", deadline="10s")
    fresh = await stage.until(lambda p: p.up)
    assert fresh.next_expiry() == 1010.0
    assert fresh.at(1009.9).probes[0].metrics
    assert (fresh.at(1010.0).probes[0].up, fresh.at(1010.0).probes[0].metrics) == (False, ())
    stage.boottime = 1010.0
    assert not (await stage.read()).probes[0].up


async def test_bad_lines_cost_themselves(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """They are counted, one is logged as an example, and the good ones among them are kept."""
    stage.start(f"echo nonsense; echo '{{}}'; echo '{GOOD}'; sleep 1000")
    (probe,) = (await stage.until(lambda p: p.up)).probes
    assert dict(probe.lines) == {"bad": 2.0, "good": 1.0}
    assert ["nonsense" in record.message for record in caplog.records] == [True]


async def test_an_event_wakes_the_collector(stage: Stage) -> None:
    """It is evidence, and is there to be read at once."""
    stage.start(f"echo '{EVENT}'; sleep 1000")
    reading = await stage.until(lambda p: p.up)
    assert (reading.event_count, stage.wakes) == (1, 1)
    assert reading.events[0].raw == "broken"


async def test_a_probe_that_ends_is_started_again(stage: Stage) -> None:
    """With back-off, and counted; its neighbour does not notice."""
    stage.start("exit 1", f"echo '{GOOD}'; sleep 1000")
    reading = await stage.until(lambda p: p.restarts >= 1)
    assert not reading.probes[0].up
    assert (await stage.until(lambda _: True)).probes[1].restarts == 0


async def test_a_flood_is_dropped_and_counted(stage: Stage) -> None:
    """A probe that prints without end costs bounded memory and series."""
    stage.start(
        "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); "
        'echo "{\\"event_type\\": \\"transport.bw\\", \\"entity_id\\": \\"e$i\\", '
        '\\"value\\": \\"1\\", \\"ts\\": 1}"; done; sleep 1000'
    )
    (probe,) = (await stage.until(lambda p: sum(n for _, n in p.lines) == 3000)).probes
    assert len(probe.values) == 1000
    assert dict(probe.lines) == {"dropped": 2000.0, "good": 1000.0}


async def test_a_million_labels_are_a_thousand_series(stage: Stage) -> None:
    """What is new is dropped and counted, what is known is kept up to date."""
    stage.start(
        f"{PYTHON} 'for n in range(20000): print(sys.argv[2] % n)' '{NUMBERED}'; sleep 1000"
    )
    (probe,) = (await stage.until(lambda p: len(p.metrics) == 1000)).probes
    assert dict(probe.lines)["good"] == 1000.0
    stage.boottime += 1
    await stage.until(lambda p: dict(p.lines).get("dropped", 0.0) > 0)
    assert len((await stage.read()).probes[0].metrics) == 1000


async def test_a_flood_waits_at_its_full_pipe(stage: Stage) -> None:
    """Within one second only so much is read: the flood costs the probe, not the exporter."""
    stage.start("yes '{}'", "yes x >&2", f"echo '{GOOD}'; sleep 1000")
    await stage.until(lambda p: sum(n for _, n in p.lines) > MAX_READ_LINES)
    began = time.thread_time()
    await asyncio.sleep(0.3)
    assert time.thread_time() - began < 0.15
    flood, _, good = (await stage.read()).probes
    assert sum(n for _, n in flood.lines) <= MAX_READ_LINES + READ_CHUNK_BYTES
    assert good.up


async def test_what_an_earlier_run_reported_is_not_made_fresh(stage: Stage) -> None:
    """A probe that was started again has only what it has reported since."""
    once = stage._folder / "once"
    stage.start(
        f"if [ -e {once} ]; then echo '{PLAIN}'; sleep 1000; fi; touch {once}; echo '{GOOD}'"
    )
    (probe,) = (await stage.until(lambda p: bool(p.metrics))).probes
    assert not probe.values
    (probe,) = (await stage.until(lambda p: bool(p.values))).probes
    assert (probe.restarts, probe.metrics) == (1, ())


async def test_an_interval_probe_is_shown_when_it_has_ended(stage: Stage) -> None:
    """Whole: a page never has half of a run, and nothing of an earlier one."""
    go = stage._folder / "go"
    stage.start(
        f"echo '{GOOD}'; while ! [ -e {go} ]; do sleep 0.01; done; echo '{PLAIN}'", mode="interval"
    )
    (probe,) = (await stage.until(lambda p: p.up)).probes
    assert (probe.metrics, probe.values) == ((), ())
    go.touch()
    (probe,) = (await stage.until(lambda p: bool(p.metrics))).probes
    assert len(probe.values) == 1


async def test_a_probe_can_take_a_metric_back(stage: Stage) -> None:
    """What it does not measure any more is gone, and others have its place."""
    gone = json.dumps({**json.loads(GOOD), "value": None})
    stage.start(f"echo '{GOOD}'; echo '{gone}'; echo '{gone}'; echo '{PLAIN}'; sleep 1000")
    (probe,) = (await stage.until(lambda p: bool(p.values))).probes
    assert (probe.metrics, dict(probe.lines)) == ((), {"good": 4.0})


async def test_a_line_without_end_ends_the_probe(stage: Stage) -> None:
    """More than 64 KiB without a newline cannot be a line."""
    stage.start("yes x | tr -d '\\n'")
    (probe,) = (await stage.until(lambda p: p.restarts >= 1)).probes
    assert dict(probe.lines)["bad"] >= 1


async def test_an_interval_probe_that_hangs_is_ended_at_its_deadline(stage: Stage) -> None:
    """It does not pile up; what it said is kept for its interval."""
    stage.start(f"echo '{GOOD}'; sleep 1000", mode="interval", deadline="500ms")
    (probe,) = (await stage.until(lambda p: p.restarts >= 1)).probes
    assert probe.up
    assert probe.expires == 1000.0 + 3600 + 0.5


async def test_a_program_that_is_not_there_is_a_probe_that_is_down(stage: Stage) -> None:
    """The others run; it is tried again later."""
    stage.start("exit 0")
    (stage._folder / "probe0.sh").unlink()
    (probe,) = (await stage.until(lambda p: p.restarts >= 1)).probes
    assert not probe.up


async def test_named_metrics_get_families_of_their_own(stage: Stage) -> None:
    """With help and type on the page; a second probe cannot change what a name means."""
    other = json.dumps({"metric": "hw_npu_temperature_celsius", "labels": {"x": "1"}, "value": 5})
    stage.start(f"echo '{GOOD}'; sleep 1000", f"echo '{other}'; sleep 1000")
    await stage.until(lambda p: p.up)
    reading = await stage.read()
    while not reading.probes[1].up:
        await asyncio.sleep(0.01)
        reading = await stage.read()
    snapshot = Snapshot("n", 1, 0.0, 1000.0, 0.0, MappingProxyType({ExternalProbes: reading}))
    page = render(families_of(snapshot), snapshot, Format.TEXT).body.decode()
    assert (
        "# HELP hw_npu_temperature_celsius Measured by an external probe.\n"
        "# TYPE hw_npu_temperature_celsius gauge\n"
        'hw_npu_temperature_celsius{node="n",npu="0"} 61\n'
    ) in page
    assert 'x="1"' not in page
    assert 'hw_exporter_probe_up{node="n",probe="p1"} 1\n' in page
