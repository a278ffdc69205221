"""/faults and /why: what is said, in both forms, and which questions are refused."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporter.faults.explain import LED_BACK, NO_WAY, Wanted
from exporter.model.verdict import Conclusions, Edge, Subject
from exporter.reports.text.why import why_text
from exporter.reports.why import WORDS, WORDS_BACK, why_document
from tests.faults.conclusions import CONCLUSIONS, DISK, GPU, NODE, PROCESS, fault
from tests.web.serving import serving, snapshot

COLLECTORS = Path(__file__).resolve().parents[2] / "exporter/collectors"
SNAPSHOT = replace(snapshot("n1"), conclusions=CONCLUSIONS)


async def asked(path: str, **headers: str) -> tuple[int, Any]:
    """Status and document of one answer."""
    async with serving(SNAPSHOT) as server:
        answer = await server.get(path, **headers)
    is_json = answer.headers["content-type"].startswith("application/json")
    return answer.status, json.loads(answer.body) if is_json else answer.body.decode()


async def test_faults_are_said_with_everything_known() -> None:
    """Each fault has its evidence, its cause chain, what to do and who is affected."""
    status, document = await asked("/faults")
    assert status == 200
    assert (document["node"], document["healthy"]) == ("n1", False)
    broken, waiting, over, doubted = document["faults"]
    assert broken == {
        "rule": "disk_io_errors",
        "severity": "critical",
        "state": "active",
        "entity": {"hw_type": "physical_disk", "hw_id": "nvme0n1", "hw_name": "nvme0n1"},
        "since": 1_700_000_000.0,
        "ended": None,
        "confidence": 0.9,
        "summary": "disk_io_errors of nvme0n1",
        "evidence": [
            {
                "name": "block_io_error",
                "value": 3,
                "threshold": "in 600 s",
                "time": 1_700_000_000.0,
                "raw": "I/O error, dev nvme0n1",
            }
        ],
        "root": True,
        "causes": [],
        "action": "check",
        "action_text": "",
        "runbook": "disk_io_errors",
        "affected": [{"hw_type": "process", "hw_id": "4242", "hw_name": "train (4242)"}],
        "affected_count": 1,
        "silenced": None,
        "times": 1,
    }
    assert [cause["rule"] for cause in waiting["causes"]] == ["disk_io_errors"]
    assert (over["state"], doubted["state"]) == ("cleared", "unjudged")
    assert document["unjudged"][0]["rules"] == ["gpu_lost"]


async def test_where_nobody_judges_health_is_unknown() -> None:
    """No conclusions: no faults, `healthy` is null, and /why does not say that there are none."""
    async with serving(snapshot("n1")) as server:
        answer = await server.get("/faults")
        for form in ("text", "html"):
            why = (await server.get(f"/why?format={form}")).body.decode()
            assert "Unknown: no rules are evaluated on this node" in why
            assert "No active fault" not in why
    expected: dict[str, Any] = {"node": "n1", "healthy": None, "faults": []}
    expected |= {"incidents": [], "stale_gpus": "", "unjudged": []}
    assert json.loads(answer.body) == expected


async def test_why_leads_from_a_process_to_the_root() -> None:
    """The causes are ranked, each with its path; what is well and what is unknown is said."""
    status, document = await asked("/why?pid=4242")
    assert status == 200
    assert document["subject"]["hw_id"] == "4242"
    first, second = document["causes"]
    assert first["path"] == [
        "process train (4242) waits for physical disk nvme0n1 (asleep for 20 s)",
        "physical disk nvme0n1 has disk_io_errors since 2023-11-14T22:13:20Z",
    ]
    assert second["fault"]["rule"] == "process_waits"
    assert second["root"]["rule"] == "disk_io_errors"
    assert [row["rules"] for row in document["unknown"]] == [["gpu_lost"]]


async def test_only_what_was_judged_is_healthy() -> None:
    """What has a fault, a rule that could not be judged, or nothing to judge is not healthy.

    The names of what is healthy come with all=1 only; without they are counted.
    """
    spare = replace(DISK, hw_id="sda", hw_name="sda")
    mute = replace(DISK, hw_id="sdb", hw_name="sdb")
    conclusions = replace(
        CONCLUSIONS,
        subjects=(*CONCLUSIONS.subjects, spare, mute),
        silent={spare: ("disk_slow",), mute: ("disk_io_errors", "disk_slow")},
    )
    found = why_document(replace(SNAPSHOT, conclusions=conclusions), Wanted(everything=True))
    healthy = {row["entity"]["hw_id"]: row["rules"] for row in found["healthy"]}
    assert healthy == {"sda": ["disk_io_errors"]}
    counted = why_document(replace(SNAPSHOT, conclusions=conclusions), Wanted())
    assert (counted["healthy_counts"], counted["healthy"]) == ({"physical_disk": 1}, [])


async def test_a_workload_suffers_what_its_processes_and_their_gpus_suffer() -> None:
    """Also what names it as affected; a neighbour on the same GPU is not to blame for anything."""
    job = Subject("workload", "workload", "ml/train", "ml/train")
    other = Subject("process", "process", "77", "other (77)")
    link = Subject("nvlink", "nvlink", "a/3", "GPU 0 link 3")
    conclusions = replace(
        CONCLUSIONS,
        subjects=(*CONCLUSIONS.subjects, job, other, link),
        graph=(
            *CONCLUSIONS.graph,
            Edge("runs_in", PROCESS.key, job.key),
            Edge("consumes", other.key, GPU.key),
        ),
        faults=(
            *CONCLUSIONS.faults,
            fault("gpu_hot", GPU),
            fault("process_crashed", other),
            fault("nvlink_fatal", link, "critical", affected=(PROCESS, job)),
        ),
    )
    told = replace(SNAPSHOT, conclusions=conclusions)
    for wanted in (Wanted(hw_id="ml/train"), Wanted(pid="4242")):
        causes = why_document(told, wanted)["causes"]
        rules = {cause["fault"]["rule"]: cause["path"][0] for cause in causes}
        assert set(rules) == {"disk_io_errors", "process_waits", "gpu_hot", "nvlink_fatal"}
        assert rules["nvlink_fatal"].endswith("is affected by it")
    causes = why_document(told, Wanted(hw_id="ml/train"))["causes"]
    hot = next(cause for cause in causes if cause["fault"]["rule"] == "gpu_hot")
    assert hot["path"][:2] == [
        "workload ml/train runs process train (4242)",
        "process train (4242) uses GPU 0",
    ]
    shared = {
        cause["fault"]["rule"] for cause in why_document(told, Wanted(hw_id="GPU-a"))["causes"]
    }
    assert "process_crashed" in shared


async def test_no_more_causes_than_anybody_reads() -> None:
    """Of many faults the first are named, the roots and the severe before the others."""
    many = tuple(fault(f"rule_{n}", replace(DISK, hw_id=f"d{n}")) for n in range(9))
    subjects = (NODE, *(each.subject for each in many))
    conclusions = replace(CONCLUSIONS, subjects=subjects, faults=many)
    document = why_document(replace(SNAPSHOT, conclusions=conclusions), Wanted(), max_causes=4)
    assert [cause["fault"]["rule"] for cause in document["causes"]] == [
        f"rule_{n}" for n in range(4)
    ]


async def test_what_the_node_shares_comes_last() -> None:
    """A graver fault of the whole node stands behind the cause of the process's own fault."""
    shared = fault("memory_short", NODE, "critical")
    worse = replace(CONCLUSIONS, faults=(shared, *CONCLUSIONS.faults))
    document = why_document(replace(SNAPSHOT, conclusions=worse), Wanted(pid="4242"))
    rules = [cause["fault"]["rule"] for cause in document["causes"]]
    assert rules == ["disk_io_errors", "process_waits", "memory_short"]


async def test_why_of_a_component() -> None:
    """A component is found by its id or its name."""
    for path in ("/why?hw_id=nvme0n1", "/why?hw_id=GPU%200", "/why?hw_id=GPU-a"):
        status, _ = await asked(path)
        assert status == 200
    _, document = await asked("/why?hw_id=nvme0n1")
    assert [cause["fault"]["rule"] for cause in document["causes"]] == ["disk_io_errors"]


async def test_why_without_a_question_is_about_the_node() -> None:
    """All active faults, roots first."""
    _, document = await asked("/why")
    assert [cause["fault"]["rule"] for cause in document["causes"]] == [
        "disk_io_errors",
        "process_waits",
    ]


@pytest.mark.parametrize(
    ("path", "accept"), [("/why?pid=4242&format=text", ""), ("/why?pid=4242", "text/plain")]
)
async def test_people_can_read_it(path: str, accept: str) -> None:
    """The same content in sentences, by parameter or by Accept header."""
    status, text = await asked(path, Accept=accept)
    assert status == 200
    assert text.splitlines() == [
        "process train (4242) on n1",
        "waits for physical disk nvme0n1: asleep for 20 s",
        "1. disk_io_errors of nvme0n1, and another fault follows from it (critical)",
        "   process train (4242) waits for physical disk nvme0n1 (asleep for 20 s)",
        "   physical disk nvme0n1 has disk_io_errors since 2023-11-14T22:13:20Z",
        "   evidence: I/O error, dev nvme0n1",
        "   affects: process train (4242)",
        "   do: Check",
        "   runbook: /runbooks/disk_io_errors",
        "Not evaluated:",
        "   GPU 0: gpu_lost",
    ]


def test_what_is_well_does_not_fill_the_screen() -> None:
    """On a large node what is well is one line, and what could not be judged a few short ones.

    On demand each component has a line with all its rules.
    """
    rules = [f"rule_{n}" for n in range(40)]
    rows = [
        {"entity": {"hw_type": "gpu", "hw_id": f"GPU-{n}", "hw_name": f"GPU {n}"}, "rules": rules}
        for n in range(16)
    ]
    subject = {"hw_type": "node", "hw_id": "n1", "hw_name": "n1"}
    document = {
        "node": "n1",
        "evaluated": True,
        "subject": subject,
        "waits": [],
        "causes": [],
        "healthy_counts": {"gpu": 16},
        "healthy": rows,
        "unknown": rows,
    }
    text = why_text(document)
    lines = text.splitlines()
    assert lines[2] == "16 components healthy (16 GPUs)"
    assert lines[4] == "   GPU 0: rule_0, rule_1, rule_2, rule_3, and 36 more"
    assert lines[-1] == "   and 11 more"
    assert len(lines) == 10
    assert len(text) < 2048
    everything = why_text(document, everything=True).splitlines()
    assert everything[3] == "Healthy:"
    assert everything[-1] == f"   GPU 15: {', '.join(rules)}"


async def test_who_holds_a_lock_is_named() -> None:
    """A process that waits for another one says for whom, although nothing else is wrong there."""
    owner = Subject("process", "process", "4711", "trainer (4711)")
    held = Edge("waits_on", PROCESS.key, owner.key, "the kernel names it")
    said = Conclusions(subjects=(NODE, PROCESS, owner), graph=(held,))
    document = why_document(replace(SNAPSHOT, conclusions=said), Wanted(pid="4242"))
    assert [row["entity"]["hw_name"] for row in document["waits"]] == ["trainer (4711)"]
    assert "waits for process trainer (4711): the kernel names it" in why_text(document)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("pid=x", 400),
        ("pid=-1", 400),
        ("pid=", 400),
        ("pid=1&pid=2", 400),
        ("pid=1&hw_id=a", 400),
        ("pid=99999999999", 400),
        ("pid=%C2%B2", 400),
        ("hw_id=" + "x" * 300, 400),
        ("colour=red", 400),
        ("format=xml", 400),
        ("all=yes", 400),
        ("pid=7", 404),
        ("hw_id=none", 404),
    ],
)
async def test_other_questions_are_refused(query: str, status: int) -> None:
    """Malformed is 400, unknown is 404, both with one sentence."""
    found, document = await asked(f"/why?{query}")
    assert found == status
    assert list(document) == ["error"]


@pytest.mark.parametrize(
    ("query", "rules"),
    [
        ("since=1s", {"disk_io_errors", "process_waits"}),
        ("rule=process_waits", {"disk_io_errors", "process_waits"}),
        ("rule=gpu_lost", set()),
        ("until=2001-01-01T00:00:00Z", set()),
    ],
)
async def test_chosen_faults_do_not_make_a_node_healthy(query: str, rules: set[str]) -> None:
    """The verdict is that of the node; a chosen fault is there with its active causes.

    An active fault is in each time since it began.
    """
    later = replace(SNAPSHOT, taken_at=1_700_864_000.0)
    async with serving(later) as server:
        found = json.loads((await server.get(f"/faults?{query}")).body)
        text = (await server.get(f"/faults?{query}&format=text")).body.decode()
    assert {fault["rule"] for fault in found["faults"]} == rules
    assert "1 critical" in text.splitlines()[0]
    assert "ended before" not in text
    assert "Healthy" not in text


async def test_a_time_that_ends_before_it_begins_is_refused() -> None:
    """Two hours ago is before one hour ago: no answer would say that nothing happened."""
    assert (await asked("/faults?since=1h&until=2h"))[0] == 400
    assert (await asked("/faults?since=2h&until=1h"))[0] == 200


async def test_processes_are_a_table_in_a_browser() -> None:
    """Who asks for HTML gets a page; everybody else the same document as before."""
    status, page = await asked("/processes", Accept="text/html")
    assert (status, page.startswith("<!doctype html>")) == (200, True)
    assert "processes on GPUs" in page
    assert (await asked("/processes"))[1]["processes"] == []
    assert (await asked("/processes", Accept="*/*"))[1]["processes"] == []


def test_every_relation_is_said_in_words() -> None:
    """A path names no relation as rules write it: each that a collector draws has its words."""
    drawn = {
        found
        for file in COLLECTORS.rglob("*.py")
        for found in re.findall(r'Edge\("(\w+)"', file.read_text("utf-8"))
    }
    assert drawn - {*WORDS, *NO_WAY} == set()
    assert {*LED_BACK} == WORDS_BACK.keys()
    assert not [word for word in (*WORDS.values(), *WORDS_BACK.values()) if "_" in word]
