"""The command line arguments; a command's module is imported when the command runs."""

import argparse
from collections.abc import Iterable
from typing import Any, NoReturn

from exporter.commands.invocation import LOG_LEVELS
from exporter.config.setting import masked
from exporter.identity import read_version
from exporter.record import dataclass
from exporter.reports.units import one_line


@dataclass(frozen=True, slots=True)
class _Command:
    """A command: its function as `module:function`, and its arguments, as argparse takes them.

    A command with `parts` has no function of its own.
    """

    name: str
    handler: str
    help: str
    arguments: tuple[tuple[str, dict[str, Any]], ...] = ()
    parts: tuple["_Command", ...] = ()


def _argument(name: str, help_: str | None, **settings: Any) -> tuple[str, dict[str, Any]]:
    return name, {"help": help_, **settings}


def _flag(name: str, help_: str) -> tuple[str, dict[str, Any]]:
    return _argument(name, help_, action="store_true")


_CONFIG = _argument("--config", "configuration file (TOML)", metavar="FILE")
_RUN = (
    _CONFIG,
    _argument("--host", "address to listen on"),
    _argument("--port", "port to listen on", type=int),
    _argument("--log-level", "log level", choices=LOG_LEVELS),
    _flag("--strict-rules", "do not start if a rule file has an error"),
    _flag("--check-config", "validate the configuration and exit"),
)
_URL = _argument(
    "--url",
    "the exporter to query, as HOST:PORT or http://…; default: the one on this"
    " machine; if none is running, commands that only show something collect themselves",
)
_EVERYWHERE = (*_RUN, _URL)
"""Arguments that may stand before the command and after it."""

_READING = (_CONFIG, _URL)
"""Arguments of commands that read the documents of an exporter."""

_RESPONSE = _flag("--json", "print the HTTP response")
_JSON = _flag("--json", "print JSON")
_PATHS = _argument("paths", "files or directories", nargs="*", metavar="PATH")
_COMPONENT = "a component by its id or name (gpu3, eth0)"

_RULES = (
    _Command("check", "rules:check", "validate rule files", (_PATHS, _JSON)),
    _Command(
        "list",
        "rules:list_rules",
        "list the built-in rules and those in the named files",
        (_PATHS, _JSON),
    ),
    _Command(
        "replay",
        "rules:replay",
        "show which faults a recording raises",
        (
            _argument(
                "file",
                "a recording (docs/faults.md), or the archive of the command bundle",
                metavar="FILE",
            ),
            _argument(
                "--rules",
                "a rule file or directory in addition to the built-in rules; may be repeated",
                action="append",
                default=[],
                metavar="PATH",
                dest="paths",
            ),
            _flag("--json", "print one JSON object for each change: time, healthy, faults"),
        ),
    ),
)
_CONFIGURATION = (
    _Command(
        "show",
        "config:show",
        "print the effective value of every key, without secrets",
        (_CONFIG, _JSON),
    ),
    _Command("check", "config:check", "validate files, environment and flags", (_CONFIG, _JSON)),
)
_COMMANDS = (
    _Command("run", "run:run", "run the exporter (the default)", _RUN),
    _Command(
        "demo",
        "run:demo",
        "run the exporter on a simulated GPU node with incidents",
        (
            *_RUN,
            _argument("--gpus", "number of simulated GPUs (default 8)", type=int),
            _argument("--seed", "random seed (default 1)", type=int),
            _argument(
                "--speed", "seconds of the incident script per real second (default 1)", type=float
            ),
            _argument(
                "--start", "second of the incident script to start at (default 834)", type=int
            ),
            _flag("--healthy", "no incidents"),
            _flag("--whole-node", "also simulate CPU, memory, disks, network and kernel log"),
        ),
    ),
    _Command(
        "status",
        "status:status",
        "show the node on one screen: health, root causes, GPUs",
        (*_READING, _RESPONSE),
    ),
    _Command("ps", "status:ps", "list the processes on GPUs", (*_READING, _RESPONSE)),
    _Command("top", "top:top", "show the status, refreshed every two seconds", _READING),
    _Command(
        "doctor",
        "status:doctor",
        "list what can and cannot be read here, why, and the fix; exit code 0 no problems, 2"
        " something cannot be read, 3 unknown",
        (*_READING, _RESPONSE),
    ),
    _Command(
        "why",
        "why:why",
        "explain why a process, component or pod is slow or broken",
        (
            *_READING,
            _RESPONSE,
            _argument("name", "default: the whole node", nargs="?", metavar="PID|COMPONENT|POD"),
            _flag("--all", "also list healthy components"),
            _argument(
                "--ask",
                "send the redacted JSON to this OpenAI-compatible endpoint and print the answer;"
                " the API key is in OPENAI_API_KEY",
                metavar="URL",
            ),
            _argument("--model", "model for --ask", default="default"),
            _flag("--show-prompt", "print what --ask sends"),
        ),
    ),
    _Command(
        "faults",
        "faults:faults",
        "list active faults with their causes; exit code 0 healthy, 1 warnings, 2 critical,"
        " 3 unknown",
        (
            *_READING,
            _RESPONSE,
            _flag(
                "--npd",
                "print one line for node-problem-detector; exit code 0 ok, 1 critical fault or"
                " warning, 2 unknown",
            ),
            _argument(
                "--since",
                "list faults that were active in this time (90s, 15m, 7d), and their history",
                metavar="DURATION",
            ),
            _argument("--until", "up to this time, or so long ago", metavar="TIME"),
            _argument("--rule", "only faults of this rule, and their history"),
        ),
    ),
    _Command(
        "bundle",
        "bundle:bundle",
        "write pages, history, kernel log lines, a recording and the configuration to one archive"
        " for a support case, without secrets",
        (
            *_READING,
            _argument("--output", "a new file, or - for standard output", metavar="FILE"),
            _argument(
                "--for",
                "how long to record readings (default 30s)",
                metavar="DURATION",
                dest="length",
                default="30s",
            ),
        ),
    ),
    _Command(
        "silence",
        "silence:silence",
        "silence faults for maintenance: they are shown, but neither page nor count",
        (
            *_READING,
            _RESPONSE,
            _argument("--rule", "faults of this rule; default: every rule"),
            _argument(
                "--component", f"{_COMPONENT}, with its parts; default: the node", metavar="NAME"
            ),
            _argument("--for", "how long (30m, 2h, 7d)", metavar="DURATION", dest="length"),
            _argument("--until", "until when (2030-01-31T18:00:00Z)", metavar="TIME"),
            _argument("--reason", "why", metavar="TEXT"),
            _argument("--by", "who; default: the user", metavar="NAME"),
            _flag("--list", "list the silences"),
            _argument("--end", "end this silence now", metavar="ID"),
        ),
    ),
    _Command(
        "clear",
        "silence:clear",
        "clear a fault that came from events, until it comes again",
        (
            *_READING,
            _RESPONSE,
            _argument("fault", "the rule, such as gpu_xid_critical", metavar="FAULT"),
            _argument("--component", f"{_COMPONENT}; default: all", metavar="NAME"),
        ),
    ),
    _Command("metrics", "metrics:metrics", "print /metrics once", _READING),
    _Command("rules", "", "validate, list or test fault rules", parts=_RULES),
    _Command("config", "", "print or validate the configuration", parts=_CONFIGURATION),
    _Command(
        "expect",
        "expect:show",
        "list the expected hardware, and what of it is missing; exit code 0 all there, 1 not",
        (
            *_READING,
            _argument(
                "part",
                "show it (the default), or accept the hardware of now as the expected one",
                nargs="?",
                choices=("show", "accept"),
                default="show",
            ),
        ),
    ),
    _Command(
        "assets",
        "assets:assets",
        "write dashboards, alerts, runbooks, manifests and Helm chart to a directory",
        (
            _argument(
                "directory", "target directory; existing files are not overwritten", metavar="DIR"
            ),
        ),
    ),
    _Command(
        "completion",
        "completion:completion",
        "print shell completion",
        (_argument("shell", None, choices=("bash", "zsh", "fish")),),
    ),
    _Command(
        "selfcheck",
        "selfcheck:selfcheck",
        "check a running exporter; print one PASS or FAIL line per check",
        (
            _argument(
                "address",
                "the exporter, as HOST:PORT or http://… (default: the one on this machine)",
                nargs="?",
                metavar="URL",
            ),
            *_READING,
        ),
    ),
)


class _Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake and exit with code 2."""
        sentence = one_line(masked(f"{message}; see {self.prog} --help"))
        self.exit(2, f"hw-exporter: {sentence}\n")


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the whole command line."""
    parser: argparse.ArgumentParser = _Parser(
        prog="hw-exporter",
        description="Prometheus exporter for GPU and CPU nodes that tells you what is broken,"
        " and why.",
        epilog="Every configuration key can also be set in the environment as APP__SECTION__KEY.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"hw-exporter {read_version()}")
    for name, settings in _EVERYWHERE:
        parser.add_argument(name, **settings)
    parser.set_defaults(handler="run:run")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    _add(commands, _COMMANDS)
    return parser


def _add(parsers: Any, commands: Iterable[_Command]) -> None:
    """Add the commands; an argument that was given before the command keeps its value."""
    for command in commands:
        parser = parsers.add_parser(command.name, help=command.help, allow_abbrev=False)
        if command.parts:
            _add(parser.add_subparsers(title="parts", metavar="PART", required=True), command.parts)
            continue
        parser.description = f"{command.help[0].upper()}{command.help[1:]}."
        parser.set_defaults(handler=command.handler)
        for argument in command.arguments:
            name, settings = argument
            unset = {"default": argparse.SUPPRESS} if argument in _EVERYWHERE else {}
            parser.add_argument(name, **settings, **unset)
