"""Decoding of Xid 144 to 150 and of the registers of Xid 74."""

from dataclasses import replace

import pytest

from exporter.collectors.gpu.xids.catalogue import Bits, shipped_catalogue
from exporter.collectors.gpu.xids.link_registers import (
    Nvlink5Meaning,
    decode_nvlink5,
    register_kinds,
)

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


# By register of Xid 74 the bits of each kind, as a mask.
MASKS = {
    1: {
        "ignore": 0x4080_0001,
        "sympathetic": 0x0010_0002,
        "ecc_or_parity": 0x0000_0030,
        "mechanics": 0x1103_1300,
        "weak": 0x0060_0000,
        "repeated": 0x2800_0000,
    },
    3: {
        "ecc_or_parity": 0x0000_0047,
        "report": 0x0000_2000,
        "repeated": 0x0006_0000,
        "diagnostic": 0x0009_0000,
    },
    4: {"sympathetic": 0x0007_0000},
    5: {"ecc_or_parity": 0x1B6C_0000, "corrected": 0x2490_0000},
}


@pytest.mark.parametrize("register", range(1, 8))
def test_every_bit_of_a_register_has_its_kind(register: int) -> None:
    """One by one, those of registers that mean nothing included."""
    masks = MASKS.get(register, {})
    for bit in range(32):
        words = [0] * (register - 1) + [1 << bit]
        kinds = {kind for kind, mask in masks.items() if mask >> bit & 1}
        assert register_kinds(words) == (kinds or {"unknown"}), bit


def test_a_rule_is_taken_for_its_own_code_only() -> None:
    """The same unit and numbers under another code are undecoded."""
    assert decode(145, "RLW_REMAP", "Fatal", (0x00000004, 8)).rule is not None
    assert decode(144, "RLW_REMAP", "Fatal", (0x00000004, 8)).rule is None


def test_a_promoted_error_without_its_own_action_follows_the_driver() -> None:
    """What the table does not say the driver does."""
    rule = replace(RULES[0], promoted_v1=Bits(0xFF, 0x86), promoted_action=None)
    found = decode_nvlink5(
        [rule], xid=rule.xid, unit=rule.units[0], word="Fatal", info=0x86, status=1
    )
    assert (found.fatal, found.action) == (True, "follow_driver")


def test_bits_are_tested_under_the_mask_only() -> None:
    """Bits outside the mask do not matter, bits under it all do."""
    bits = Bits(mask=0x0F, value=0x05)
    assert bits.fit(0xF5)
    assert not bits.fit(0xF7)
