"""The tables of npu-smi: every chip of public recordings, and nothing of what is cut or forged."""

from collections.abc import Sequence

import pytest

from exporter.collectors.gpu.values import GpuProcess
from exporter.collectors.vendors.npu_smi_output import MIB, parse_info
from tests.fakes.npu_smi import A3, B3, BORDER, DUO, Chip, tables

OLD = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 23.0.rc2                 Version: 23.0.rc2                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B                | Warning       | 70.8        36                0    / 0             |
| 0                         | 0000:C1:00.0  | 7           2187 / 15137      1    / 32768         |
+===========================+===============+====================================================+
"""
"""As version 23 prints it, with health made worse."""


def test_two_chips_of_a_card_are_two_gpus() -> None:
    """The second one has no power of its own: it is absent, and not zero."""
    chips = parse_info(tables(A3))
    first, second = chips.gpus
    assert chips.version == "25.2.1"
    assert (first.index, second.index) == (0, 1)
    assert (first.name, first.pci_bus_id) == ("Ascend910", "0000:9d:00.0")
    assert (first.uuid, second.uuid) == ("NPU-0000:9d:00.0-0", "NPU-0000:9f:00.0-1")
    assert (first.power_draw_watts, second.power_draw_watts) == (178.8, None)
    assert (first.temperature_celsius, first.utilization_percent) == (36, 0)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (3397 * MIB, 65536 * MIB)
    assert (first.health, first.vendor, first.processes) == ("ok", "ascend", ())


def test_cards_without_hbm_show_their_memory() -> None:
    """Both chips of a card have one address: the number of the chip tells them apart."""
    gpus = parse_info(tables(DUO)).gpus
    assert [gpu.index for gpu in gpus] == [0, 1, 2, 3]
    assert [(gpu.npu_id, gpu.chip_id) for gpu in gpus] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len({gpu.uuid for gpu in gpus}) == 4
    assert {gpu.name for gpu in gpus} == {"Ascend 310P3"}
    assert {gpu.memory_total_bytes for gpu in gpus} == {44278 * MIB}
    assert {gpu.power_draw_watts for gpu in gpus} == {None}


def test_chips_without_a_number_of_the_node_are_counted() -> None:
    """Version 23 prints none: the place in the table is the number; there HBM is the memory."""
    assert [gpu.index for gpu in parse_info(tables(B3)).gpus] == list(range(8))
    (gpu,) = parse_info(OLD).gpus
    assert (gpu.name, gpu.health, gpu.utilization_percent) == ("Ascend 910B", "warning", 7)
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (MIB, 32768 * MIB)
    assert gpu.processes is None


def test_processes_belong_to_their_chip() -> None:
    """A process may be on several chips, and its name may be empty."""
    rows = [(0, 0, 3325989, "", 50128), (0, 1, 3325989, "", 133), (0, 1, 77, "a|b", 5)]
    first, second = parse_info(tables(A3, rows)).gpus
    assert first.processes == (GpuProcess(3325989, "compute", 50128 * MIB),)
    assert second.processes == (
        GpuProcess(3325989, "compute", 133 * MIB),
        GpuProcess(77, "compute", 5 * MIB),
    )


@pytest.mark.parametrize(
    "name", ["|0 0|1|x|9|", "\n|0 0|1|x|9|\n", "x|\n| 0  1 | 9 |", "\x00\ufffd"]
)
def test_a_name_makes_no_process(name: str) -> None:
    """A name of 15 bytes chosen by a tenant cannot make a row of full width, or change another."""
    rows = [(0, 0, 4711, name, 7), (0, 1, 12, "python3", 9)]
    gpus = parse_info(tables(A3, rows)).gpus
    found = {process.pid for gpu in gpus for process in gpu.processes or ()}
    assert found <= {4711, 12}
    assert gpus[1].processes == (GpuProcess(12, "compute", 9 * MIB),)


@pytest.mark.parametrize("chips", [A3, B3, DUO])
def test_a_cut_document_has_no_other_values(chips: Sequence[Chip]) -> None:
    """Whatever is cut off is absent: no chip is made up, no value is another one."""
    text = tables(chips, [(0, 0, 4711, "python3", 7)])
    whole = {gpu.uuid: gpu for gpu in parse_info(text).gpus}
    for length in range(0, len(text), 7):
        for gpu in parse_info(text[:length]).gpus:
            known = whole[gpu.uuid]
            assert gpu.temperature_celsius == known.temperature_celsius
            assert gpu.memory_total_bytes in (None, known.memory_total_bytes)
            assert gpu.power_draw_watts == known.power_draw_watts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dcmi module initialize failed. ret is -8005\n",
        "\x00\xff" * 500,
        f"{BORDER}\n" * 100,
        "| 0 a | OK | 1 2 3 |\n" * 50,
        "|" * 100_000,
    ],
)
def test_something_else_is_no_chip(text: str) -> None:
    """Sentences, borders and garbage name no GPU."""
    assert parse_info(text).gpus == ()


def test_values_that_do_not_fit_their_head_are_absent() -> None:
    """A cell with another number of values than its head names says nothing; the rest is known."""
    odd = tables([Chip(0, "910B3", "0", "0000:C1:00.0", power="99 C 12")])
    (gpu,) = parse_info(odd).gpus
    assert (gpu.power_draw_watts, gpu.temperature_celsius) == (None, None)
    assert gpu.memory_total_bytes == 65536 * MIB


def test_a_flood_of_chips_is_bounded() -> None:
    """No more chips are taken than a node can have."""
    text = tables([Chip(card, "910B3", "0", f"{card:04x}:C1:00.0") for card in range(500)])
    assert len(parse_info(text).gpus) == 128
