"""One run of the command line: options, environment and validated settings."""

import argparse
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from exporter.blocking import DaemonThreads
from exporter.clock import wall_now
from exporter.collectors import chosen
from exporter.collectors import every as all_collectors
from exporter.config import Config, roots
from exporter.config.file import (
    INSTALLED_FILE,
    ConfigError,
    Layer,
    environment_layer,
    every,
    file_layers,
    load,
)
from exporter.exit_codes import EXIT_FAILED
from exporter.family_choice import unmatched
from exporter.identity import Identity, identify
from exporter.record import dataclass
from exporter.reports.units import one_line
from exporter.state_folder import look_at
from exporter.web.server.credentials import SecurityError
from exporter.web.server.security import Security

RUN = "run:"
"""The module of the commands that start an exporter (`handler`)."""

LOG_LEVELS = ("debug", "info", "warning", "error")
RUST_LEVELS = {
    "trace": "debug",
    "debug": "debug",
    "info": "info",
    "warn": "warning",
    "error": "error",
    "off": "error",
}


class CommandError(Exception):
    """The command failed; the message is one sentence, `code` is the exit code."""

    def __init__(self, sentence: str, code: int = EXIT_FAILED) -> None:
        super().__init__(one_line(sentence))
        self.code = code


@dataclass(frozen=True, slots=True)
class Settings:
    """The validated configuration, and the settings outside of it."""

    config: Config
    log_level: str
    identity: Identity


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options and the environment of one run of the command line."""

    options: argparse.Namespace
    environment: Mapping[str, str]
    installed: Path = INSTALLED_FILE

    def settings(self, demo: Mapping[str, Any] | None = None) -> Settings:
        """Return valid settings; raise ConfigError. The environment overrides `demo` tables."""
        layers = [
            *self._files(),
            Layer("demo", demo or {}),
            environment_layer(self.environment),
            Layer("command line", self._flags()),
        ]
        config = load(layers)
        # Who only asks an exporter need not be able to read its private key.
        checks = (_check_rules, _check_sources, *([_check_security] if self._starts() else ()))
        every(partial(check, config) for check in checks)
        return Settings(config, self._log_level(), identify(self.environment))

    def reread(self, demo: Mapping[str, Any] | None = None) -> Config:
        """Return the present configuration; raise ConfigError, also for mistakes in rules."""
        config = self.settings(demo).config
        if wrong := _rule_mistakes(config):
            raise ConfigError(*wrong)
        return config

    def check(self, demo: Mapping[str, Any] | None = None) -> None:
        """Also check what a running exporter tolerates as a partial failure; raise ConfigError."""
        config = self.settings(demo).config
        _check_security(config)
        wrong = [*_rule_mistakes(config), *_silence_mistakes(config), *_missing_programs(config)]
        if config.state.dir:
            problem, risk = look_at(config.state.dir)
            wrong += [f"state.dir: {config.state.dir} {problem}"] if problem else []
            if risk:
                print(f"hw-exporter: state.dir: {config.state.dir} {risk}", file=sys.stderr)
        for sentence in unmatched(config, chosen(config)):
            print(f"hw-exporter: {sentence}", file=sys.stderr)
        if wrong:
            raise ConfigError(*wrong)

    def _starts(self) -> bool:
        """Whether the command starts an exporter here, and does not ask one."""
        return str(vars(self.options).get("handler", RUN)).startswith(RUN)

    def _files(self) -> list[Layer]:
        """Return the layers of files; a command obeys no file of another user without being told.

        An exporter that is started here takes no file but those named or in its folder.
        """
        named = self.options.config
        if self._starts():
            return file_layers(named)
        owners = {"0", str(os.geteuid()), self.environment.get("SUDO_UID", "")}
        return file_layers(named, self.installed, owners)

    def _log_level(self) -> str:
        given = self.options.log_level or self.environment.get("LOG_LEVEL")
        level = (given or _rust_level(self.environment.get("RUST_LOG", "")) or "info").lower()
        if level not in LOG_LEVELS:
            found, allowed = level[:20], ", ".join(LOG_LEVELS)
            raise ConfigError(f'environment: LOG_LEVEL is "{found}", but must be one of {allowed}')
        return level

    def _flags(self) -> dict[str, Any]:
        """Return the flags as a table of the configuration."""
        server = {key: getattr(self.options, key) for key in ("host", "port")}
        table: dict[str, Any] = {"server": {k: v for k, v in server.items() if v is not None}}
        if self.options.strict_rules:
            table["faults"] = {"strict": True}
        return table


def _rust_level(directives: str) -> str | None:
    """Return the log level in `RUST_LOG` of system-info-exporter; None if there is none."""
    for directive in directives.lower().split(","):
        target, _, level = directive.strip().rpartition("=")
        if target in ("", "system_info_exporter") and level in RUST_LEVELS:
            return RUST_LEVELS[level]
    return None


def _check_rules(config: Config) -> None:
    """Raise ConfigError for mistakes in rule files if `faults.strict` is set."""
    if config.faults.strict and (wrong := _rule_mistakes(config)):
        raise ConfigError(*wrong)


def _rule_mistakes(config: Config) -> list[str]:
    faults = config.faults
    names_rules = faults.enabled and (faults.rules_dirs or faults.severity or faults.off)
    if not names_rules and not config.kernel_log.patterns_dirs:
        return []
    return [str(each) for each in chosen(config).rule_book_for(config).mistakes]


def _silence_mistakes(config: Config) -> tuple[str, ...]:
    if not config.faults.enabled or not config.faults.silences_dirs:
        return ()
    from exporter.faults.silences import Silences  # noqa: PLC0415 - as above

    rules = chosen(config).rule_book_for(config).rules
    known = {rule.id for rule in rules}
    silences = Silences(None, config.faults.silences_dirs, known, all_collectors().all_rule_names)
    silences.reread(wall_now())
    return silences.mistakes


def _check_sources(config: Config) -> None:
    try:
        chosen(config)
    except ValueError as error:
        raise ConfigError(f"sources.enabled, sources.disabled: {error}") from error
    # The files of a simulated node are written after the start.
    if not config.demo.whole_node and (wrong := list(roots.mistakes(config.sources))):
        raise ConfigError(*wrong)


def _check_security(config: Config) -> None:
    try:
        Security(config.server, DaemonThreads())
    except SecurityError as error:
        raise ConfigError(str(error)) from error


def _missing_programs(config: Config) -> list[str]:
    """Return a sentence for each external probe that cannot be started."""
    programs = [probe.command[0] for probe in config.probes]
    return [
        f"probes[{position}].command: {program} is no program that can be started"
        for position, program in enumerate(programs)
        if not (os.path.isfile(program) and os.access(program, os.X_OK))  # noqa: PTH113 - a Path takes no NUL
    ]
