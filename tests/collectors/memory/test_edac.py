"""Errors of memory modules."""

import pytest

from exporter.collectors.memory.edac import EdacReader
from exporter.collectors.memory.values import Dimm, MemoryController
from tests.collectors.small_node import SmallNode

MC = "sys/devices/system/edac/mc"


def only(node: SmallNode) -> MemoryController:
    """The one controller of the node."""
    (controller,) = EdacReader(node.sys).read().value.controllers
    return controller


def module(node: SmallNode, name: str, **texts: object) -> None:
    """A module of controller 0."""
    said = {"dimm_label": f"CPU0_{name}", "dimm_ce_count": 0, "dimm_ue_count": 0, "size": 64}
    node.write_all(f"{MC}/mc0/{name}", {**said, **texts})


def test_errors_are_by_module_and_controller(node: SmallNode) -> None:
    """Labels are those of the board, sizes in bytes."""
    node.write_all(f"{MC}/mc0", {"ce_count": 9, "ue_count": 1})
    module(node, "dimm0", dimm_ce_count=7)
    assert only(node) == MemoryController(
        "mc0", 9, 1, (Dimm("mc0", "CPU0_dimm0", 7, 0, 64 * 1024 * 1024),)
    )


def test_two_modules_of_one_label_stay_two(node: SmallNode) -> None:
    """Firmware names them alike; the number of the module tells them apart."""
    for name in ("dimm0", "dimm1"):
        module(node, name, dimm_label="DIMM")
    assert [dimm.dimm for dimm in only(node).dimms] == ["DIMM", "DIMM dimm1"]


def test_a_module_without_label_has_its_number(node: SmallNode) -> None:
    """An empty label is none."""
    module(node, "rank3", dimm_label="")
    assert [dimm.dimm for dimm in only(node).dimms] == ["rank3"]


def test_old_drivers_know_rows_of_chips(node: SmallNode) -> None:
    """They stand for the modules."""
    node.write_all(f"{MC}/mc0/csrow0", {"ce_count": 3, "ue_count": 0, "size_mb": 2048})
    assert only(node).dimms == (Dimm("mc0", "csrow0", 3, 0, 2048 * 1024 * 1024),)


@pytest.mark.parametrize("text", ["-1", "x", "", "99999999999999999999999"])
def test_an_impossible_count_is_absent_with_a_reason(node: SmallNode, text: str) -> None:
    """It costs itself, not the module."""
    module(node, "dimm0", dimm_ce_count=text)
    reading = EdacReader(node.sys).read()
    (dimm,) = reading.value.controllers[0].dimms
    assert (dimm.corrected_errors, dimm.uncorrected_errors) == (None, 0)
    assert reading.missing


def test_errors_without_a_module_are_kept(node: SmallNode) -> None:
    """What the hardware could not locate is no healthy memory."""
    node.write_all(
        f"{MC}/mc0", {"ce_count": 9, "ue_count": 1, "ce_noinfo_count": 2, "ue_noinfo_count": 1}
    )
    module(node, "dimm0", dimm_ce_count=7)
    controller = only(node)
    assert controller.unlocated == Dimm("mc0", "unknown module", 2, 1)
    assert [dimm.dimm for dimm in controller.dimms] == ["CPU0_dimm0"]
