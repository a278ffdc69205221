"""The IMEX domain by `nvidia-imex-ctl -N -j`, which asks the IMEX service of each of its nodes.

The program reads `/etc/nvidia-imex/config.cfg` and `nodes_config.cfg`; all nodes must have
`IMEX_CMD_ENABLED=1` and `IMEX_CMD_PORT`:
https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/cmdservice.html
It runs in a child beside collections: a node that does not answer delays the next answer only.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any

from exporter.blocking import wait_for_any
from exporter.collectors.imex.values import ImexDomain, ImexNode
from exporter.model.label import clean_text
from exporter.model.reading import Reading
from exporter.probes.backoff import Backoff
from exporter.probes.child import Command, run_once
from exporter.probes.protocol import BadLine, decode_line
from exporter.probes.trusted_program import first_trustworthy, paths_in
from exporter.reading.context import SourceContext
from exporter.reading.source import SourceAbsent, SourceFailed

PROGRAM = "nvidia-imex-ctl"
ARGUMENTS = ("-N", "-j")
TIMEOUT_SECS = 8.0
WAIT_SECS = 0.5
"""How long a collection waits for an answer; a later answer is published when it comes."""
OUTPUT_LIMIT_BYTES = 1024 * 1024
MAX_NODES = 256
UP = {"UP": True, "DEGRADED": False, "DOWN": False}
READY, CONNECTED = "READY", "CONNECTED"
NO_TRAFFIC_PORT = 9

IsOwn = Callable[[str], bool]


def is_own_address(host: str) -> bool:
    """Tell whether the IP address is one of this node; sends nothing."""
    try:
        address = ip_address(host)
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 - IPv4
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            # Only towards its own addresses a node sends from the address that it sends to.
            sender.connect((host, NO_TRAFFIC_PORT))
            return ip_address(sender.getsockname()[0]) == address
    except (OSError, ValueError):
        return False


def parse_domain(text: bytes, is_own: IsOwn) -> ImexDomain:
    """Parse what the program prints; raise SourceFailed for anything else.

    Connections are those of this node, and are unknown while its IMEX is not ready: the program
    then prints words for connections that it could not ask for.
    """
    try:
        domain = decode_line(text)
        nodes = {str(node["host"]): node for node in _rows(domain["nodes"])}
        states = {host: str(node["status"]) for host, node in nodes.items()}
        own = next((host for host, state in states.items() if state == READY and is_own(host)), "")
        peers = _rows(nodes[own].get("connections") or {}) if own else []
        connections = {str(peer["host"]): peer["status"] == CONNECTED for peer in peers}
    except (AttributeError, BadLine, KeyError, TypeError) as error:
        raise SourceFailed(f"{PROGRAM} prints no domain: {clean_text(text[:200])!r}") from error
    return ImexDomain(
        tuple(
            ImexNode(
                clean_text(host),
                clean_text(states.get(host, "")),
                states[host] == READY if host in states else None,
                connections.get(host),
            )
            for host in list(states | connections)[:MAX_NODES]
        ),
        UP.get(str(domain.get("status"))),
        len(states),
        list(states.values()).count(READY),
    )


def _rows(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the objects of an object that numbers them; raise AttributeError if it is none."""
    return list(found.values())


class ImexSource:
    """Runs nvidia-imex-ctl at each reading, never twice at a time, and keeps the last answer.

    After a failure the values are unknown, and the program is run again after a pause.
    """

    name = "imex"
    deadline_secs = 2.0

    def __init__(
        self,
        ctx: SourceContext,
        timeout_secs: float = TIMEOUT_SECS,
        wait_secs: float = WAIT_SECS,
    ) -> None:
        self._ctx = ctx
        self._timeout_secs = timeout_secs
        self._wait_secs = wait_secs
        self._paths = paths_in(ctx.child_environment, PROGRAM, ("/usr/bin",))
        self._environment = {**ctx.child_environment, "LC_ALL": "C"}
        self._running: asyncio.Task[Reading[ImexDomain]] | None = None
        self._ended: asyncio.Task[Reading[ImexDomain]] | None = None
        self._backoff, self._not_before = Backoff(), 0.0
        self._is_stuck = False

    async def read(self) -> Reading[ImexDomain]:
        """Return the last answer; raise SourceAbsent without the program, or SourceFailed."""
        if self._running is None and self._ctx.boottime() >= self._not_before:
            self._running = asyncio.ensure_future(self._ask())
        if self._running is not None:
            await wait_for_any({self._running}, self._wait_secs)
            if self._running.done():
                self._take(self._running)
            else:
                self._running.add_done_callback(lambda _: self._ctx.wake(self.name))
        if self._ended is None:
            raise SourceAbsent(f"{PROGRAM} still asks the nodes for the first time")
        return self._ended.result()

    async def close(self) -> None:
        """End the run; its child is killed with it."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running}, timeout=WAIT_SECS)

    def _take(self, run: asyncio.Task[Reading[ImexDomain]]) -> None:
        self._ended, self._running = run, None
        if run.exception() is None:
            self._backoff.reset()
        else:
            self._not_before = self._ctx.boottime() + self._backoff.next_secs()

    async def _ask(self) -> Reading[ImexDomain]:
        if self._is_stuck and self._ctx.children.abandoned_count:
            raise SourceFailed(f"{PROGRAM} was killed but does not exit")
        program = await self._ctx.call(lambda: first_trustworthy(self._paths))
        if program is None:
            raise SourceAbsent(f"{PROGRAM} is neither in /usr/bin nor in the PATH")
        try:
            finished = await run_once(
                self._ctx.children,
                Command((str(program), *ARGUMENTS), self._environment),
                timeout_secs=self._timeout_secs,
                limit_bytes=OUTPUT_LIMIT_BYTES,
            )
        except OSError as error:
            raise SourceFailed(f"{program} cannot be run: {error.strerror}") from error
        self._is_stuck = finished.problem == "stuck"
        if finished.problem or finished.code:
            reason = finished.problem or f"exit code {finished.code}"
            words = clean_text(finished.errors[:200] or finished.output[:200])
            raise SourceFailed(f"{PROGRAM}: {reason}" + (f" ({words})" if words else ""))
        return Reading(await self._ctx.call(lambda: parse_domain(finished.output, is_own_address)))
