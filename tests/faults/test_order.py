"""What is said of an incident does not depend on how a process hashes texts."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from exporter.collectors.everything import EVERYTHING, rule_book
from exporter.commands.rules import concluded
from exporter.reports.faults import faults_document, history_document
from tests.corpus.cases import BATCHES, Case

NAMES = (
    "module_of_another_branch_knows_no_card",  # equal faults of all cards
    "faulty_program_is_started_again_and_again",  # processes that only events name
    "network_card_recovers",  # several faults end at once
    "half_of_a_mirror_refuses_a_write",  # a volume made of two disks
)
"""Recordings that were judged otherwise by another process while sets decided on an order."""


def pages(cases: list[Case]) -> bytes:
    """Return the page of faults, with the components and edges, after each moment."""
    lines = []
    for case in cases:
        for snapshot, said in concluded(case.recording(), rule_book(), EVERYTHING):
            page = faults_document(replace(snapshot, conclusions=said))
            places = [subject.key for subject in said.subjects]
            edges = [(it.relation, it.source, it.target) for it in said.graph]
            lines.append(json.dumps([page, history_document(said.history), places, edges]))
    return "\n".join(lines).encode()


@pytest.mark.system
def test_two_processes_say_the_same() -> None:
    """Byte for byte, with different hashes of all texts."""
    said = [
        subprocess.run(
            [sys.executable, "-m", "tests.faults.test_order"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0].count(b"\n") > len(NAMES)
    assert said[0] == said[1]


if __name__ == "__main__":
    known = {case.name: case for batch in BATCHES.values() for case in batch}
    sys.stdout.buffer.write(pages([known[name] for name in NAMES]))
