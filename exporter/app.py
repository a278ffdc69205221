"""Constructs and connects all parts, runs them, and stops them within two seconds."""

import asyncio
import logging
import os
import platform
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from exporter.blocking import DaemonThreads
from exporter.clock import boottime_now, wall_now
from exporter.collectors import chosen
from exporter.collectors.cpu.model import ask_cpu_model
from exporter.collectors.gpu.driver_restart import RESTART, DriverRestartDetector
from exporter.config import Config
from exporter.config.roots import resolved
from exporter.exposition.page import Moment, Pages
from exporter.family_choice import choice_of
from exporter.identity import Identity
from exporter.loop import Clocks, CollectionLoop
from exporter.model.snapshot import Snapshot
from exporter.probes.child import Children
from exporter.reading.context import SourceContext
from exporter.reading.known_good import KnownGood
from exporter.reading.pid_namespace import is_initial
from exporter.reading.source import Releasable
from exporter.record import replace
from exporter.reloading import Reloader, Reread
from exporter.reports.installation import Installation, installation
from exporter.rule_runner import RuleRunner
from exporter.state_folder import StateFolder
from exporter.web.answer import Answer
from exporter.web.live import LivePages
from exporter.web.maintenance import Maintenance
from exporter.web.renderer import Renderer
from exporter.web.routes import Action, Routes
from exporter.web.server.acceptor import Acceptor
from exporter.web.server.bounds import limits_of, waiting_bounds
from exporter.web.server.guard import GuardedServer
from exporter.web.server.listening import is_taken, listening_sockets
from exporter.web.server.security import Security

STOP_SECS = 1.2
STATE_CHECK_SECS, FIRST_STATE_CHECK_SECS = 15.0, 1.0
LIVE_TICKS = 3
LIVE_SECS_AT_LEAST = 30.0

log = logging.getLogger("exporter")


class CannotListen(Exception):
    """The address cannot be listened on; the message is one sentence."""


class App:
    """The running program: collector, sources, server, and the state that pages read."""

    _latest: Snapshot | None = None
    _cpu_model: str | None = None

    def __init__(
        self,
        config: Config,
        identity: Identity,
        dropped_log_lines: Callable[[], int],
        reread: Reread | None = None,
    ) -> None:
        """Construct all parts; raise SecurityError."""
        self._reloader = Reloader(config, reread or (lambda: config), DaemonThreads(), wall_now)
        self._state_folder = StateFolder(config.state.dir)
        state = replace(config.state, dir=str(self._state_folder.path or ""))
        config = replace(config, sources=resolved(config.sources), state=state)
        self._config = config
        self._call = DaemonThreads()
        collectors = self._collectors = chosen(config)
        self._security = Security(config.server, self._call)
        self._identity = identity
        self._dropped_log_lines = dropped_log_lines
        self._pushes: Counter[str] = Counter()
        self._children = Children()
        self._driver_children = Children()
        self._collecting: asyncio.Task[None] | None = None
        self._driver_restart = DriverRestartDetector(config.gpu.late_driver_exit_secs)
        self._stop = asyncio.Event()
        self._has_published = asyncio.Event()
        self._reloading: asyncio.Task[Mapping[str, object]] | None = None
        self.needs_restart = False
        self._pages = Pages(collectors, boottime_now, self._moment, choice_of(config, collectors))
        self._collector = self._build_collector()
        self._live = LivePages(identity.version, self._installation())
        self._routes = Routes(
            identity.version,
            self,
            self._pages,
            self._security.authenticator(),
            actions=self._actions(),
            maintenance=self._maintenance(),
            live=self._live,
            recordings=lambda: collectors.recordings,
            renderer=Renderer(self._call),
        )
        self._server = GuardedServer(
            self._routes.handle, limits_of(config.server), self._security.context
        )

    def _actions(self) -> dict[str, Action]:
        return {
            "/-/quiesce": self._release_hardware,
            "/-/resume": self._resume_hardware,
            "/-/reload": self._reload,
        }

    def _maintenance(self) -> Maintenance | None:
        if self._rule_runner is None:
            return None
        return Maintenance(self._rule_runner, self, wall_now, partial(self._wake, "rules"))

    def snapshot(self) -> Snapshot | None:
        """Return the last snapshot, without expired values."""
        return None if self._latest is None else self._latest.at(boottime_now())

    def boottime(self) -> float:
        """Return seconds since boot, suspended time included."""
        return boottime_now()

    def is_live(self) -> bool:
        """Whether the collecting loop runs and has begun a collection lately."""
        if self._collecting is None or self._collecting.done():
            return False
        last = self._collector.last_tick
        interval = self._config.metrics.collect_interval_secs
        patience = max(LIVE_TICKS * interval, LIVE_SECS_AT_LEAST)
        return last is None or asyncio.get_running_loop().time() - last < patience

    def unready_reasons(self) -> list[str]:
        """Return the reasons why the program is not ready; empty when ready."""
        reasons = []
        if self._latest is None:
            reasons.append("the first collection is not complete yet")
        if not self.is_live():
            reasons.append("the collection loop has stopped")
        return reasons

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, or until a restart is needed; raise CannotListen."""
        sockets = self._listen()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)
        if not sys.stderr.isatty():  # the end of a terminal session ends us
            loop.add_signal_handler(signal.SIGHUP, self._on_hangup)
        loop.add_signal_handler(signal.SIGUSR1, self._release_hardware)
        loop.add_signal_handler(signal.SIGUSR2, self._resume_hardware)
        self._collecting = asyncio.ensure_future(self._collector.run())
        self._collecting.add_done_callback(_say_why_it_ended)
        beside = [
            asyncio.ensure_future(self._ask_cpu_model()),
            asyncio.ensure_future(self._security.watch()),
            asyncio.ensure_future(self._keep_conditions()),
            asyncio.ensure_future(self._push()),
            asyncio.ensure_future(self._watch_state_folder()),
        ]
        waiting = waiting_bounds(self._config.server, self._server.limits.max_connections)
        acceptor = Acceptor(sockets, waiting, self._server)
        acceptor.start()
        log.info("listening on %s", self._address(sockets[0]))
        await self._stop.wait()
        log.info("stopping")
        acceptor.close()
        for task in beside:
            task.cancel()
        await self.close()

    async def collect(self) -> None:
        """Collect and publish once, without a server."""
        await self._collector.collect()
        await self._call(self._state_folder.check)

    def page(self, path: str, query: Sequence[tuple[str, str]], accept: str) -> Answer:
        """Return the answer of a page without HTTP."""
        return self._routes.page(path, query, accept)

    async def close(self) -> None:
        """End the children and close all sources, within a bounded time."""
        await asyncio.wait({asyncio.ensure_future(self._end())}, timeout=STOP_SECS)

    def _on_signal(self) -> None:
        if self._stop.is_set():  # second signal: at once
            self._children.kill_all()
            self._driver_children.kill_all()
            os._exit(1)
        self._stop.set()

    def _on_hangup(self) -> None:
        log.info("SIGHUP: reloading rules, patterns and credentials; other keys need a restart")
        self._reload().add_done_callback(asyncio.Task.exception)  # a mistake is logged

    def _reload(self) -> "asyncio.Task[Mapping[str, object]]":
        """Reload the configuration; a mistake is the exception of the task."""
        parts = (self._security, self._rule_runner, self._sources, self._context)

        async def reload() -> Mapping[str, object]:
            kept = await self._reloader.reload(*parts)
            self._routes.authenticator = self._security.authenticator()
            return {"needs_restart": list(kept)}

        self._reloading = asyncio.ensure_future(reload())
        return self._reloading

    async def _end(self) -> None:
        if self._collecting is not None:
            self._collecting.cancel()
        self._server.pre_shutdown()
        await self._collector.close()
        if self._rule_runner is not None:
            await self._rule_runner.close()
        await asyncio.gather(self._children.end_all(), self._driver_children.end_all())

    def _listen(self) -> list[socket.socket]:
        server = self._config.server
        try:
            return listening_sockets(server.host, server.port, server.request_timeout_secs)
        except OSError as error:
            where = f"{server.host}:{server.port}"
            help_ = "; --port N uses another port" if is_taken(error) else ""
            reported = f"cannot listen on {where}: {error.strerror or error}{help_}"
            raise CannotListen(reported) from error

    def _address(self, sock: socket.socket) -> str:
        host, port = sock.getsockname()[:2]
        shown = "localhost" if host in ("0.0.0.0", "::") else host  # noqa: S104 - shown, not bound
        scheme = "https" if self._security.context() else "http"
        return f"{scheme}://{f'[{shown}]' if ':' in shown else shown}:{port}"

    def _moment(self, boottime: float) -> Moment:
        return Moment(
            boottime=boottime,
            version=self._identity.version,
            python=platform.python_version(),
            requests=self._routes.requests,
            refused_connections=self._server.admission.refused,
            failed_handshakes=self._server.failed_handshakes if self._security.context() else None,
            last_reload_successful=self._security.last_reload_successful(),
            dropped_log_lines=self._dropped_log_lines(),
            is_reloaded=self._reloader.is_successful,
            reloaded_at=self._reloader.succeeded_at,
            pushes=self._pushes,
        )

    def _publish(self, snapshot: Snapshot) -> None:
        self._latest = snapshot
        self._pages.publish(snapshot)
        self._live.publish(snapshot)
        asyncio.get_running_loop().call_soon(self._pages.warm)
        self._has_published.set()
        if self._driver_restart.needs_restart(snapshot) and not self._stop.is_set():
            log.warning(RESTART)
            self.needs_restart = True
            self._stop.set()

    def _installation(self) -> Installation:
        return replace(
            installation(self._config, self._identity.container_variables),
            rule_mistakes=lambda: self._rule_runner.mistakes if self._rule_runner else (),
            state_problems=self._state_folder.problems,
        )

    def _build_collector(self) -> CollectionLoop:
        state_dir = self._config.state.dir
        ctx = self._context = SourceContext(
            config=self._config,
            hostname=self._identity.hostname,
            child_environment=self._identity.child_environment,
            children=self._children,
            driver_children=self._driver_children,
            call=self._call,
            wall=wall_now,
            boottime=boottime_now,
            wake=self._wake,
            known_cpu_model=lambda: self._cpu_model,
            is_metric_taken=self._collectors.names_taken.__contains__,
            sees_host_pids=is_initial(Path("/proc")) is not False,
            known_good=KnownGood(Path(state_dir) if state_dir else None),
        )
        self._sources = [row.build(ctx) for row in self._collectors.sources_for(self._config)]
        # Rules take a tenth of a second: sources come first, and their children start meanwhile.
        parts = (self._config, self._collectors, self._call, time.perf_counter, self._identity.node)
        self._rule_runner = RuleRunner(*parts) if self._config.faults.enabled else None
        return CollectionLoop(
            self._identity.node,
            self._sources,
            interval_secs=self._config.metrics.collect_interval_secs,
            clocks=Clocks(wall_now, boottime_now),
            publish=self._publish,
            conclude=self._rule_runner.conclude if self._rule_runner else None,
        )

    def _release_hardware(self) -> None:
        for source in self._sources:
            if isinstance(source, Releasable):
                source.release()

    def _resume_hardware(self) -> None:
        for source in self._sources:
            if isinstance(source, Releasable):
                source.resume()

    def _wake(self, source: str) -> None:
        self._collector.wake(source)

    async def _watch_state_folder(self) -> None:
        wait_secs = FIRST_STATE_CHECK_SECS  # by then the saved state has been read
        while self._state_folder.path is not None:
            await asyncio.sleep(wait_secs)
            await self._call(self._state_folder.check)
            wait_secs = STATE_CHECK_SECS

    async def _keep_conditions(self) -> None:
        settings = self._config.node_conditions
        if settings.enabled or settings.events or settings.labels_dir:
            from exporter.kubernetes.loop import keep  # noqa: PLC0415 - only where it is asked for

            await keep(settings, self._identity.node, self._call, self.snapshot)

    async def _push(self) -> None:
        settings, version = self._config.otlp, self._identity.version
        if settings.endpoint:
            from exporter.otlp.push import push  # noqa: PLC0415 - only where it is asked for

            await push(settings, version, self._pages.shown, self._call, self._pushes)

    async def _ask_cpu_model(self) -> None:
        if self._config.sources.cpu_model_probe:
            await self._has_published.wait()  # a second of processor time, which the start needs
            environment = self._identity.child_environment
            self._cpu_model = await ask_cpu_model(self._children, environment)
            self._collector.wake("host")


def _say_why_it_ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("the collection loop has ended", exc_info=error)
