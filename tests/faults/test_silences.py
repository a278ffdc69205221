"""Silences: which faults are set aside, what a bad one costs, and what a restart keeps."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.exporter.incidents import incidents_of
from exporter.faults.entities.silenced import silenced
from exporter.faults.silences import (
    MAX_SILENCES,
    BadSilence,
    Silences,
    state_file,
)
from exporter.model.silence import Silence
from exporter.model.verdict import Cause, Conclusions, Edge, Subject
from exporter.toml import tomllib
from tests.faults.conclusions import (
    CONCLUSIONS,
    DISK,
    GPU,
    NODE,
    PROCESS,
    SINCE,
    fault,
)

NOW = SINCE + 100
RULES = ("disk_io_errors", "gpu_hot", "process_waits")
LINK = Subject("nvlink", "nvlink", "GPU-a/3", "GPU 0 NVLink 3")
REASON: Mapping[str, Any] = {"for": "2h", "reason": "swap the disk"}
TABLE = tomllib.loads(Path(__file__).with_name("bad_silences.toml").read_text("utf-8"))
BAD = [
    *TABLE["refused"],
    ({**REASON, "reason": "x" * 201}, "reason must be a text of at most 200"),
]


def silences(folder: Path | None = None, *files: Path) -> Silences:
    """Return the silences of a node with three rules, and one of a collector that is off."""
    file = None if folder is None else state_file(folder)
    return Silences(file, tuple(map(str, files)), RULES, lambda: (*RULES, "rank_late"))


def rules_of_silenced(conclusions: Conclusions, **silence: str) -> list[str]:
    """Return the rules of the faults that this silence sets aside."""
    made = Silence("1", NOW + 60, "me", "test", **silence)  # type: ignore[arg-type]  # texts by name
    found = silenced(conclusions, [made])
    return [each.rule for each in found.active if each.silence == made]


@pytest.mark.parametrize(
    ("silence", "rules"),
    [
        ({}, ["disk_io_errors", "process_waits"]),
        ({"rule": "disk_io_errors"}, ["disk_io_errors", "process_waits"]),
        ({"rule": "process_waits"}, ["process_waits"]),
        ({"component": "nvme0n1"}, ["disk_io_errors", "process_waits"]),
        ({"component": "NVMe0n1 "}, ["disk_io_errors", "process_waits"]),
        ({"component": "nvme0n1", "rule": "gpu_hot"}, []),
        ({"component": "gpu0"}, []),
    ],
)
def test_a_silence_covers_a_fault_and_what_follows_from_it(
    silence: dict[str, str], rules: list[str]
) -> None:
    """By rule, by component, by both, or the whole node; never a fault beside it."""
    assert rules_of_silenced(CONCLUSIONS, **silence) == rules


def test_a_component_is_silenced_with_its_parts() -> None:
    """A fault of a link of the GPU is set aside with the GPU, but not the other way round."""
    edges = (Edge("part_of", LINK.key, GPU.key),)
    hot, down = fault("gpu_hot", GPU), fault("nvlink_down", LINK)
    both = replace(CONCLUSIONS, faults=(hot, down), graph=edges, subjects=(GPU, LINK))
    assert rules_of_silenced(both, component="GPU 0") == ["gpu_hot", "nvlink_down"]
    assert rules_of_silenced(both, component="GPU-a/3") == ["nvlink_down"]


def test_parts_stay_silenced_while_the_component_is_out() -> None:
    """A filesystem of a disk that was pulled out, but not one that is on another disk by now."""
    mount, other = Subject("filesystem", "logical_disk", "/data", "/data"), NODE
    edge = Edge("part_of", mount.key, DISK.key)
    failed = fault("filesystem_shutdown", mount, "critical")
    before = replace(CONCLUSIONS, faults=(), graph=(edge,), subjects=(DISK, mount))
    out = replace(before, faults=(failed,), graph=(), subjects=(mount,))
    moved = replace(out, graph=(replace(edge, target=other.key),))
    known = silences()
    known.add({**REASON, "component": "nvme0n1"}, before, NOW)
    assert known.applied(before, NOW).is_healthy
    assert known.applied(out, NOW + 15).is_healthy
    assert known.applied(out, NOW + 30).is_healthy
    assert not known.applied(moved, NOW + 45).is_healthy


def test_a_silence_does_not_cover_siblings() -> None:
    """A fault that began on the silenced GPU and is on another by now pages, on both."""
    sibling = replace(GPU, hw_id="GPU-b", hw_name="GPU 1")
    first = fault("gpu_lost", GPU, "critical")
    cause = Cause("gpu_lost", GPU, "siblings", "", SINCE)
    second = fault("gpu_lost", sibling, "critical", causes=(cause,))
    work = Cause("gpu_lost", sibling, "consumes", "", SINCE)
    ended = fault("process_crashed", PROCESS, "critical", causes=(work, cause))
    alone = replace(CONCLUSIONS, faults=(first,))
    both = replace(CONCLUSIONS, faults=(first, second, ended))
    assert rules_of_silenced(alone, component="GPU-a") == ["gpu_lost"]
    assert rules_of_silenced(both, component="GPU-a") == []
    assert rules_of_silenced(both, component="GPU-b") == ["gpu_lost", "process_crashed"]
    assert len(rules_of_silenced(both, rule="gpu_lost")) == 3
    parent = Cause("gpu_lost", NODE, "siblings", "", SINCE)
    below = replace(both, faults=(fault("gpu_lost", GPU, "critical", causes=(parent,)),))
    assert rules_of_silenced(below, component="n1") == ["gpu_lost"]


def test_a_silenced_critical_fault_leaves_the_node_healthy() -> None:
    """It stays active; the verdict does not count it, and its incident says so."""
    quiet = silenced(CONCLUSIONS, [Silence("1", NOW + 60, "me", "test")])
    assert not CONCLUSIONS.is_healthy
    assert quiet.is_healthy
    assert len(quiet.active) == len(CONCLUSIONS.active)
    assert [bool(incident.silence) for incident in incidents_of(quiet)] == [True]


def test_an_incident_has_the_severity_of_what_is_not_silenced() -> None:
    """A silenced effect does not make its root louder; the incident itself is not silenced."""
    root = fault("disk_io_errors", DISK, "warning")
    effect = replace(CONCLUSIONS.faults[1], severity="critical")
    only = [Silence("1", NOW + 60, "me", "test", rule="process_waits")]
    (incident,) = incidents_of(silenced(replace(CONCLUSIONS, faults=(root, effect)), only))
    assert (incident.severity, incident.silence) == ("warning", None)


def test_the_silence_that_lasts_longest_is_named() -> None:
    """Two silences of one fault are told as the later end."""
    short, long = (Silence(id_, NOW + secs, "me", "") for id_, secs in (("1", 60), ("2", 90)))
    found = silenced(CONCLUSIONS, [short, long])
    assert {each.silence for each in found.active} == {long}


def test_a_silence_ends_by_itself() -> None:
    """From its end on it is not listed and covers nothing."""
    known = silences()
    made = known.add(REASON, CONCLUSIONS, NOW)
    assert made.until == NOW + 7200
    assert known.active(made.until - 1) == (made,)
    assert known.active(made.until) == ()
    assert known.applied(CONCLUSIONS, made.until) is CONCLUSIONS


def test_a_silence_made_while_the_clock_was_ahead_does_not_last_for_years() -> None:
    """Once the clock is right it covers nothing; a step by hours costs no silence."""
    known = silences()
    known.add(REASON, CONCLUSIONS, NOW + 1000 * 86_400)
    made = known.add(REASON, CONCLUSIONS, NOW + 5 * 3600)
    assert known.active(NOW) == (made,)


@pytest.mark.parametrize(("wanted", "sentence"), BAD)
def test_a_bad_silence_is_one_sentence(wanted: dict[str, Any], sentence: str) -> None:
    """It says what is wrong and what is allowed; nothing is silenced."""
    known = silences()
    with pytest.raises(BadSilence, match=sentence):
        known.add(wanted, CONCLUSIONS, NOW)
    assert known.active(NOW) == ()


def test_there_are_at_most_a_hundred() -> None:
    """One more is refused in a sentence; those that have ended do not count."""
    known = silences()
    for _ in range(MAX_SILENCES):
        known.add(REASON, CONCLUSIONS, NOW)
    with pytest.raises(BadSilence, match="there are 100 silences already"):
        known.add(REASON, CONCLUSIONS, NOW)
    assert known.add(REASON, CONCLUSIONS, NOW + 7200).id == "101"


def test_a_restart_and_a_reboot_keep_silences(tmp_path: Path) -> None:
    """The next process has the same; what was ended stays ended."""
    first = silences(tmp_path)
    kept = first.add({**REASON, "component": "GPU 0", "by": "me"}, CONCLUSIONS, NOW)
    ended = first.add(REASON, CONCLUSIONS, NOW)
    first.end(ended.id, NOW)
    assert first.save()
    assert (kept.hw_type, kept.component) == ("gpu", "GPU-a")
    assert silences(tmp_path).active(NOW) == (kept,)


def test_an_id_is_given_once(tmp_path: Path) -> None:
    """Whoever ends a silence that is over ends that of nobody else, also after a restart."""
    first = silences(tmp_path)
    mine = first.add(REASON, CONCLUSIONS, NOW)
    first.end(mine.id, NOW)
    yours = first.add(REASON, CONCLUSIONS, NOW)
    first.end(yours.id, NOW)
    assert first.save()
    next_one = silences(tmp_path).add(REASON, CONCLUSIONS, NOW)
    assert len({mine.id, yours.id, next_one.id}) == 3


def test_silences_of_an_earlier_version_keep_their_ids(tmp_path: Path) -> None:
    """Its file does not say which id was the last."""
    document = {"version": 1, "boot_id": "every boot", "silences": [MADE]}
    (tmp_path / "silences.json").write_text(json.dumps(document))
    assert silences(tmp_path).add(REASON, CONCLUSIONS, NOW).id == "2"


MADE = asdict(Silence("1", NOW + 60, "me", "test", since=NOW))


@pytest.mark.parametrize(
    "row",
    [
        *({}, 5, {"until": "x"}, {"id": 3}),
        *(MADE | {"until": until} for until in (1e300, math.inf, math.nan, "nan", NOW - 60)),
        *(MADE | {"since": since} for since in (0, math.nan)),
    ],
)
def test_a_damaged_file_costs_itself(tmp_path: Path, row: object) -> None:
    """It is set aside, and there are no silences."""
    document = {"version": 1, "boot_id": "every boot", "silences": [row]}
    (tmp_path / "silences.json").write_text(json.dumps(document))
    assert silences(tmp_path).active(NOW) == ()
    assert (tmp_path / "silences.json.bad").exists()


def test_an_unwritable_directory_is_told(tmp_path: Path) -> None:
    """The silence counts now; whoever asked for it is told that a restart loses it."""
    known = silences(tmp_path / "nowhere")
    known.add(REASON, CONCLUSIONS, NOW)
    assert not known.save()
    assert known.active(NOW)


def test_files_hold_silences_too(tmp_path: Path) -> None:
    """They are read when they appear and again when they change; a mistake costs one silence."""
    known = silences(None, tmp_path)
    known.reread(NOW)
    assert known.active(NOW) == ()
    file = tmp_path / "site.toml"
    text = '[[silence]]\nrule = "rank_late"\nuntil = 2023-11-20T00:00:00Z\nreason = "rollout"\n'
    file.write_text(f'{text}[[silence]]\nrule = "rank_lte"\nuntil = 2023-11-20T00:00:00Z\n')
    known.reread(NOW)
    (made,) = known.active(NOW)
    assert (made.rule, made.by, made.file) == ("rank_late", "site.toml", str(file))
    assert [*known.mistakes] == [f"{file}: silence 2: reason is missing"]
    with pytest.raises(BadSilence, match=r"is in .*site.toml: remove it there"):
        known.end(made.id, NOW)
    file.write_text("[[silence]\n")
    known.reread(NOW)
    assert known.active(NOW) == ()
    assert "is not valid TOML" in known.mistakes[0]
    file.unlink()
    known.reread(NOW)
    assert [*known.mistakes] == []


def test_a_file_counts_once_what_was_wrong_is_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A clock that is set after the boot, and a file that may be read; a mistake is told once."""
    known, file = silences(None, tmp_path), tmp_path / "site.toml"
    file.write_text('[[silence]]\nuntil = 2023-11-20T00:00:00Z\nreason = "rollout"\n')
    for now in (1000.0, 1015.0, 1090.0):
        known.reread(now)
        assert known.active(now) == ()
    assert [each.getMessage() for each in caplog.records] == [
        f"silences: {file}: silence 1: a silence may last 90 days at most"
    ]
    known.reread(NOW)
    (made,) = known.active(NOW)
    assert made.since == NOW
    if os.geteuid() != 0:
        file.chmod(0)
        known.reread(NOW + 15)
        assert known.active(NOW + 15) == ()
    file.chmod(0o600)
    known.reread(NOW + 16)
    assert [each.until for each in known.active(NOW + 16)] == [made.until]


def test_a_file_that_is_read_again_keeps_its_silences(tmp_path: Path) -> None:
    """Another silence in it changes nothing of the first."""
    known, file = silences(None, tmp_path), tmp_path / "site.toml"
    text = '[[silence]]\nuntil = 2023-11-20T00:00:00Z\nreason = "rollout"\n'
    file.write_text(text)
    known.reread(NOW)
    file.write_text(f"{text}{text}")
    known.reread(NOW + 15)
    assert [each.since for each in known.active(NOW + 15)] == [NOW, NOW + 15]
