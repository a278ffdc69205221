"""Every command of the pages, as commands.toml has it: how it is tried here, or why it is not."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from exporter.decode import Rules, decode_strict
from exporter.toml import tomllib


class Place(Enum):
    """Where a command is tried, in a folder of its own."""

    DEMO = "demo"
    NODE = "node"
    ALONE = "alone"


@dataclass(frozen=True, slots=True)
class Try:
    """How a command is tried; commands.toml says what each field means."""

    place: Place = Place.ALONE
    output: tuple[str, ...] = ()
    code: int = 0
    stays: bool = False


MORE = "…"
_TABLE = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))

PLACEHOLDERS: Mapping[str, str] = _TABLE["placeholders"]
FILES: Mapping[str, Mapping[str, str]] = _TABLE["files"]
TRIED: Mapping[str, Mapping[str, Try]] = {
    page: {text: decode_strict(Try, how, Rules(clean=str), text) for text, how in commands.items()}
    for page, commands in _TABLE["tried"].items()
}
NOT_TRIED: Mapping[str, Mapping[str, tuple[str, ...]]] = _TABLE["not_tried"]
