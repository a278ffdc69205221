"""Checks of a metrics page, made with the parsers of prometheus_client."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.samples import Sample

from exporter.collectors.gpu.families import ROWS
from exporter.collectors.gpu.validation import BOUNDS
from exporter.commands.selfcheck import Broken, expect

PREFIX = "hw_"
GPU_FAMILIES = {f"hw_gpu_{field}": field for field in BOUNDS} | {
    f"hw_gpu_{row.name}": row.field for row in ROWS if row.field in BOUNDS
}
"""Families of GPUs with bounds, and the field of the bounds."""


class Page:
    """One page in both formats."""

    def __init__(self, text: str, openmetrics: str) -> None:
        self.text = text
        self.openmetrics = openmetrics

    @cached_property
    def families(self) -> list[Metric]:
        """The families of the text format; raises Broken."""
        return _parsed(parse_text, self.text)

    @property
    def samples(self) -> Iterable[Sample]:
        """All samples of the text format."""
        return (sample for family in self.families for sample in family.samples)

    def values(self, name: str) -> list[float]:
        """Return the values of one family; empty if it is not on the page."""
        return [sample.value for sample in self.samples if sample.name == name]


def _parsed(parse: Callable[[str], Iterable[Metric]], text: str) -> list[Metric]:
    try:
        return list(parse(text))
    except Exception as error:  # the parsers raise anything where a page is none
        raise Broken(f"the page cannot be parsed: {error!r}") from error


def both_formats_parse(page: Page) -> None:
    """Check that the strict parsers of both formats find samples."""
    expect(bool(page.families), "there is no family in the text format")
    expect(bool(_parsed(parse_openmetrics, page.openmetrics)), "there is none in OpenMetrics")


def every_family_is_described(page: Page) -> None:
    """Check that each family has HELP and TYPE once; the operator chooses how many there are."""
    helps = re.findall(r"^# HELP (\S+) \S", page.text, re.MULTILINE)
    types = re.findall(r"^# TYPE (\S+) \S", page.text, re.MULTILINE)
    names = set(re.findall(r"^([a-z_:A-Z0-9]+)\{", page.text, re.MULTILINE))
    expect(bool(types), "there are no families")
    expect(helps == types, "HELP and TYPE do not come in pairs")
    expect(len(set(types)) == len(types), "a family is described twice")
    expect(names <= set(types), f"not described: {sorted(names - set(types))[:3]}")


def every_sample_is_ours(page: Page) -> None:
    """Check the prefix of each sample, and `node` as its first label."""
    for sample in page.samples:
        expect(sample.name.startswith(PREFIX), f"{sample.name} has another prefix")
        expect(next(iter(sample.labels), "") == "node", f"{sample.name}: node is not first")


def counters_are_counters(page: Page) -> None:
    """Check that families that end in `_total`, and no others, are typed counter."""
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", page.text, re.MULTILINE):
        expect(name.endswith("_total") == (kind == "counter"), f"{name} is typed {kind}")


def no_series_is_there_twice(page: Page) -> None:
    """Check that each set of labels has one value."""
    series = Counter((s.name, tuple(sorted(s.labels.items()))) for s in page.samples)
    twice = [name for (name, _), count in series.items() if count > 1]
    expect(not twice, f"there twice: {twice[:3]}")


def gpus_are_plausible(page: Page) -> None:
    """Check with a driver that all counted GPUs are there, with plausible values."""
    count, ups = page.values("hw_gpu_count"), page.values("hw_gpu_up")
    is_right = not ups or count in ([], [float(len(ups))])  # metrics.deny may leave out either
    expect(is_right, f"hw_gpu_count is {count}, {len(ups)} are known")
    for name, field in GPU_FAMILIES.items():
        lowest, highest = BOUNDS[field]
        odd = [value for value in page.values(name) if not lowest <= value <= highest]
        expect(not odd, f"{name} is {odd[:3]}")


def idle_gpus_have_no_workload(page: Page) -> None:
    """Check that no workload uses a GPU if there are no processes on GPUs."""
    if any(page.values("hw_gpu_processes")):
        return
    used = page.values("hw_gpu_workload_processes")
    expect(not any(used), "there is no process on a GPU, and a workload that has some")


PAGE_CHECKS: tuple[tuple[str, Callable[[Page], None]], ...] = (
    ("both formats parse", both_formats_parse),
    ("HELP and TYPE for every family", every_family_is_described),
    ("prefix and node label", every_sample_is_ours),
    ("counters are typed counter", counters_are_counters),
    ("no duplicate series", no_series_is_there_twice),
    ("GPUs are plausible", gpus_are_plausible),
    ("idle GPUs have no workload", idle_gpus_have_no_workload),
)
