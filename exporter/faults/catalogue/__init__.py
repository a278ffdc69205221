"""The tables of codes that ship with the program, loaded once."""

from functools import cache
from pathlib import Path

from exporter.model.catalogue import Catalogue, parse_nvlink5, parse_sxids, parse_xids


@cache
def shipped_catalogue() -> Catalogue:
    """The tables beside this file, parsed on first use."""
    here = Path(__file__).parent
    return Catalogue(
        xids=parse_xids((here / "xid.toml").read_text(encoding="utf-8")),
        sxids=parse_sxids((here / "sxid.toml").read_text(encoding="utf-8")),
        nvlink5=parse_nvlink5((here / "nvlink5.toml").read_text(encoding="utf-8")),
    )
