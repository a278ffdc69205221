"""NVML and nvidia-smi say the same of the same cards, wherever both can speak."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.gpu.values import Gpu
from exporter.probes.child import Children
from tests.collectors.gpu.backends import nvml_backend, smi_backend
from tests.collectors.gpu.nvml_probe.probe_process import probe_command
from tests.fakes.nvml_library import CAPTURES, NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi

pytestmark = pytest.mark.system

MIB = 1024 * 1024
ONLY_NVML = {
    "compute_capability",
    "energy_joules_total",
    "inforom_valid",
    "nvlink_up",
    "nvlink_errors_total",
    "nvlink_receive_bytes_total",
    "nvlink_transmit_bytes_total",
    "activity_ratio",
    "pcie_profile_bytes_per_second",
    "nvlink_profile_bytes_per_second",
}
"""What the document of `nvidia-smi -q -x` does not hold."""

ROUGH = {"memory": MIB, "bytes": MIB, "watts": 0.01, "seconds": 1e-6}
"""nvidia-smi rounds: to the MiB, to the hundredth of a watt, to the microsecond."""


async def both(
    nvml: NvmlLibrary, smi: NvidiaSmi, children: Children, capture: str
) -> tuple[tuple[Gpu, ...], tuple[Gpu, ...], set[str]]:
    """The GPUs of a capture by both ways, and fields that its nvidia-smi is too old for."""
    nvml.say(capture=capture)
    smi.say(capture=capture)
    by_nvml = await nvml_backend(children, probe_command(nvml), 20).ask()
    by_smi = await smi_backend(children, smi.path, 20).ask()
    too_old = {found.field for found in by_smi.missing if found.reason == "old_driver"}
    return by_nvml.gpus, by_smi.gpus, too_old


def is_same(field: str, one: Any, other: Any) -> bool:
    """Whether two values are the same but for rounding, and for what only NVML measures."""
    if one is None or other is None or isinstance(one, (str, bool)):
        return bool(one == other)
    if field in ("processes", "mig_instances"):
        return len(one) == len(other) and all(map(is_same_part, one, other))
    if isinstance(one, tuple):
        ours, theirs = ({row[:-1]: row[-1] for row in rows} for rows in (one, other))
        return ours.keys() == theirs.keys() and all(
            is_same(field, number, theirs[labels]) for labels, number in ours.items()
        )
    allowed = max((rough for word, rough in ROUGH.items() if word in field), default=0)
    return bool(abs(one - other) <= allowed)


def is_same_part(one: Any, other: Any) -> bool:
    """Whether two processes or two MIG devices are the same but for rounding."""
    names = [item.name for item in fields(one)]
    return all(
        is_same(name, getattr(one, name), getattr(other, name))
        for name in names
        if "utilization" not in name and name != "activity_ratio"
    )


@pytest.mark.parametrize("capture", sorted(path.name for path in CAPTURES.glob("*.scenario")))
async def test_both_ways_agree(
    nvml: NvmlLibrary, nvidia_smi: NvidiaSmi, children: Children, capture: str
) -> None:
    """The same GPUs, the same fields, the same labels, the same numbers, for every capture."""
    by_nvml, by_smi, too_old = await both(nvml, nvidia_smi, children, capture)
    assert [gpu.uuid for gpu in by_nvml] == [gpu.uuid for gpu in by_smi]
    differences = [
        (one.index, item.name, getattr(one, item.name), getattr(other, item.name))
        for one, other in zip(by_nvml, by_smi, strict=True)
        for item in fields(Gpu)
        if item.name not in (*ONLY_NVML, "unprinted")
        and not (getattr(other, item.name) is None and f"gpu{one.index}.{item.name}" in too_old)
        and not is_same(item.name, getattr(one, item.name), getattr(other, item.name))
    ]
    assert not differences
    for gpu in by_smi:
        assert all(getattr(gpu, name) is None for name in ONLY_NVML), "the list is too long"


def test_the_captures_are_there() -> None:
    """Several kinds of nodes are compared."""
    assert len(list(Path(CAPTURES).glob("*.scenario"))) >= 8
