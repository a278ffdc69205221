"""The real program pushes to a receiver, which goes away and comes back."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.otlp_receiver import receiving, samples_of_page
from tests.program import Program, wait_for

pytestmark = pytest.mark.system


def test_the_receiver_gets_the_page_and_may_be_gone(tmp_path: Path) -> None:
    """The same series by name and label; without a receiver collections go on as before."""
    with receiving() as receiver:
        changes: dict[str, dict[str, Any]] = {
            "otlp": {"endpoint": receiver.url, "interval_secs": 1},
            "metrics": {"collect_interval_secs": 0.5},
        }
        with Program(tmp_path, changes) as program:
            wait_for(lambda: len(receiver.requests) > 1, "two pushes")
            page = program.page_with("hw_exporter_otlp_pushes_total{").text
            pushed = {name for name, _ in receiver.samples()}
            receiver.status = 500
            program.page_with('outcome="failed"} ')
            before = program.collections()
            wait_for(lambda: program.collections() >= before + 4, "collections to go on", 5)
            said = [line["message"] for line in program.log_lines if "OTLP" in line["message"]]
    assert {name for name, _ in samples_of_page(page)} == pushed
    assert said == ["OTLP: the receiver answered 500 Internal Server Error"]
