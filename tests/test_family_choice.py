"""The choice of metric families by name, from the configuration to the page."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import pytest

from exporter.collectors import chosen
from exporter.collectors.demo.script import INCIDENTS
from exporter.collectors.everything import EVERYTHING, NAMES, rule_book
from exporter.collectors.memory.values import Memory
from exporter.config import Config
from exporter.config.file import ConfigError, Layer, load
from exporter.exposition.page import Moment, Pages
from exporter.exposition.render import Format
from exporter.family_choice import choice_of, unmatched
from exporter.model.snapshot import Snapshot
from tests.collectors.whole_node import look_around
from tests.fakes.host_tree import gpu_node
from tests.fakes.virtual_node import demo_node

SNAPSHOT = Snapshot(
    node="node-1",
    sequence=1,
    taken_at=1.8e9,
    taken_boottime=1000.0,
    duration_secs=0.01,
    readings={Memory: Memory(total_bytes=100, available_bytes=60)},
)
MEMORY = {"hw_memory_total_bytes", "hw_memory_available_bytes", "hw_memory_used_bytes"}
OWN = {"hw_exporter_collections_total", "hw_exporter_build_info"}
GROUPS = sorted({name.split("_")[1] for name in NAMES} - {"exporter"})
"""The subjects of metric names: the first word behind hw_."""
NOT_ON_THE_NODE = {"call", "function", "imex", "nccl", "probe"}
"""Groups of collectors that are off by default."""


def _config(**metrics: Any) -> Config:
    return load([Layer("test", {"metrics": metrics})])


@cache
def _rich_node() -> Snapshot:
    """Return what is read of the demo's GPUs and pods, and of a server full of hardware."""
    with TemporaryDirectory() as folder:
        around = look_around(gpu_node(Path(folder)))
    lost = INCIDENTS[2]
    with demo_node(lost.starts - 15, lost) as node:
        demo = node.snapshots("node-1", 60, rule_book())[-1]
    return replace(demo, readings=MappingProxyType({**demo.readings, **around.readings}))


def _names(form: Format = Format.TEXT, snapshot: Snapshot = SNAPSHOT, **metrics: Any) -> set[str]:
    is_exported = choice_of(_config(**metrics), EVERYTHING)
    pages = Pages(EVERYTHING, lambda: 1000.0, Moment, is_exported)
    pages.publish(snapshot)
    body = pages.body(form, gzipped=False)
    assert body is not None
    lines = body.decode().splitlines()
    return {line.partition("{")[0] for line in lines if not line.startswith("#")}


@pytest.mark.parametrize("form", list(Format))
def test_every_family_without_a_choice(form: Format) -> None:
    """By default nothing is left out, on the fixed part of the page and on the live one."""
    assert _names(form) >= MEMORY | OWN


@pytest.mark.parametrize("form", list(Format))
def test_only_what_is_allowed_and_the_exporter_itself(form: Format) -> None:
    """A list of allowed families leaves out all others, but never what alerts need."""
    names = _names(form, allow=["hw_memory_*_bytes"])
    assert names >= MEMORY | OWN
    assert {name for name in names if not name.startswith("hw_exporter_")} == {
        name for name in _names() if name.startswith("hw_memory_") and name.endswith("_bytes")
    }


@pytest.mark.parametrize("form", list(Format))
def test_what_is_denied_is_left_out(form: Format) -> None:
    """A family that is denied is left out, also if it is allowed."""
    names = _names(form, allow=["hw_memory_*"], deny=["hw_memory_used_bytes"])
    assert "hw_memory_used_bytes" not in names
    assert "hw_memory_total_bytes" in names


@pytest.mark.parametrize("pattern", ["*", "hw_*", "*_total", "hw_exp*"])
def test_a_general_pattern_does_not_deny_the_exporter(pattern: str) -> None:
    """The health of the exporter stays unless a pattern names it."""
    assert _names(deny=[pattern]) >= OWN


@pytest.mark.parametrize("form", list(Format))
def test_the_exporter_can_be_denied_by_name(form: Format) -> None:
    """Patterns that begin with hw_exporter_ leave out fixed and live families."""
    assert not _names(form, deny=["hw_exporter_*"]) & OWN
    assert _names(form, deny=["hw_exporter_build_info"]) & OWN == OWN - {"hw_exporter_build_info"}


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_of_families_comes_and_goes_as_a_whole(group: str) -> None:
    """Denied, a group leaves all others; allowed, it is alone with the exporter's own."""
    patterns = [f"hw_{group}", f"hw_{group}_*"]
    everything = _names(snapshot=_rich_node())
    of_group = {name for name in everything if name.split("_")[1] == group}
    own = {name for name in everything if name.startswith("hw_exporter_")}
    assert _names(snapshot=_rich_node(), deny=patterns) == everything - of_group
    assert _names(snapshot=_rich_node(), allow=patterns) == of_group | own
    assert of_group or group in NOT_ON_THE_NODE


def test_a_family_that_is_off_by_default_stays_off() -> None:
    """`allow` does not turn on what has an option of its own."""
    is_exported = choice_of(_config(allow=["hw_gpu_*"]), EVERYTHING)
    assert not is_exported("hw_gpu_nvlink_up")
    assert is_exported("hw_gpu_up")


def test_a_pattern_that_matches_nothing_is_one_sentence() -> None:
    """Each mistyped pattern is named with its key; collectors that are off count."""
    is_off = f"hw_{min(NOT_ON_THE_NODE & {*GROUPS})}_*"
    config = _config(allow=["hw_gpu_tmp*", "hw_gpu_*"], deny=["cpu", is_off, "hw_memory_*"])
    assert list(unmatched(config, chosen(config))) == [
        'metrics.allow: "hw_gpu_tmp*" matches no metric family; docs/METRICS.md lists all',
        'metrics.deny: "cpu" matches no metric family; docs/METRICS.md lists all',
    ]


def test_external_probes_may_name_any_family() -> None:
    """A pattern for a family of an external probe is no mistake."""
    probe = {"name": "a", "command": ["/bin/true"]}
    table = {"metrics": {"deny": ["hw_fan_*"]}, "probes": [probe]}
    config = load([Layer("test", table)])
    assert not list(unmatched(config, EVERYTHING))


@pytest.mark.parametrize("wrong", ["hw_gpu_*", [1], [""], ["hw_[gpu"], ["x" * 129]])
def test_what_is_no_pattern_is_refused(wrong: object) -> None:
    """A list of short patterns, and nothing else, is accepted at start."""
    with pytest.raises(ConfigError, match=r"test: metrics\.allow"):
        _config(allow=wrong)
