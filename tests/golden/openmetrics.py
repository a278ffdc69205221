"""The expected pages, and their OpenMetrics form."""

import re
from pathlib import Path

PAGES = Path(__file__).parent / "pages"

UNIT = "bytes_per_second|bytes|seconds|celsius|watts|joules|hertz|volts|ratio|percent|rpm"


def as_openmetrics(page: str) -> str:
    """Convert a page of the text format: families have names without suffixes, types and units."""
    for suffix, old, new in (("total", "counter", "counter"), ("info", "gauge", "info")):
        page = re.sub(
            rf"^(# HELP \S+)_{suffix}( .*\n# TYPE \S+)_{suffix} {old}$",
            rf"\1\2 {new}",
            page,
            flags=re.MULTILINE,
        )
    is_unit = rf"^(# TYPE (\S+_({UNIT})) (?:counter|gauge|histogram))$"
    return re.sub(is_unit, r"\1\n# UNIT \2 \3", page, flags=re.MULTILINE) + "# EOF\n"
