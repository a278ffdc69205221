"""HELP of the GPU families uses the terms of NVML and DCGM, as an operator searches for them."""

from pathlib import Path

from exporter.collectors import chosen
from exporter.collectors.everything import LIVE_FAMILIES
from exporter.config import Config
from exporter.exposition.family import Family
from exporter.toml import tomllib

TERMS = tomllib.loads(Path(__file__).with_name("nvidia_terms.toml").read_text("utf-8"))

ROWS: tuple[Family, ...] = (*chosen(Config()).families, *LIVE_FAMILIES)
HELP = {
    row.name.removeprefix("hw_gpu_"): row.help for row in ROWS if row.name.startswith("hw_gpu_")
}


def test_every_gpu_family_has_its_term() -> None:
    """A new family names the term an operator knows it by, or that there is none."""
    assert TERMS.keys() == HELP.keys()


def test_help_holds_the_term() -> None:
    """Who searches METRICS.md for NVML's or DCGM's term finds the family."""
    missing = {name: term for name, term in TERMS.items() if term.lower() not in HELP[name].lower()}
    assert missing == {}
