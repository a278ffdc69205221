"""What people are told to do: no word stands for a value, and each vendor gets its own command."""

import re
from dataclasses import replace

import pytest

from exporter.collectors.everything import rule_book
from exporter.collectors.gpu.backend import GpuAnswer
from exporter.collectors.gpu.cache import GpuCache
from exporter.collectors.gpu.tools import TEXTS, text_of
from exporter.collectors.gpu.values import Gpu
from exporter.config import GpuConfig
from exporter.faults.expr.syntax import Name
from exporter.reports import remedies
from exporter.reports.remedies import Remedy

CODE = re.compile(r"`([^`]*)`")
CAPITALS = re.compile(r"(?<![-\w=/.])[A-Z][A-Z_]*(?![\w=])")
WORDS = frozenset({"POST", "NVRM", "STOP", "CONT"})
"""Capitals that are typed as they stand: a method of HTTP, what the driver logs, two signals."""

TOPICS = re.compile(r"-d [A-Z]+")
"""Of `nvidia-smi -q -d TEMPERATURE`."""


def _placeholders(text: str) -> list[str]:
    found = []
    for code in CODE.findall(text):
        found += [word for word in CAPITALS.findall(TOPICS.sub("", code)) if word not in WORDS]
    return found


def test_no_advice_has_a_placeholder() -> None:
    """Of any rule, whatever is known of the component."""
    texts = [text.fill(lambda _: "x1") for rule in rule_book().rules for text in rule.texts]
    assert {text: found for text in texts if (found := _placeholders(text))} == {}


def test_who_is_warned_is_told_what_to_do() -> None:
    """No warning or critical fault says that nothing is to be done, nor does a root of one."""
    rules = rule_book().rules
    loud = [rule for rule in rules if rule.severity != "info" or rule.escalate is not None]
    told = {rule.id for rule in loud} | {why.rule for rule in loud for why in rule.explained_by}
    advice = {rule.id: " ".join(it.fill(lambda _: "x1") for it in rule.texts) for rule in rules}
    assert {name: advice[name] for name in told & advice.keys() if "o action" in advice[name]} == {}


def test_no_remedy_has_a_placeholder() -> None:
    """Nor what the page says of what could not be read."""
    tables = [value for value in vars(remedies).values() if isinstance(value, dict)]
    found = [it for table in tables for it in table.values() if isinstance(it, Remedy)]
    assert found
    capitals = re.compile(r"-[A-Z]{3,}\b|-i [A-Z]\b")
    assert [it for it in found if capitals.search(f"{it.host} {it.container}")] == []


def test_only_who_means_all_gpus_resets_all() -> None:
    """Without `-i` nvidia-smi resets every GPU of the node, also those of other jobs."""
    texts = [text.fill(lambda _: "x1") for rule in rule_book().rules for text in rule.texts]
    tables = [value for value in vars(remedies).values() if isinstance(value, dict)]
    for table in tables:
        texts += [f"{it.host} {it.container}" for it in table.values() if isinstance(it, Remedy)]
    resets = [text for text in texts if "nvidia-smi --gpu-reset" in text]
    assert resets
    wide = [text for text in resets if "nvidia-smi --gpu-reset -i" not in text]
    several = re.compile(r"\ball\b|\btogether\b|\bits GPUs\b")
    assert [text for text in wide if not several.search(text)] == []
    assert [text for text in resets if "/-/quiesce" not in text] == []  # it has them open


def test_no_command_has_the_name_of_the_node() -> None:
    """What is to be asked is a server of the node, or a component in its summary."""
    texts = [text for rule in rule_book().rules if rule.entity == "node" for text in rule.texts]
    commands = [code for text in texts for code in CODE.findall(text.fill(_name_in_full))]
    assert [code for code in commands if "NAME" in code] == []


def _name_in_full(name: Name) -> str:
    return "NAME" if name.text == "name" else "x1"


@pytest.mark.parametrize(
    ("vendor", "command", "note"),
    [
        ("nvidia", "nvidia-smi --gpu-reset -i 0000:3b:00.0", "/-/quiesce"),
        ("amd", "amd-smi reset --gpureset --gpu 0000:3b:00.0", "xGMI"),
        ("intel", "/unbind && echo 1 > /sys/bus/pci/devices/$pci/reset; echo", "else uses it"),
        ("ascend", "npu-smi set -t reset -i 1 -c 0", "all NPUs"),
    ],
)
def test_a_gpu_is_reset_by_the_tool_of_its_vendor(vendor: str, command: str, note: str) -> None:
    """By the number or address under which that tool knows it, and nothing that uses it breaks."""
    address = "00000000:3B:00.0"
    gpu = Gpu(3, uuid="u", name="n", vendor=vendor, pci_bus_id=address, npu_id=1, chip_id=0)
    assert command in text_of(gpu, "reset_command")
    assert note in text_of(gpu, "reset_note")
    texts = "".join(text_of(gpu, name) for name in TEXTS)
    assert vendor == "nvidia" or not re.search("nvidia-smi|dcgmi", texts)


def test_no_lost_gpu_is_reset_by_the_number_of_another() -> None:
    """The driver numbers anew the GPUs that are left when it is loaded without one of them."""
    cache = GpuCache(GpuConfig(), vendor="nvidia")
    lost, kept = (Gpu(n, f"GPU-{n}", "n", pci_bus_id=f"0000:0{n}:00.0") for n in range(2))
    cache.take(GpuAnswer((lost, kept)), 1.0)
    cache.take(GpuAnswer((replace(kept, index=0),)), 2.0)
    commands = [text_of(state.gpu, "reset_command") for state in cache.states(2.0)]
    assert len(set(commands)) == 2
