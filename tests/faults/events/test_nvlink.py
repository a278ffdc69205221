"""Decoding of Xid 144 to 150 and of the registers of Xid 74."""

import pytest

from exporter.faults.catalogue import shipped_catalogue
from exporter.faults.events.nvlink import Nvlink5Meaning, decode_nvlink5, register_kinds

RULES = shipped_catalogue().nvlink5


def decode(xid: int, unit: str, word: str, words: tuple[int, int]) -> Nvlink5Meaning:
    """The meaning under the shipped rules."""
    return decode_nvlink5(RULES, xid=xid, unit=unit, word=word, info=words[0], status=words[1])


@pytest.mark.parametrize(
    ("xid", "unit", "words", "action", "investigate"),
    [
        (149, "NETIR_LINK_DOWN", (0x00400011, 0), "reset_gpu", "signal_integrity"),
        (149, "NETIR_LINK_EVT", (0x004001C6, 0), "reset_gpu", "signal_integrity"),
        (149, "NETIR_BER_EVENT", (0x00000013, 2), "none", "signal_or_cable"),
        (144, "SAW_MVB", (0x00000001, 2), "reset_gpu", "contact_vendor"),
        (145, "RLW_REMAP", (0x00000004, 8), "follow_driver", "link_down_within_30s"),
        (150, "MSE_WATCHDOG", (0, 0), "reset_gpu", "contact_vendor"),
        (150, "MSE_DEGRADED", (0, 0xFFFFFFFF), "reset_gpu", "contact_vendor"),
    ],
)
def test_both_layouts_of_the_first_word_are_understood(
    xid: int, unit: str, words: tuple[int, int], action: str, investigate: str
) -> None:
    """The rule of the unit is found whichever driver wrote the line."""
    meaning = decode(xid, unit, "Fatal", words)
    assert meaning.rule is not None
    assert (meaning.action, meaning.rule.investigate) == (action, investigate)


def test_a_promoted_error_is_fatal() -> None:
    """The bit that says the driver raised the error changes verdict and action."""
    plain = decode(145, "RLW_RXPIPE", "Nonfatal", (0x00000006, 1))
    promoted = decode(145, "RLW_RXPIPE", "Fatal", (0x00000086, 1))
    assert (plain.fatal, plain.action) == (False, "none")
    assert (promoted.fatal, promoted.action) == (True, "reset_gpu")


@pytest.mark.parametrize(("word", "fatal"), [("Fatal", True), ("Nonfatal", False)])
def test_where_no_rule_fits_the_word_of_the_driver_is_believed(word: str, fatal: bool) -> None:  # noqa: FBT001 - a column of the table
    """An unknown unit or status is undecoded, not healthy, and the driver is to be followed."""
    meaning = decode(149, "NETIR_SOMETHING_NEW", word, (0x00400011, 0))
    assert meaning.rule is None
    assert (meaning.fatal, meaning.action) == (fatal, "follow_driver")


def test_each_rule_is_found_by_its_own_values() -> None:
    """No rule is shadowed by another: its own words, in either layout, lead to its verdict."""
    for rule in RULES:
        status = rule.status[0] if rule.status else 0x1234
        for bits in (rule.v1, rule.v2):
            meaning = decode(rule.xid, rule.units[-1], "Fatal", (bits.value, status))
            # the two pipes of TLW_RX share their first layout: another rule, the same verdict
            assert meaning.rule is not None
            assert (meaning.rule.severity, meaning.action) == (rule.severity, rule.action), rule
            assert bits is rule.v1 or meaning.rule == rule


def test_registers_of_xid_74_are_read_bit_by_bit() -> None:
    """Each set bit has a kind; zeros say nothing; a bit no table has is unknown."""
    kinds = register_kinds([1 << 4 | 1 << 2, 0, 0, 1 << 18, 0, 0, 0])
    assert kinds == {"unknown", "ecc_or_parity", "sympathetic"}
    assert register_kinds([0, 0, 1 << 4, 0, 0, 0, 0]) == {"unknown"}
    assert not register_kinds([0] * 7)
