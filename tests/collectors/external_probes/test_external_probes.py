"""External probes as real programs; test_stream.py tells all that they may do."""

import asyncio
import json
import stat
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors.everything import families_of
from exporter.collectors.external_probes.pace import MAX_READ_LINES
from exporter.collectors.external_probes.source import ExternalProbesSource
from exporter.collectors.external_probes.values import ExternalProbes, ProbeMetric, ProbeState
from exporter.config import Config, ProbeCommand
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot
from exporter.probes.child import READ_CHUNK_BYTES, Children
from tests.fakes.source_context import source_context

pytestmark = pytest.mark.system

GOOD = json.dumps({"metric": "hw_npu_temperature_celsius", "labels": {"npu": "0"}, "value": 61})
PLAIN = json.dumps({"event_type": "transport.bw", "entity_id": "eth0", "value": "12", "ts": 1})
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


async def test_an_event_wakes_the_collector(stage: Stage) -> None:
    """It is evidence, and is there to be read at once."""
    stage.start(f"echo '{EVENT}'; sleep 1000")
    reading = await stage.until(lambda p: p.up)
    assert (reading.event_count, stage.wakes) == (1, 1)
    assert reading.events[0].raw == "broken"


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


async def test_an_interval_probe_that_hangs_is_ended_at_its_deadline(stage: Stage) -> None:
    """It does not pile up; what it said is kept for its interval."""
    stage.start(f"echo '{GOOD}'; sleep 1000", mode="interval", deadline="500ms")
    (probe,) = (await stage.until(lambda p: p.restarts >= 1)).probes
    assert probe.up
    assert probe.expires == 1000.0 + 3600 + 0.5


def test_named_metrics_get_families_of_their_own() -> None:
    """With help and type on the page; a second probe cannot change what a name means."""
    labels = ((("npu", "0"),), (("x", "1"),))
    probes = tuple(
        ProbeState(
            *(f"p{n}", True),
            metrics=(ProbeMetric("hw_npu_temperature_celsius", "gauge", "", each, 61.0),),
        )
        for n, each in enumerate(labels)
    )
    readings: dict[type, object] = {ExternalProbes: ExternalProbes(probes)}
    snapshot = Snapshot("n", 1, 0.0, 1000.0, 0.0, readings)
    page = render(families_of(snapshot), snapshot, Format.TEXT).body.decode()
    assert (
        "# HELP hw_npu_temperature_celsius Measured by an external probe.\n"
        "# TYPE hw_npu_temperature_celsius gauge\n"
        'hw_npu_temperature_celsius{node="n",npu="0"} 61\n'
    ) in page
    assert 'x="1"' not in page
    assert 'hw_exporter_probe_up{node="n",probe="p1"} 1\n' in page
