"""What faults call their components."""

from exporter.collectors.everything import rule_book
from exporter.commands.rules import replayed
from tests.corpus.cases import CASES


def test_a_gpu_keeps_its_name_while_the_driver_is_loaded_anew() -> None:
    """A label that changes would be another alert, and another notification."""
    (case,) = (case for case in CASES if case.name == "failed_repair_survives_a_reset")
    moments = [conclusions for _, conclusions in replayed(case.recording(), rule_book())]
    names = {fault.subject.hw_name for conclusions in moments for fault in conclusions.faults}
    assert names == {"GPU 0"}
