"""What the program's own page says about it."""

import re
import time
from collections.abc import Mapping

from tests.program import Program

ENOUGH_SECS = 30.0
PAUSE_SECS = 0.01


def total(page: str, name: str) -> float:
    """Return the sum of all samples of this name."""
    found = re.findall(rf"^{name}\{{[^\n]*\}} (\S+)$", page, re.MULTILINE)
    return sum(map(float, found))


def by_source(page: str) -> Mapping[str, float]:
    """Seconds of the last attempt of each source."""
    pattern = r'^hw_exporter_source_duration_seconds\{.*source="([^"]+)"\} (\S+)$'
    return {name: float(secs) for name, secs in re.findall(pattern, page, re.MULTILINE)}


def series(page: str) -> int:
    """How many series the page holds."""
    return sum(1 for line in page.splitlines() if line and line[0] != "#")


def complete_page(program: Program, gpus: int) -> str:
    """Return the first page that has every source and every GPU.

    It is looked for every ten milliseconds, also before the program listens: `wait_for` of the
    tests waits ever longer, 50 ms at half a second, which the figure of a start would contain.
    """
    began = time.monotonic()
    while (page := _look(program, gpus)) is None:
        if time.monotonic() - began > ENOUGH_SECS:
            raise TimeoutError(program.log_file.read_text())
        time.sleep(PAUSE_SECS)
    return page


def _look(program: Program, gpus: int) -> str | None:
    if b"listening on" not in program.log_file.read_bytes():
        return None
    try:
        answer = program.get("/metrics")
    except ConnectionRefusedError:
        return None
    is_complete = answer.status == 200 and answer.text.count("\nhw_gpu_up{") == gpus
    return answer.text if is_complete else None
