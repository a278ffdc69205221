"""Writes the conditions as labels into a file that node-feature-discovery reads.

https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide.html#local-feature-source
"""

import re
from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.clock import rfc3339
from exporter.config import NodeConditions
from exporter.kubernetes.conditions import (
    GPU_HEALTHY,
    HARDWARE_HEALTHY,
    NodeCondition,
    Settling,
    conditions_of,
)
from exporter.kubernetes.writer import Present, Writer, log
from exporter.record import replace
from exporter.regular_file import FileUnusable, read_text

FILE = "hw-exporter"
PREFIX = "feature.node.kubernetes.io/hw-exporter."
NAMES = {GPU_HEALTHY: "gpu", HARDWARE_HEALTHY: "hardware"}
LINE = re.compile(rf"^{re.escape(PREFIX)}([a-z-]+)=(\w*)$", re.ASCII | re.MULTILINE)
MAX_FILE_BYTES = 4096
MAX_VALUE_CHARS = 63
VALID_SECS, REWRITTEN_SECS = 300.0, 60.0
"""Without a new file node-feature-discovery drops the labels after this time, at its next look."""


class LabelsLoop(Writer):
    """Replaces the file when a condition changes, and every minute, since it expires."""

    def __init__(
        self, settings: NodeConditions, node: str, present: Present, call: CallBlocking
    ) -> None:
        super().__init__(settings, node, present, "labels")
        self._call = call
        self._settling = Settling(settings.settle_secs, present.elapsed)
        self._written: tuple[NodeCondition, ...] | None = None
        self._written_at = 0.0

    async def step(self) -> None:
        """Replace the file if it is due.

        After a start what a file says is not healthy stays so until faults had time to be detected
        again, and until then a file is written only to say that something is not healthy.
        """
        now, folder = self._present.elapsed(), Path(self._settings.labels_dir)
        if self._settling.found is None:
            self._settling.found = await self._call(lambda: _unhealthy(folder))
        has_settled = self._settling.is_over
        known = {it.kind for it in self._written or ()}
        known |= set() if has_settled else self._settling.found.keys()
        settled = self._settling.settled(conditions_of(self._present.latest()), known)
        wanted = tuple(replace(it, message="") for it in settled)  # a message is not written
        is_new = wanted != self._written
        is_known = has_settled or any(it.status == "False" for it in wanted)
        if not is_known or not (is_new or now - self._written_at >= REWRITTEN_SECS):
            return
        text = labels(wanted, rfc3339(self._present.wall() + VALID_SECS))
        try:
            if not self._settings.dry_run:
                await self._call(lambda: _replace(folder, text))
        except OSError as error:
            self.complain(f"{folder}: {error.strerror}")
            return
        if is_new:
            result = "dry run" if self._settings.dry_run else "written"
            shown = ", ".join(line for line in text.splitlines() if not line.startswith("#"))
            log.info("node %s: labels %s: %s", self._node, shown, result)
        self._written, self._written_at = wanted, now
        self.is_well()


def labels(conditions: tuple[NodeCondition, ...], until: str) -> str:
    """Return the text of the file: the state of each condition, and the reason of a False one."""
    lines = [f"# +expiry-time={until}"]
    for condition in conditions:
        name = f"{PREFIX}{NAMES[condition.kind]}"
        lines.append(f"{name}-healthy={condition.status.lower()}")
        if condition.status == "False":
            lines.append(f"{name}-fault={condition.reason[:MAX_VALUE_CHARS]}")
    return "\n".join(lines) + "\n"


def _unhealthy(folder: Path) -> dict[str, NodeCondition]:
    """Return what the file in this folder says is not healthy; nothing if it cannot be read."""
    try:
        text = read_text(folder / FILE, MAX_FILE_BYTES)
    except FileUnusable:
        return {}  # a first start; a folder that cannot be read is said when it is written
    labelled = {line[1]: line[2] for line in LINE.finditer(text)}
    return {
        kind: NodeCondition(kind, "False", labelled.get(f"{name}-fault", ""), "")
        for kind, name in NAMES.items()
        if labelled.get(f"{name}-healthy") == "false"
    }


def _replace(folder: Path, text: str) -> None:
    """Replace the file in one step; names that begin with a dot are not read."""
    new = folder / f".{FILE}"
    new.unlink(missing_ok=True)
    with new.open("x", encoding="ascii") as file:
        file.write(text)
    new.chmod(0o644)
    new.replace(folder / FILE)
