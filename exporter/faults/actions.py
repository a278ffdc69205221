"""What the actions of rules ask of a person."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from exporter.toml import tomllib


@cache
def shipped_actions() -> Mapping[str, str]:
    """Load what each action asks of a person, as a sentence with `{name}` for the component."""
    text = (Path(__file__).parent / "actions.toml").read_text(encoding="utf-8")
    return {slug: str(sentence) for slug, sentence in tomllib.loads(text).items()}
