"""The exporter started as system-info-exporter was: its file, its environment, its answers."""

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.everything import NAMES
from exporter.commands.invocation import Invocation
from exporter.config.enabled import FAMILIES, Enabled
from tests.golden.test_contract import GPU_FIELDS, NODE_FIELDS
from tests.program import Program
from tools.promised import promised

DEMO = (sys.executable, "-m", "exporter", "demo", "--healthy")
OTHER_PORT = {"APP__SERVER__HOST": "127.0.0.1", "APP__SERVER__PORT": "0"}


def _file(*, enabled: bool) -> dict[str, dict[str, Any]]:
    """The configuration of system-info-exporter, with every metric on or off."""
    return {
        "server": {"host": "0.0.0.0", "port": 8080},
        "metrics": {"collect_interval_secs": 1},
        "metrics.enabled": dict.fromkeys(FAMILIES, enabled),
    }


def _program(folder: Path, *, enabled: bool) -> Program:
    environment = {**OTHER_PORT, "RUST_LOG": "system_info_exporter=debug", "NODE_NAME": "gpu-7"}
    return Program(folder, _file(enabled=enabled), environment=environment, command=DEMO)


def _types(page: str) -> Mapping[str, str]:
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))


@pytest.mark.system
def test_its_names_types_and_fields_are_there(tmp_path: Path) -> None:
    """All twenty families with their types, and every field of `/node`, whole numbers whole."""
    with _program(tmp_path, enabled=True) as program:
        page = program.page_with("hw_cpu_used_cores{").text
        node = program.get("/node").document
        assert any(line["level"] == "debug" for line in program.log_lines)
    types = _types(page)
    assert len(FAMILIES) == 20
    assert {name: types[name] for name in FAMILIES.values()} == {
        name: promised()[name].split()[1] for name in FAMILIES.values()
    }
    assert 'hw_node_info{node="gpu-7"' in page
    assert [name for name, kind in NODE_FIELDS if not isinstance(node[name], kind)] == []
    for device in node["gpu_devices"]:
        assert [name for name, kind in GPU_FIELDS if type(device[name]) is not kind] == []
    assert node["gpu_devices"]


@pytest.mark.system
def test_what_it_switched_off_is_off(tmp_path: Path) -> None:
    """With every key false none of the twenty is on the page; `/node` keeps all, as it did."""
    with _program(tmp_path, enabled=False) as program:
        page = program.page_with("hw_gpu_up{").text
        node = program.get("/node").document
    assert set(FAMILIES.values()) & set(_types(page)) == set()
    assert [name for name, _ in NODE_FIELDS if name not in node] == []


@pytest.mark.parametrize(("key", "name"), FAMILIES.items())
def test_a_key_switches_one_family_off(key: str, name: str) -> None:
    """Each key is for one family that exists."""
    assert Enabled(**{key: False}).families_off() == {name}
    assert name in NAMES


@pytest.mark.parametrize(
    ("environment", "level"),
    [
        ({}, "info"),
        ({"RUST_LOG": "warn"}, "warning"),
        ({"RUST_LOG": "TRACE"}, "debug"),
        ({"RUST_LOG": "off"}, "error"),
        ({"RUST_LOG": "hyper=trace,error"}, "error"),
        ({"RUST_LOG": "system_info_exporter=debug,hyper=warn"}, "debug"),
        ({"RUST_LOG": "hyper=trace"}, "info"),
        ({"RUST_LOG": "[span]=nonsense"}, "info"),
        ({"RUST_LOG": "debug", "LOG_LEVEL": "error"}, "error"),
    ],
)
def test_its_log_level_is_read(environment: dict[str, str], level: str) -> None:
    """`RUST_LOG` counts where `LOG_LEVEL` is not set; what is for other programs does not."""
    options = argparse.Namespace(
        log_level=None, config=None, host=None, port=None, strict_rules=False
    )
    assert Invocation(options, environment).settings().log_level == level
