"""The command line: from arguments and environment to a configuration, and exit codes."""

import argparse
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.blocking import DaemonThreads
from exporter.commands.offered import add_rules_command, add_selfcheck_command
from exporter.config import Config
from exporter.config_file import ConfigError, Layer, environment_layer, file_layers, load
from exporter.identity import Identity
from exporter.model.label import clean_text
from exporter.sources import chosen
from exporter.web.credentials import SecurityError
from exporter.web.security import Security

EXIT_OK = 0
EXIT_CONFIG = 2
EXIT_PIPE = 128 + signal.SIGPIPE

LOG_LEVELS = ("debug", "info", "warning", "error")
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "HOME")
KEPT_PREFIXES = ("NVIDIA_", "CUDA_", "FAKE")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and end the process with its exit code."""
    _mend_standard_streams()
    try:
        code = run_command(sys.argv[1:] if arguments is None else arguments, os.environ)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our lines has seen enough: `… rules list | head`
        code = EXIT_PIPE
    # Not sys.exit: threads that hang in a dead file system must not keep the process.
    os._exit(code)


def _mend_standard_streams() -> None:
    """Fill descriptors 0 to 2 where they were closed: a socket must not take their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - standard error
        pass
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")


def run_command(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """The exit code of the command: 0 well, 1 failed, 2 wrong configuration."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
    if "handler" in options:
        return int(options.handler(options))
    if options.command == "demo":
        from exporter.demo import simulated  # noqa: PLC0415 - memory that only a demo needs

        given = {name: getattr(options, name) for name in ("gpus", "seed", "speed", "start")}
        given = {name: value for name, value in given.items() if value is not None}
        with simulated(given, whole_node=options.whole_node) as settings:
            return _check_and_run(options, environment, settings)
    return _check_and_run(options, environment, {})


def _check_and_run(
    options: argparse.Namespace, environment: Mapping[str, str], demo: Mapping[str, Any]
) -> int:
    try:
        settings = _settings(options, environment, demo)
    except ConfigError as error:
        print(f"hw-exporter: {error}", file=sys.stderr)
        return EXIT_CONFIG
    if options.check_config:
        print("the configuration is good")
        return EXIT_OK
    return _run(settings)


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked configuration, and what else the command line and environment say."""

    config: Config
    log_level: str
    identity: Identity


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hw-exporter",
        description="Prometheus exporter for the hardware of mixed GPU/CPU nodes.",
        epilog="Every key of the configuration can be set as APP__SECTION__KEY in the environment.",
    )
    parser.add_argument("--version", action="version", version=f"hw-exporter {read_version()}")
    _add_run_options(parser, default=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    run = commands.add_parser("run", help="run the exporter (the default)")
    _add_run_options(run, default=argparse.SUPPRESS)
    demo = commands.add_parser("demo", help="run it on a simulated GPU node with incidents")
    _add_run_options(demo, default=argparse.SUPPRESS)
    demo.add_argument("--gpus", type=int, help="simulated GPUs (8)")
    demo.add_argument("--seed", type=int, help="the same seed shows the same node (1)")
    demo.add_argument("--speed", type=float, help="seconds of the script in one second (1)")
    demo.add_argument("--start", type=int, help="second of the script to begin at (0)")
    demo.add_argument(
        "--whole-node", action="store_true", help="simulate the host around the GPUs as well"
    )
    add_rules_command(commands)
    add_selfcheck_command(commands)
    return parser


def _add_run_options(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument("--host", default=default, help="address to listen on")
    parser.add_argument("--port", type=int, default=default, help="port to listen on")
    parser.add_argument("--config", default=default, metavar="FILE", help="TOML file to read")
    parser.add_argument(
        "--log-level",
        default=default,
        choices=LOG_LEVELS,
        help="least severe lines that are logged",
    )
    parser.add_argument(
        "--strict-rules",
        action="store_true",
        default=False if default is None else default,
        help="refuse to start when a rule file has a mistake",
    )
    parser.add_argument(
        "--check-config",
        action="store_true",
        default=False if default is None else default,
        help="check the configuration and exit",
    )


def _settings(
    options: argparse.Namespace, environment: Mapping[str, str], demo: Mapping[str, Any]
) -> Settings:
    """Everything checked; raises ConfigError."""
    layers = [
        *file_layers(options.config),
        Layer("demo", demo),
        environment_layer(environment),
        Layer("command line", _flags(options)),
    ]
    config = load(layers)
    _check_rules(config)
    try:
        chosen(config)
    except ValueError as error:
        raise ConfigError(f"sources.enabled, sources.disabled: {error}") from error
    try:
        Security(config.server, DaemonThreads())
    except SecurityError as error:
        raise ConfigError(str(error)) from error
    level = (options.log_level or environment.get("LOG_LEVEL") or "info").lower()
    if level not in LOG_LEVELS:
        allowed = ", ".join(LOG_LEVELS)
        raise ConfigError(f'environment: LOG_LEVEL is "{level[:20]}", but must be one of {allowed}')
    return Settings(config, level, _identity(environment))


def _flags(options: argparse.Namespace) -> dict[str, Any]:
    """What the flags set, as a table of the configuration."""
    server = {key: getattr(options, key) for key in ("host", "port")}
    table: dict[str, Any] = {"server": {k: v for k, v in server.items() if v is not None}}
    if options.strict_rules:
        table["faults"] = {"strict": True}
    return table


def _check_rules(config: Config) -> None:
    """Raise ConfigError for the first mistake in a rule file, where mistakes are fatal."""
    if not (config.faults.strict and config.faults.enabled):
        return
    from exporter.faults.engine import rule_book  # noqa: PLC0415 - only where rules are checked

    for mistake in rule_book(config.faults.rules_dirs).mistakes:
        raise ConfigError(str(mistake))


def _identity(environment: Mapping[str, str]) -> Identity:
    hostname = clean_text(socket.gethostname()) or "unknown"
    return Identity(
        version=read_version(),
        node=clean_text(environment.get("NODE_NAME", "")) or hostname,
        hostname=hostname,
        child_environment=child_environment(environment),
    )


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What child processes get: built, not inherited, so that no secret reaches them."""
    kept: dict[str, Any] = {
        name: value
        for name, value in environment.items()
        if name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES)
    }
    package_parent = str(Path(__file__).resolve().parent.parent)
    return {
        **kept,
        "LC_ALL": "C",
        "PYTHONPATH": package_parent,
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def read_version() -> str:
    """The version: the file VERSION of a checkout, else that of the installed distribution."""
    try:
        return (Path(__file__).resolve().parent.parent / "VERSION").read_text("utf-8").strip()
    except OSError:
        from importlib.metadata import version  # noqa: PLC0415 - costs 20 ms where it is not needed

        return version("hw-exporter")


def _run(settings: Settings) -> int:
    from exporter.running import run  # noqa: PLC0415 - other commands need no server

    return run(settings.config, settings.identity, settings.log_level)
