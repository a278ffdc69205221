"""The card descriptions in tests/captures: both fakes can speak each, and say the same."""

import csv
import re
import subprocess
from pathlib import Path
from typing import Any

import pynvml
import pytest

from tests.fakes.asking import ask
from tests.fakes.nvml_library import CAPTURES, NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi

ALL = sorted(path.name for path in CAPTURES.glob("*.scenario"))

BOTH = {
    "name": "nvmlDeviceGetName({})",
    "uuid": "nvmlDeviceGetUUID({})",
    "serial": "nvmlDeviceGetSerial({})",
    "pci.bus_id": "nvmlDeviceGetPciInfo({}).busId",
    "memory.total": "nvmlDeviceGetMemoryInfo({}).total // 2**20",
    "memory.free": "nvmlDeviceGetMemoryInfo({}).free // 2**20",
    "utilization.gpu": "nvmlDeviceGetUtilizationRates({}).gpu",
    "temperature.gpu": "nvmlDeviceGetTemperature({}, 0)",
    "power.draw": "nvmlDeviceGetPowerUsage({}) // 10 / 100",
    "enforced.power.limit": "nvmlDeviceGetEnforcedPowerLimit({}) / 1000",
    "fan.speed": "nvmlDeviceGetFanSpeed({})",
    "clocks.sm": "nvmlDeviceGetClockInfo({}, 1)",
    "ecc.errors.uncorrected.aggregate.total": "nvmlDeviceGetTotalEccErrors({}, 1, 1)",
    "remapped_rows.uncorrectable": "nvmlDeviceGetRemappedRows({})[1]",
    "pcie.link.width.current": "nvmlDeviceGetCurrPcieLinkWidth({})",
}


def by_library(nvml: NvmlLibrary, cards: int) -> list[list[Any]]:
    """Each card's values through pynvml, None where they are not supported."""
    calls = [call.format(f"card({card})") for card in range(cards) for call in BOTH.values()]
    answers = [None if answer == "error 3" else answer for answer in ask(nvml, *calls)]
    return [answers[i : i + len(BOTH)] for i in range(0, len(answers), len(BOTH))]


def by_program(smi: NvidiaSmi) -> list[list[Any]]:
    """Each card's values through nvidia-smi, None where its cell is a word in brackets."""
    done = subprocess.run(
        [str(smi.path), f"--query-gpu={','.join(BOTH)}", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = csv.reader(done.stdout.splitlines(), skipinitialspace=True)
    return [[None if cell.startswith("[") else _number(cell) for cell in row] for row in rows]


def _number(cell: str) -> float | str:
    try:
        return cell if len(cell) > 10 else float(cell)  # longer ones are serial numbers
    except ValueError:
        return cell


@pytest.mark.parametrize("capture", ALL)
def test_both_fakes_say_the_same(capture: str, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi) -> None:
    """For every card of every capture, library and program agree on what both can say."""
    nvml.say(capture=capture)
    nvidia_smi.say(capture=capture)
    (cards,) = ask(nvml, "nvmlDeviceGetCount()")
    assert cards > 0
    assert by_library(nvml, cards) == by_program(nvidia_smi)


@pytest.mark.parametrize("capture", ALL)
def test_every_line_means_something(capture: str) -> None:
    """No key of a capture is misspelt: the fakes know every part of it."""
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("*/*.c"))
    literals = " ".join(re.findall(r'"([^"]*)"', sources))
    known = {"device", "profile", *re.findall(r"\w+", literals), *dir(pynvml)}
    for line in (CAPTURES / capture).read_text().splitlines():
        if line and not line.startswith("#"):
            key, equals, _ = line.partition(" =")
            assert equals, line
            assert {part for part in key.split(".") if not part.isdigit()} <= known, line
