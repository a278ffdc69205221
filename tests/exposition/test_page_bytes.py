"""The bytes of a page: packed and plain, now and a moment later, fresh and expired."""

import gzip
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.collectors.disk.values import MdArray, MdArrays
from exporter.collectors.everything import EVERYTHING
from exporter.collectors.memory.values import Memory
from exporter.exposition.family import MetricType, Sample, family, one
from exporter.exposition.page import LIVE_REUSE_SECS, Moment, Pages
from exporter.exposition.render import NO_BLOCKS, Format, render
from exporter.model.snapshot import MAX_AGE_SECS, Snapshot

TAKEN = 1000.0
MEMORY = Memory(total_bytes=100, available_bytes=60)
FORMS = list(Format)


@dataclass(slots=True)
class Clock:
    """Boot time, as a test sets it."""

    now: float = TAKEN

    def __call__(self) -> float:
        return self.now


LEVEL = family("hw_level_volts", "Voltage.", lambda _: ())


def _one(value: float, label: str, _: Snapshot) -> Iterable[Sample]:
    return one(value, label)


def _snapshot(sequence: int = 1, node: str = "node-1", taken: float = TAKEN) -> Snapshot:
    return Snapshot(
        node=node,
        sequence=sequence,
        taken_at=1.8e9,
        taken_boottime=taken,
        duration_secs=0.01,
        readings={Memory: MEMORY},
    )


def _pages(clock: Clock, requests: int = 0) -> Pages:
    return Pages(EVERYTHING, clock, lambda now: Moment(now, requests={("/metrics", 200): requests}))


def _body(pages: Pages, form: Format = Format.TEXT, *, gzipped: bool = False) -> str:
    body = pages.body(form, gzipped=gzipped)
    assert body is not None
    return (gzip.decompress(body) if gzipped else body).decode()


@pytest.mark.parametrize("form", FORMS)
def test_packed_is_plain_in_one_member(form: Format) -> None:
    """Gzip gives back the plain page, also when only the live lines were packed anew."""
    clock = Clock()
    pages = _pages(clock)
    pages.publish(_snapshot())
    for now in (TAKEN, TAKEN + 1, TAKEN + 20):
        clock.now = now
        assert _body(pages, form, gzipped=True) == _body(pages, form)


@pytest.mark.parametrize("node", ["", "n", "ünï/©ode", "x" * 256, 'a"b\\c'])
def test_both_parsers_agree(node: str) -> None:
    """prometheus_client's parsers read both formats and find the same values."""
    pages = _pages(Clock(), requests=7)
    pages.publish(_snapshot(node=node))
    text = {
        sample.name: sample.value
        for family in parse_text(_body(pages))
        for sample in family.samples
    }
    openmetrics = {
        sample.name: sample.value
        for family in parse_openmetrics(_body(pages, Format.OPENMETRICS))
        for sample in family.samples
    }
    assert text == openmetrics
    assert text["hw_memory_used_bytes"] == 40


def test_scrapes_at_the_same_moment_get_the_same_bytes() -> None:
    """Within a tenth of a second the page is not made again."""
    clock = Clock()
    pages = _pages(clock)
    pages.publish(_snapshot())
    first = pages.body(Format.TEXT, gzipped=True)
    clock.now += LIVE_REUSE_SECS * 0.9
    assert pages.body(Format.TEXT, gzipped=True) is first
    clock.now = TAKEN + LIVE_REUSE_SECS
    assert pages.body(Format.TEXT, gzipped=True) != first


def test_a_new_snapshot_is_shown_at_once() -> None:
    """Also within the tenth of a second in which the old page would have been given again."""
    clock = Clock()
    pages = _pages(clock)
    pages.publish(_snapshot(sequence=1))
    before = _body(pages)
    clock.now += 0.01
    pages.publish(_snapshot(sequence=2, node="node-2"))
    assert 'node="node-1"' in before
    assert 'node="node-1"' not in _body(pages)
    assert 'node="node-1"' not in _body(pages, gzipped=True)


@pytest.mark.parametrize("gzipped", [False, True])
def test_what_has_expired_leaves_at_its_second(gzipped: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """With a collector that has died, values go at their age limit without any collection."""
    clock = Clock()
    pages = _pages(clock)
    pages.publish(_snapshot())
    clock.now = TAKEN + MAX_AGE_SECS - 0.01
    assert "hw_memory_total_bytes" in _body(pages, gzipped=gzipped)
    clock.now = TAKEN + MAX_AGE_SECS
    page = _body(pages, gzipped=gzipped)
    assert "hw_memory_total_bytes" not in page
    assert 'hw_exporter_snapshot_age_seconds{node="node-1"} 300\n' in page
    clock.now = TAKEN + 2 * MAX_AGE_SECS
    assert 'hw_exporter_snapshot_age_seconds{node="node-1"} 600\n' in _body(pages, gzipped=gzipped)


def test_a_dropped_series_is_counted_once_for_each_snapshot() -> None:
    """However many formats are asked for, and however often."""
    clock = Clock()
    pages = _pages(clock)
    twice = MdArrays((MdArray("md0", "active", missing_disks=0),) * 2)
    dropped = 'hw_exporter_dropped_series_total{node="node-1",family="hw_md_degraded"}'
    for sequence in (1, 2):
        pages.publish(replace(_snapshot(sequence), readings={MdArrays: twice}))
        for form in FORMS:
            clock.now += 1
            for gzipped in (False, True):
                assert f"{dropped} {sequence}\n" in _body(pages, form, gzipped=gzipped)


def test_warming_changes_nothing_that_is_seen() -> None:
    """What is made ahead is what would have been made when asked."""
    clock = Clock()
    warm, cold = _pages(clock), _pages(clock)
    for pages in (warm, cold):
        pages.publish(_snapshot())
        for gzipped in (False, True):
            pages.body(Format.TEXT, gzipped=gzipped)
        pages.publish(_snapshot(sequence=2))
    warm.warm()
    assert warm._packed.keys() == {Format.TEXT}, "the long work was left to the next scrape"
    for gzipped in (False, True):
        assert _body(warm, gzipped=gzipped) == _body(cold, gzipped=gzipped)


def test_warming_before_anything_was_asked() -> None:
    """Nothing is made for nobody."""
    pages = _pages(Clock())
    pages.warm()
    pages.publish(_snapshot())
    pages.warm()
    assert _body(pages)


def test_lines_of_the_last_page_are_never_those_of_another_number_or_label() -> None:
    """A page after another page has the bytes that it has without one."""
    steps = [("a", "x", 1.0), ("a", "x", 2.0), ("b", "x", 2.0), ("b", 'x"', 2.0), ("b", 'x"', 0.5)]
    known = NO_BLOCKS
    for number, (name, label, value) in enumerate([*steps, *steps]):
        found = replace(LEVEL, labels=(name,), samples=partial(_one, value, label))
        snapshot = _snapshot(node=f"n{number // 3}")
        after = render([found], snapshot, Format.TEXT, known)
        assert after.body == render([found], snapshot, Format.TEXT).body
        known = after.blocks


@pytest.mark.parametrize("changed", [{"help": "Other."}, {"type": MetricType.COUNTER}])
def test_a_heading_of_the_last_page_is_never_that_of_another_help_or_type(
    changed: dict[str, Any],
) -> None:
    """The families of an external probe may change while their samples do not."""
    found = replace(LEVEL, labels=("a",), samples=partial(_one, 1.0, "x"))
    known = render([found], _snapshot(), Format.TEXT).blocks
    other = replace(found, **changed)
    after = render([other], _snapshot(), Format.TEXT, known)
    assert after.body == render([other], _snapshot(), Format.TEXT).body
