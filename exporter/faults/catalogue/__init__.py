"""The built-in tables of error codes, loaded once."""

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from exporter.model.catalogue import Catalogue, parse_nvlink5, parse_sxids, parse_xids

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@cache
def shipped_actions() -> Mapping[str, str]:
    """Load what each action asks of a person, as a sentence with `{name}` for the component."""
    text = (Path(__file__).parent / "actions.toml").read_text(encoding="utf-8")
    return {slug: str(sentence) for slug, sentence in tomllib.loads(text).items()}


@cache
def shipped_catalogue() -> Catalogue:
    """Return the tables beside this file, parsed on first use."""
    here = Path(__file__).parent
    return Catalogue(
        xids=parse_xids((here / "xid.toml").read_text(encoding="utf-8")),
        sxids=parse_sxids((here / "sxid.toml").read_text(encoding="utf-8")),
        nvlink5=parse_nvlink5((here / "nvlink5.toml").read_text(encoding="utf-8")),
    )
