"""The tables of error codes as values."""

import pytest

from exporter.collectors.gpu.xids.catalogue import (
    Bits,
    Catalogue,
    parse_nvlink5,
    parse_sxids,
    parse_xids,
)
from exporter.toml import tomllib

XID = """
79 = { name = "OFF_THE_BUS", meaning = "gone", origin = "bus", severity = "critical",\
 sympathetic = false, action = "reboot_node", scope = "gpu", source = "header", note = "",\
 disagreement = "" }
"""


def test_an_entry_is_found_by_its_code() -> None:
    """A code of the table gives its own entry, number included."""
    entry = Catalogue(parse_xids(tomllib.loads(XID)), {}, ()).xid(79)
    assert (entry.code, entry.name, entry.action) == (79, "OFF_THE_BUS", "reboot_node")


def test_a_code_that_no_table_has_is_unknown_and_not_an_error() -> None:
    """A newer driver's code is an entry of origin unknown with severity info."""
    entry = Catalogue(parse_xids(tomllib.loads(XID)), {}, ()).xid(9999)
    assert (entry.code, entry.origin, entry.severity) == (9999, "unknown", "info")


def test_a_malformed_table_is_refused() -> None:
    """A field that does not exist and a table that is missing do not pass in silence."""
    with pytest.raises(TypeError, match="colour"):
        parse_sxids({"1": {"colour": "red"}})
    with pytest.raises(KeyError, match="rules"):
        parse_nvlink5({})


def test_bits_are_tested_under_the_mask_only() -> None:
    """Bits outside the mask do not matter, bits under it all do."""
    bits = Bits(mask=0x0F, value=0x05)
    assert bits.fit(0xF5)
    assert not bits.fit(0xF7)
