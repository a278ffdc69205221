"""Words of the pages that name something of ours: it is there under that name."""

import dataclasses
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

from exporter.collectors.everything import NAMES
from exporter.collectors.gpu.words import REASON_BITS
from exporter.config import Config, ProbeCommand
from tests.commands.running import run
from tests.documentation.blocks import PAGES
from tests.program import ROOT

LABELS = {"hw_type", "hw_id", "hw_name", "hw_state", "hw_limit_type"}
RENAMED = {
    *("hw_gpu_clock_limit_active", "hw_gpu_clock_limit_seconds_total"),
    *("hw_exporter_devices_left_out", "hw_thermal", "hw_power_brake"),
    *("hw_gpu_ecc_errors_total", "hw_gpu_ecc_location_errors_total"),
    *("hw_gpu_sram_ecc_errors_total", "hw_pressure_seconds_total"),
}
"""Names of previews, which only the changelog and the table of renamed ones may say."""
MADE_UP = {
    *("hw_npu_call_seconds_bucket", "hw_npu_call_seconds_count", "hw_npu_call_seconds_sum"),
    *("hw_npu_temperature_celsius", "gpu.x", "server.auth.basic_users.prometheus"),
    *("config/local.toml", "kernel_log.toml"),
}
"""What stands for something else on a page."""

WORD = re.compile(r"`([^`\n]+)`")
METRIC = re.compile(r"(?<![:\w/.-])(hw_[a-z0-9_]+)(?![\w*:{]|\{)")
PATH = re.compile(r"[\w-]+(?:/[\w.-]+)+\.(?:py|toml|md|yml|yaml|service|json|sh)")
FLAG = re.compile(r"(?<!\S)--[a-z-]+")


def _keys(section: Any, path: str = "") -> Iterator[str]:
    for item in dataclasses.fields(section):
        value = getattr(section, item.name)
        yield f"{path}{item.name}"
        if dataclasses.is_dataclass(value):
            yield from _keys(value, f"{path}{item.name}.")


KEYS = {*_keys(Config()), *(f"probes.{item.name}" for item in dataclasses.fields(ProbeCommand))}
SECTIONS = {key.split(".")[0] for key in KEYS}
KEY = re.compile(rf"(?<![\w./-])((?:{'|'.join(sorted(SECTIONS))})(?:\.[a-z_]+)+)(?![\w/(.-])")


def _words(page: str) -> list[str]:
    return WORD.findall((ROOT / page).read_text("utf-8"))


def test_metrics() -> None:
    """Every family that a page names is on the page of metrics."""
    for page in PAGES:
        named = {name for word in _words(page) for name in METRIC.findall(word)}
        assert named - NAMES - LABELS - REASON_BITS.keys() - MADE_UP == (
            named & RENAMED if page in ("CHANGELOG.md", "docs/stability.md") else set()
        ), page


def test_keys() -> None:
    """Every key of the configuration that a page names is one."""
    for page in PAGES:
        named = {key for word in _words(page) for key in KEY.findall(word)}
        text = (ROOT / page).read_text("utf-8")
        variables = {name for name in re.findall(r"APP__(\w+)", text) if name != "SECTION__KEY"}
        named |= {name.lower().replace("__", ".") for name in variables}
        assert named - KEYS - MADE_UP == set(), page


def test_files() -> None:
    """Every file of ours that a page names is there, seen from the root or from exporter/."""
    roots = (ROOT, ROOT / "exporter")
    folders = {path.name for root in roots for path in root.iterdir()} - {"build"}  # what we make
    for page in PAGES:
        for word in {word for word in _words(page) if PATH.fullmatch(word)} - MADE_UP:
            is_ours = word.split("/")[0] in folders
            assert not is_ours or any((root / word).exists() for root in roots), (page, word)


def test_flags() -> None:
    """Every option of hw-exporter that a page names is known to the command."""
    options = set()
    for part in (
        (),
        ("run",),
        ("demo",),
        ("rules", "check"),
        ("rules", "replay"),
        ("selfcheck",),
        ("faults",),
        ("why",),
        ("silence",),
        ("clear",),
    ):
        told = run(*part, "--help").stdout
        options |= set(FLAG.findall(re.sub(r"[\[\]]", " ", told)))
    words = {word for page in PAGES for word in _words(page)}
    named = {
        flag for word in words if fnmatch(word, "hw-exporter *") for flag in FLAG.findall(word)
    }
    assert named - options == set()
