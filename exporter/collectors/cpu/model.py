"""Asks py-cpuinfo for the name of the CPU, in a process of its own."""

import logging
import sys
from collections.abc import Mapping

from exporter.probes.child import Children, Command, run_once
from exporter.probes.protocol import BadLine, decode_line

DEADLINE_SECS = 30.0
MAX_BYTES = 4096

log = logging.getLogger("exporter")


async def ask_cpu_model(children: Children, environment: Mapping[str, str]) -> str | None:
    """Return the name that py-cpuinfo finds, None if it finds none; takes a second of CPU time."""
    command = Command((sys.executable, "-m", "exporter.collectors.cpu.model_probe"), environment)
    try:
        finished = await run_once(
            children, command, timeout_secs=DEADLINE_SECS, limit_bytes=MAX_BYTES
        )
        model = decode_line(finished.output).get("cpu_model")
    except (OSError, BadLine) as error:
        log.debug("py-cpuinfo returned nothing: %s", error)
        return None
    return model if isinstance(model, str) else None
