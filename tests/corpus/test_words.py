"""A recording says of a component only what its reader says: the words of fields that have few.

Recordings of before 2026-11-23 have older words, and stay as they are; of those since, the test
reads what is readable, and a share of the others.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from exporter.collectors.disk import diskstats
from exporter.collectors.ebpf.calls import CALLS
from exporter.collectors.everything import EVERYTHING
from exporter.collectors.gpu.nvml_probe import ecc, fabric, library, links, processes
from exporter.collectors.gpu.words import REASON_BITS, RECOVERY_ACTIONS
from exporter.collectors.network import infiniband
from exporter.collectors.pcie import devices
from exporter.collectors.workloads.processes import STATES
from exporter.faults.replay.renamed import Renaming
from exporter.faults.replay.steps import base_nodes, unfolded
from tests.corpus.cases import BATCHES, JUDGED_EVERY, Tree, folders, readable

FORMAT = EVERYTHING.recordings
REASONS = Path(__file__).parents[2] / "docs/troubleshooting.md"
NEWER = [folder for folder in folders() if folder.name >= "2026-11-23"]


def _reasons(heading: str) -> frozenset[str]:
    """Return the words of one table of reasons, which has those that the readers say."""
    section = REASONS.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return frozenset(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "Disks.disks.*.scsi_state": _words("running blocked offline transport-offline"),
        "Disks.disks.*.transport": frozenset(
            {*diskstats.BY_NAME.values(), *diskstats.BY_PATH.values()}
        ),
        "Expected.shortages.*.kind": _words("gpu nvlink port disk dimm memory"),
        "Gpus.backend.backend": _words("nvml nvidia-smi cache none demo"),
        "Gpus.backend.reason": _reasons("The node"),
        "Gpus.states.*.gpu.ecc_errors_total.*": _words("corrected uncorrected deferred"),
        "Gpus.states.*.gpu.ecc_errors_total.*.*": frozenset(ecc.COUNTERS),
        "Gpus.states.*.gpu.fabric_state": frozenset(fabric.STATES.values()),
        "Gpus.states.*.gpu.nvlink_errors_total.*": frozenset(
            {*links.LINK_ERRORS, *links.FIFTH_GENERATION}
        ),
        "Gpus.states.*.gpu.processes.*.kind": frozenset(kind for kind, _ in processes.LISTS),
        "Gpus.states.*.gpu.recovery_action": frozenset(RECOVERY_ACTIONS.values()),
        "Gpus.states.*.gpu.remapped_rows_total.*": frozenset(ecc.ERROR_TYPES),
        "Gpus.states.*.gpu.retired_pages_total.*": frozenset({*ecc.RETIRED_PAGES, "uncorrected"}),
        "Gpus.states.*.gpu.row_remap_banks.*": frozenset(ecc.AVAILABILITIES),
        "Gpus.states.*.gpu.throttle_active.*": frozenset(REASON_BITS),
        "Gpus.states.*.reason": _reasons("One GPU") | {*library.REASONS.values()},
        # drivers/infiniband/core/sysfs.c
        "Infiniband.ports.*.errors.*": frozenset(infiniband.ERRORS),
        "Infiniband.ports.*.events.*": frozenset(infiniband.EVENTS.values()),
        "Infiniband.ports.*.link_layer": _words("InfiniBand Ethernet"),
        "Infiniband.ports.*.phys_state": _words(
            "sleep polling disabled portconfigurationtraining linkup linkerrorrecovery phytest"
        ),
        "Infiniband.ports.*.state": _words("nop down init armed active active_defer"),
        "KernelLog.source": _words("kmsg syslog"),
        # drivers/md/md.c, md_seq_show
        "MdArrays.arrays.*.state": _words("active inactive broken"),
        # net/core/net-sysfs.c
        "Network.interfaces.*.operstate": _words(
            "unknown notpresent down lowerlayerdown testing dormant up"
        ),
        # drivers/nvme/host/sysfs.c
        "NvmeControllers.controllers.*.state": _words("new live resetting connecting dead"),
        "Pcie.devices.*.errors_by_severity.*": frozenset(devices.SEVERITIES),
        "Pcie.devices.*.kind": frozenset({*devices.KINDS.values(), "port"}),
        "Pressures.pressures.*.kind": _words("some full"),
        "Pressures.pressures.*.resource": _words("cpu memory io"),
        "Sensors.sensors.*.kind": _words("temperature fan voltage power"),
        # systemctl --state=help
        "Services.services.*.active_state": _words(
            "active reloading inactive failed activating deactivating maintenance refreshing"
        ),
        "TracedCalls.communicators.*.call": frozenset(
            {*(it.name for it in CALLS), "collective", ""}
        ),
        "Workloads.clients.*.state": frozenset({*STATES.values(), "other"}),
    }
)
"""The words by the path of the field; of a value with labels the labels, one `*` for each."""


def _said(hint: object, tree: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the texts and labels of a reading as a recording has them, each with its path."""
    for part, key, value in _parts(hint, tree):
        if key is None:
            yield from _said(part, value, path)
        else:
            if not is_dataclass(hint) and not is_dataclass(part):
                yield f"{path}.*", key
            yield from _said(part, value, f"{path}.{key if is_dataclass(hint) else '*'}")
    if hint is str and isinstance(tree, str):
        yield path, tree


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _parts(hint: object, tree: object) -> Iterator[tuple[object, str | None, object]]:
    """Yield what is below a value: its type, its field or label, and the value itself."""
    rows = tree.items() if isinstance(tree, dict) else ()
    if isinstance(hint, type) and is_dataclass(hint):
        hints = _hints(hint)
        yield from ((hints[name], name, value) for name, value in rows if name in hints)
    elif get_origin(hint) in {tuple, dict, frozenset}:
        yield from ((part, key, value) for part in get_args(hint) for key, value in rows)
    else:
        yield from ((part, None, tree) for part in get_args(hint))


def _of_readings(readings: Tree) -> set[tuple[str, str]]:
    known = ((name, tree) for name, tree in readings.items() if name in FORMAT.types)
    return {said for name, tree in known for said in _said(FORMAT.types[name], tree, name)}


def _wrong(readings: Tree) -> set[tuple[str, str]]:
    said = _of_readings(readings)
    return {
        (path, word)
        for path, word in said
        if (path in WORDS and word not in WORDS[path])
        or (path == "Services.services.*.service" and word.endswith(".service"))
    }


@pytest.mark.slow
@pytest.mark.parametrize("folder", NEWER, ids=lambda folder: folder.name)
def test_a_recording_says_only_what_readers_say(folder: Path) -> None:
    """An invented word would prove a rule on what no node says."""
    renaming = Renaming(FORMAT.old_names)
    wrong = set()
    for case in (*readable(folder), *BATCHES[folder.name][::JUDGED_EVERY]):
        for line in filter(str.strip, case.recording()):
            row: dict[str, Any] = {} if line.startswith("#") else json.loads(line)
            for tree in (row.get("readings", {}), unfolded(row.get("set", {}))):
                wrong |= {(case.name, *it) for it in _wrong(dict(renaming.read(tree)))}
    assert wrong == set()


def test_a_base_node_says_only_what_readers_say() -> None:
    """Nearly all newer recordings begin with one; they have most of these fields."""
    nodes = base_nodes(FORMAT.nodes)
    said = set().union(*(_of_readings(node["readings"]) for node in nodes.values()))
    assert {it for node in nodes.values() for it in _wrong(node["readings"])} == set()
    assert len({path for path, _ in said} & WORDS.keys()) >= 15
