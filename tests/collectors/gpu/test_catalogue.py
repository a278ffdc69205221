"""The tables that ship: complete, consistent, and each entry with its source and meaning."""

import re

import pytest

from exporter.collectors.everything import rule_book
from exporter.collectors.gpu.xids.catalogue import (
    SxidEntry,
    by_code,
    parse_nvlink5,
    shipped_catalogue,
)
from tools.xid_page import xid_page

CATALOGUE = shipped_catalogue()


def test_every_known_code_is_there() -> None:
    """Xid 1 to 176 without a gap, 399 SXids, 95 sub-rules of NVLink5."""
    assert sorted(CATALOGUE.xids) == list(range(1, 177))
    assert len(CATALOGUE.sxids) == 399
    assert len(CATALOGUE.nvlink5) == 95


def test_every_entry_says_its_meaning_and_its_source() -> None:
    """No entry is a bare number."""
    for xid in CATALOGUE.xids.values():
        assert all((xid.name, xid.meaning, xid.source)), xid
    for sxid in CATALOGUE.sxids.values():
        assert all((sxid.name, sxid.meaning, sxid.source)), sxid
    for rule in CATALOGUE.nvlink5:
        assert all((rule.units, rule.condition, rule.note)), rule


def test_the_words_of_the_tables_are_the_known_ones() -> None:
    """Severities, actions, scopes and classes are from closed lists that rules can rely on."""
    assert {e.severity for e in CATALOGUE.xids.values()} == {"info", "warning", "critical"}
    assert {e.scope for e in CATALOGUE.xids.values()} == {"process", "gpu", "link", "node"}
    assert {e.action for e in CATALOGUE.xids.values()} == {
        *("none", "restart_app", "reset_gpu", "reboot_node", "update_driver", "check_power"),
        *("contact_vendor", "decode_nvlink", "follow_driver"),
    }
    assert {e.fatality for e in CATALOGUE.sxids.values()} == {
        *("harmless", "corrected", "non_fatal", "fatal_port", "fatal_fabric", "host"),
    }
    assert {r.severity for r in CATALOGUE.nvlink5} == {"non_fatal", "link_fatal", "gpu_fatal"}


def test_well_known_codes_have_their_well_known_weight() -> None:
    """A lost GPU is critical, a user's fault is not, and Xid 45 follows from something else."""
    assert (CATALOGUE.xid(79).code, CATALOGUE.xid(79).action) == (79, "reboot_node")
    assert CATALOGUE.xid(13).severity == "info"
    assert CATALOGUE.xid(45).sympathetic
    assert CATALOGUE.xid(48).origin == "memory"
    assert CATALOGUE.sxids[10003].fatality == "fatal_fabric"


def test_a_code_that_no_table_has_is_unknown_and_not_an_error() -> None:
    """A newer driver's code is an entry of origin unknown with severity info."""
    entry = CATALOGUE.xid(9999)
    assert (entry.code, entry.origin, entry.severity) == (9999, "unknown", "info")


def test_a_malformed_table_is_refused() -> None:
    """A field that does not exist and a table that is missing do not pass in silence."""
    with pytest.raises(TypeError, match="colour"):
        by_code(SxidEntry, {"1": {"colour": "red"}})
    with pytest.raises(KeyError, match="rules"):
        parse_nvlink5({})


def test_the_page_has_one_row_for_each_entry() -> None:
    """docs/xids.md names every code once, in tables that do not break."""
    page = xid_page(CATALOGUE)
    rows = [line for line in page.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) == 3 + 176 + 399 + 95
    widths = {len(re.split(r"(?<!\\)\|", row)) for row in rows}
    assert widths == {11, 8, 9}
    assert "| 79 | ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS |" in page


def test_every_action_is_a_sentence_with_what_to_type() -> None:
    """A rule's word for what to do has a sentence; no sentence is about a word nobody uses."""
    actions = rule_book().actions
    used = {rule.action for rule in rule_book().rules}
    assert used == set(actions)
    for word, sentence in actions.items():
        assert word == "none" or sentence.endswith("."), word
        assert len(sentence) <= 300, word


def test_actions_are_right_for_what_is_no_hardware() -> None:
    """A hang, a mismatch or a missing right does not ask for libraries, a warning not for hands."""
    action_of = {rule.id: rule.action for rule in rule_book().rules}
    assert action_of["backend_stuck"] == "see_gpu_fault"
    assert action_of["driver_version_mismatch"] == "update_driver"
    assert "no_permission" in rule_book().actions[action_of["nvml_unavailable"]]
    (lost,) = [rule for rule in rule_book().rules if rule.id == "gpu_lost"]
    assert "virtual machine" in lost.advice.fill(lambda _: None)
    assert "GPU" not in rule_book().actions[action_of["kernel_oops"]]
    assert action_of["pcie_aer_uncorrected"] == "check_pcie_device"
