"""External probes: what they say of a component is for the rules about it."""

import math
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from exporter.collectors.disk.values import Disk, Disks
from exporter.collectors.everything import KINDS, VOCABULARY
from exporter.collectors.external_probes.values import (
    ExternalProbes,
    ProbeMetric,
    ProbeState,
    ProbeValue,
)
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.network.values import Interface, Network
from exporter.exposition.family import Histogram
from exporter.faults.engine import RuleEngine
from exporter.faults.rules.loader import RuleBook, load_rules
from exporter.model.event import Event, EventType
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from tests.faults.scenes import rule

CARD = Gpu(index=0, uuid="GPU-a", name="H100", pci_bus_id="00000000:3B:00.0")
READINGS: tuple[object, ...] = (
    Gpus(GpuBackend("nvml", "ok"), (GpuState(CARD, 100.0),)),
    Network("host", (Interface("eth0"),)),
    Disks((Disk("sda"),)),
)


def event(about: str, text: str, pid: int | None = None, **fields: str) -> Event:
    """One line of a probe whose value is a text."""
    more = MappingProxyType(fields)
    return Event(
        *(0.0, 100.0, EventType.ERROR_NET, text, "probe", about, "probe:npu"), more, pid, text
    )


def concluded(book: RuleBook, *events: Event, probe: ProbeState | None = None) -> Conclusions:
    """What follows from one look with these lines of a probe."""
    said = ExternalProbes((probe,) if probe else (), events, len(events))
    readings = {type(each): each for each in (*READINGS, said)}
    engine = RuleEngine(book, KINDS, lambda: 0.0, "")
    return engine.conclude(Snapshot("n", 1, 0.0, 100.0, 0.1, readings=readings))


def book(folder: Path, *rules: str) -> RuleBook:
    """Rules of an operator."""
    path = folder / "rules.toml"
    path.write_text("".join(rules), "utf-8")
    return load_rules([path], VOCABULARY)


def found(conclusions: Conclusions) -> set[tuple[str, str]]:
    """Each active fault and what it is about."""
    return {(fault.rule, fault.subject.hw_id) for fault in conclusions.active}


@pytest.mark.parametrize(
    ("about", "kind", "hw_id"),
    [
        ("gpu-00", "gpu", "GPU-a"),
        ("gpu0", "gpu", "GPU-a"),
        ("GPU 0", "gpu", "GPU-a"),
        ("gpu-A", "gpu", "GPU-a"),
        ("0000:3b:00.0", "gpu", "GPU-a"),
        ("eth0", "nic", "eth0"),
        ("sda", "disk", "sda"),
        ("npu-3", "external", "npu-3"),
    ],
)
def test_an_event_is_about_the_component_it_names(
    tmp_path: Path, about: str, kind: str, hw_id: str
) -> None:
    """By index, name, UUID, address or device; what nothing is known by becomes a component."""
    text = rule("flaps", kind, "events(probe, text='link flap', within=5m) > 0")
    typed = rule("nets", kind, "events(error.net, probe=npu, within=5m) > 0")
    conclusions = concluded(book(tmp_path, text, typed), event(about, "link flap"))
    assert found(conclusions) == {("flaps", hw_id), ("nets", hw_id)}
    assert dict(conclusions.events)["error.net"] == 1


def test_what_a_probe_prints_is_no_line_of_the_kernel(tmp_path: Path) -> None:
    """A text that reads like a kind of kernel event makes no such event."""
    rules = book(tmp_path, rule("lost", "gpu", "events(gpu_lost, within=5m) > 0"))
    assert not found(concluded(rules, event("gpu-00", "gpu_lost")))


def test_numbers_and_metrics_are_fields(tmp_path: Path) -> None:
    """Of the component that is named, by a label as well; else of a component of their own."""
    probe = ProbeState(
        *("npu", True, 0, ()),
        values=(ProbeValue("transport.bw", "eth0", 12.5), ProbeValue("compute.util", "npu-3", 99)),
        metrics=(
            ProbeMetric("hw_fan_rpm", "gauge", "", (("gpu", "gpu-00"),), 120.0),
            ProbeMetric("hw_npu_celsius", "gauge", "", (("npu", "7"),), 95.0),
            ProbeMetric(
                *("hw_io_seconds", "histogram", "", (("disk", "sdz"),)),
                Histogram(((1.0, 3), (math.inf, 4)), 8.0),
            ),
        ),
    )
    rules = book(
        tmp_path,
        rule("slow", "nic", "probe_value['transport.bw'] < 20"),
        rule("busy", "external", "probe_value['compute.util'] > 90"),
        rule("fan", "gpu", "probe_metric[hw_fan_rpm] < 200 and index == 0"),
        rule("hot", "external", "probe_metric[hw_npu_celsius] > 90"),
        rule(
            *("long", "external"),
            "probe_metric[hw_io_seconds_sum] / probe_metric[hw_io_seconds_count] >= 2",
        ),
    )
    assert found(concluded(rules, probe=probe)) == {
        ("slow", "eth0"),
        ("busy", "npu-3"),
        ("fan", "GPU-a"),
        ("hot", "7"),
        ("long", "sdz"),
    }


def test_a_process_and_a_job_are_linked_with_the_component(tmp_path: Path) -> None:
    """Who is named beside a component is affected by its faults."""
    rules = book(tmp_path, rule("flaps", "nic", "events(probe, within=5m) > 0"))
    told = event("eth0", "flap", 4242, job="ml/train")
    (fault,) = concluded(rules, told).active
    assert {each.key for each in fault.affected} == {
        ("process", "4242"),
        ("workload", "ml/train"),
    }
    (fault,) = concluded(rules, event("eth0", "flap", job="ml/train")).active
    assert [each.key for each in fault.affected] == [("workload", "ml/train")]


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("events(probe, colour=red, within=5m) > 0", "no event of a probe has colour"),
        ("1 > 2", "always the same"),
        ("heat > 2", "no field heat"),
        ("probe_value > 2", "one value per label"),
    ],
)
def test_what_can_never_hold_is_refused(tmp_path: Path, when: str, words: str) -> None:
    """A rule that would wait in silence for ever is a mistake; `false` switches a rule off."""
    (mistake,) = book(tmp_path, rule("never", "external", when)).mistakes
    assert words in str(mistake)
    assert not book(tmp_path, rule("off", "external", "false")).mistakes


def test_a_probe_that_has_metrics_only_is_taken(tmp_path: Path) -> None:
    """Values and metrics are not needed both; without a label the probe itself is meant."""
    bare = ProbeMetric("hw_npu_celsius", "gauge", "", (), 95.0)
    rules = book(tmp_path, rule("hot", "external", "probe_metric[hw_npu_celsius] > 90"))
    probe = ProbeState("npu", up=True, metrics=(bare,))
    assert found(concluded(rules, probe=probe)) == {("hot", "npu")}
    value = ProbeState("npu", up=True, values=(ProbeValue("heat", "npu-1", 95.0),))
    rules = book(tmp_path, rule("hot", "external", "probe_value[heat] > 90"))
    assert found(concluded(rules, probe=value)) == {("hot", "npu-1")}


def test_who_is_not_named_is_not_affected(tmp_path: Path) -> None:
    """An event without a process and a job links nobody, and events of others stay theirs."""
    rules = book(
        tmp_path,
        rule("flaps", "nic", "events(probe, within=5m) > 0"),
        rule("lost", "gpu", "events(gpu_lost, within=5m) > 0"),
    )
    lost = replace(event("eth0", "gpu_lost"), entity_type="gpu", entity_id="GPU-a")
    said = concluded(rules, event("eth0", "flap"), lost)
    assert found(said) == {("flaps", "eth0"), ("lost", "GPU-a")}
    assert [fault.affected for fault in said.active] == [(), ()]
    assert dict(said.edges)["consumes"] == 0
