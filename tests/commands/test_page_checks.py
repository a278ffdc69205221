"""What the selfcheck finds on a page."""

from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.commands import page_checks
from exporter.commands.page_checks import PAGE_CHECKS, Page
from exporter.commands.selfcheck import Broken
from tests.golden.openmetrics import as_openmetrics

PAGES = Path(__file__).parent.parent / "golden/pages"


def _page(text: str | None = None) -> Page:
    good = (PAGES / "gpus_by_nvml.prom").read_text("utf-8")
    openmetrics = as_openmetrics(good)
    return Page(good if text is None else good + text, openmetrics)


@pytest.mark.parametrize("check", [check for _, check in PAGE_CHECKS], ids=lambda c: c.__name__)
def test_a_good_page_passes(check: Callable[[Page], None]) -> None:
    """A golden page keeps every promise."""
    check(_page())


@pytest.mark.parametrize(
    ("check", "addition"),
    [
        (page_checks.both_formats_parse, "hw_x{node= 1\n"),
        (page_checks.every_family_is_described, 'hw_new{node="a"} 1\n'),
        (page_checks.every_family_is_described, "# TYPE hw_new gauge\n"),
        (page_checks.every_sample_is_ours, 'up{node="a"} 1\n'),
        (page_checks.every_sample_is_ours, 'hw_new{gpu="0",node="a"} 1\n'),
        (page_checks.every_sample_is_ours, "hw_new 1\n"),
        (page_checks.counters_are_counters, "# HELP hw_a_total a\n# TYPE hw_a_total gauge\n"),
        (page_checks.counters_are_counters, "# HELP hw_a a\n# TYPE hw_a counter\n"),
        (page_checks.no_series_is_there_twice, 'hw_new{node="a"} 1\nhw_new{node="a"} 2\n'),
        (page_checks.gpus_are_plausible, 'hw_gpu_up{node="a",gpu_uuid="x"} 1\n'),
        (page_checks.gpus_are_plausible, 'hw_gpu_temperature_celsius{node="a"} 4e9\n'),
        (page_checks.gpus_are_plausible, 'hw_gpu_ecc_volatile_errors_total{node="a"} 2e19\n'),
    ],
)
def test_a_broken_promise_is_found(check: Callable[[Page], None], addition: str) -> None:
    """Each check fails for what it is there to find."""
    with pytest.raises(Broken):
        check(_page(addition))


def test_an_empty_page_is_not_good() -> None:
    """Nothing at all is not a page without mistakes."""
    with pytest.raises(Broken):
        page_checks.both_formats_parse(Page("", "# EOF\n"))
    with pytest.raises(Broken):
        page_checks.every_family_is_described(Page("", "# EOF\n"))


def test_a_workload_without_a_process_is_found() -> None:
    """An idle node has no workload."""
    used = 'hw_gpu_workload_processes{node="a",pod="p"} 2\n'
    with pytest.raises(Broken):
        page_checks.idle_gpus_have_no_workload(Page('hw_gpu_processes{node="a"} 0\n' + used, ""))
    page_checks.idle_gpus_have_no_workload(Page('hw_gpu_processes{node="a"} 2\n' + used, ""))
