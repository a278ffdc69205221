"""The OpenMetrics form of an expected page."""

import re


def as_openmetrics(page: str) -> str:
    """Convert a page of the text format: counters are named without `_total` in their heading.

    A counter of another name is a gauge there.
    """
    page = re.sub(
        r"^# TYPE (\S+)(?<!_total) counter$", r"# TYPE \1 gauge", page, flags=re.MULTILINE
    )
    return (
        re.sub(r"^(# (?:HELP|TYPE) \S+)_total (?=counter$|[A-Z])", r"\1 ", page, flags=re.MULTILINE)
        + "# EOF\n"
    )
