"""The command line arguments; a command's module is imported when the command runs."""

import argparse
from typing import Any, NoReturn, TypeAlias

from exporter.commands.invocation import LOG_LEVELS
from exporter.config.setting import masked
from exporter.identity import read_version
from exporter.reports.units import one_line

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - has no other name


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
    _add_run_options(parser, is_top=True)
    _add_reading_options(parser, is_top=True)
    parser.set_defaults(handler="run:run")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    _add_run_commands(commands)
    _add_reading_commands(commands)
    _add_rules_command(commands)
    _add_config_command(commands)
    _add_expect_command(commands)
    _add_other_commands(commands)
    _add_selfcheck_command(commands)
    return parser


def _command(commands: Commands, name: str, handler: str, help_: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=help_, description=f"{help_[0].upper()}{help_[1:]}.", allow_abbrev=False
    )
    parser.set_defaults(handler=handler)
    return parser


def _option(parser: argparse.ArgumentParser, name: str, *, is_top: bool, **settings: Any) -> None:
    """Add an option that may stand before the command (`is_top`) and after it."""
    unset = False if settings.get("action") == "store_true" else None
    default = unset if is_top else argparse.SUPPRESS
    parser.add_argument(name, default=default, **settings)


def _add_config_option(parser: argparse.ArgumentParser, *, is_top: bool) -> None:
    _option(parser, "--config", is_top=is_top, metavar="FILE", help="configuration file (TOML)")


def _add_run_options(parser: argparse.ArgumentParser, *, is_top: bool) -> None:
    _add_config_option(parser, is_top=is_top)
    _option(parser, "--host", is_top=is_top, help="address to listen on")
    _option(parser, "--port", is_top=is_top, type=int, help="port to listen on")
    _option(
        parser,
        "--log-level",
        is_top=is_top,
        choices=LOG_LEVELS,
        help="log level",
    )
    _option(
        parser,
        "--strict-rules",
        is_top=is_top,
        action="store_true",
        help="do not start if a rule file has an error",
    )
    _option(
        parser,
        "--check-config",
        is_top=is_top,
        action="store_true",
        help="validate the configuration and exit",
    )


def _add_reading_options(parser: argparse.ArgumentParser, *, is_top: bool) -> None:
    if not is_top:
        _add_config_option(parser, is_top=False)
    _option(
        parser,
        "--url",
        is_top=is_top,
        help="the exporter to query, as HOST:PORT or http://…; default: the one on this"
        " machine; if none is running, the command collects itself",
    )


def _reading_command(
    commands: Commands, name: str, handler: str, help_: str, *, has_json: bool = True
) -> argparse.ArgumentParser:
    """Add a command that reads the documents of an exporter."""
    parser = _command(commands, name, handler, help_)
    _add_reading_options(parser, is_top=False)
    if has_json:
        parser.add_argument("--json", action="store_true", help="print the HTTP response")
    return parser


def _add_run_commands(commands: Commands) -> None:
    run = _command(commands, "run", "run:run", "run the exporter (the default)")
    _add_run_options(run, is_top=False)
    demo = _command(
        commands, "demo", "run:demo", "run the exporter on a simulated GPU node with incidents"
    )
    _add_run_options(demo, is_top=False)
    demo.add_argument("--gpus", type=int, help="number of simulated GPUs (default 8)")
    demo.add_argument("--seed", type=int, help="random seed (default 1)")
    demo.add_argument(
        "--speed", type=float, help="seconds of the incident script per real second (default 1)"
    )
    demo.add_argument(
        "--start", type=int, help="second of the incident script to start at (default 834)"
    )
    demo.add_argument("--healthy", action="store_true", help="no incidents")
    demo.add_argument(
        "--whole-node",
        action="store_true",
        help="also simulate CPU, memory, disks, network and kernel log",
    )


def _add_reading_commands(commands: Commands) -> None:
    _reading_command(
        commands,
        "status",
        "status:status",
        "show the node on one screen: health, root causes, GPUs",
    )
    _reading_command(commands, "ps", "status:ps", "list the processes on GPUs")
    _reading_command(
        commands, "top", "top:top", "show the status, refreshed every two seconds", has_json=False
    )
    _reading_command(
        commands,
        "doctor",
        "status:doctor",
        "list what can and cannot be read here, why, and the fix; exit code 0 no problems, 2"
        " something cannot be read, 3 unknown",
    )
    _add_why_command(commands)
    _add_faults_command(commands)
    _add_bundle_command(commands)
    _add_maintenance_commands(commands)
    _reading_command(
        commands,
        "metrics",
        "metrics:metrics",
        "print /metrics once",
        has_json=False,
    )


def _add_bundle_command(commands: Commands) -> None:
    bundle = _reading_command(
        commands,
        "bundle",
        "bundle:bundle",
        "write pages, history, kernel log lines, a recording and the configuration to one archive"
        " for a support case, without secrets",
        has_json=False,
    )
    bundle.add_argument("--output", metavar="FILE", help="a new file, or - for standard output")
    bundle.add_argument(
        "--for",
        metavar="DURATION",
        dest="length",
        default="30s",
        help="how long to record readings (default 30s)",
    )


def _add_faults_command(commands: Commands) -> None:
    faults = _reading_command(
        commands,
        "faults",
        "faults:faults",
        "list active faults with their causes; exit code 0 healthy, 1 warnings, 2 critical,"
        " 3 unknown",
    )
    faults.add_argument(
        "--npd",
        action="store_true",
        help="print one line for node-problem-detector; exit code 0 ok, 1 problem, 2 unknown",
    )
    faults.add_argument(
        "--since",
        metavar="DURATION",
        help="list faults that began or ended in this time (90s, 15m, 7d), and their history",
    )
    faults.add_argument("--until", metavar="TIME", help="up to this time, or so long ago")
    faults.add_argument("--rule", help="only faults of this rule, and their history")


def _add_maintenance_commands(commands: Commands) -> None:
    silence = _reading_command(
        commands,
        "silence",
        "silence:silence",
        "silence faults for maintenance: they are shown, but neither page nor count",
    )
    component = "a component by its id or name (gpu3, eth0)"
    silence.add_argument("--rule", help="faults of this rule; default: every rule")
    silence.add_argument(
        "--component", metavar="NAME", help=f"{component}, with its parts; default: the node"
    )
    silence.add_argument("--for", metavar="DURATION", dest="length", help="how long (30m, 2h, 7d)")
    silence.add_argument("--until", metavar="TIME", help="until when (2030-01-31T18:00:00Z)")
    silence.add_argument("--reason", metavar="TEXT", help="why")
    silence.add_argument("--by", metavar="NAME", help="who; default: the user")
    silence.add_argument("--list", action="store_true", help="list the silences")
    silence.add_argument("--end", metavar="ID", help="end this silence now")
    clear = _reading_command(
        commands,
        "clear",
        "silence:clear",
        "clear a fault that came from events, until it comes again",
    )
    clear.add_argument("fault", metavar="FAULT", help="the rule, such as gpu_xid_critical")
    clear.add_argument("--component", metavar="NAME", help=f"{component}; default: all")


def _add_why_command(commands: Commands) -> None:
    why = _reading_command(
        commands, "why", "why:why", "explain why a process, component or pod is slow or broken"
    )
    why.add_argument("name", nargs="?", metavar="PID|COMPONENT|POD", help="default: the whole node")
    why.add_argument("--all", action="store_true", help="also list healthy components")
    why.add_argument(
        "--ask",
        metavar="URL",
        help="send the redacted JSON to this OpenAI-compatible endpoint and print the answer;"
        " the API key is in OPENAI_API_KEY",
    )
    why.add_argument("--model", default="default", help="model for --ask")
    why.add_argument("--show-prompt", action="store_true", help="print what --ask sends")


def _add_config_command(commands: Commands) -> None:
    config = commands.add_parser(
        "config", help="print or validate the configuration", allow_abbrev=False
    )
    parts = config.add_subparsers(title="parts", metavar="PART", required=True)
    for name, help_ in (
        ("show", "print the effective value of every key, without secrets"),
        ("check", "validate files, environment and flags"),
    ):
        part = _command(parts, name, f"config:{name}", help_)
        _add_config_option(part, is_top=False)
        part.add_argument("--json", action="store_true", help="print JSON")


def _add_expect_command(commands: Commands) -> None:
    help_ = "list the expected hardware, and what of it is missing; exit code 0 all there, 1 not"
    expect = _reading_command(commands, "expect", "expect:show", help_, has_json=False)
    expect.add_argument(
        "part",
        nargs="?",
        choices=("show", "accept"),
        default="show",
        help="show it (the default), or accept the hardware of now as the expected one",
    )


def _add_other_commands(commands: Commands) -> None:
    assets = _command(
        commands,
        "assets",
        "assets:assets",
        "write dashboards, alerts, runbooks, manifests and Helm chart to a directory",
    )
    assets.add_argument(
        "directory", metavar="DIR", help="target directory; existing files are not overwritten"
    )
    completion = _command(commands, "completion", "completion:completion", "print shell completion")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def _add_rules_command(commands: Commands) -> None:
    rules = commands.add_parser(
        "rules", help="validate, list or test fault rules", allow_abbrev=False
    )
    parts = rules.add_subparsers(title="parts", metavar="PART", required=True)
    check = _command(parts, "check", "rules:check", "validate rule files")
    check.add_argument("paths", nargs="*", metavar="PATH", help="files or directories")
    check.add_argument("--json", action="store_true", help="print JSON")
    listing = _command(parts, "list", "rules:list_rules", "list the rules in use")
    listing.add_argument("paths", nargs="*", metavar="PATH", help="files or directories")
    listing.add_argument("--json", action="store_true", help="print JSON")
    replay = _command(parts, "replay", "rules:replay", "show which faults a recording raises")
    replay.add_argument(
        "file",
        metavar="FILE",
        help="a recording (docs/faults.md), or the archive of the command bundle",
    )
    replay.add_argument(
        "--rules",
        action="append",
        default=[],
        metavar="PATH",
        dest="paths",
        help="a rule file or directory in addition to the built-in rules; may be repeated",
    )
    replay.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object for each change: time, healthy, faults",
    )


def _add_selfcheck_command(commands: Commands) -> None:
    parser = _command(
        commands,
        "selfcheck",
        "selfcheck:selfcheck",
        "check a running exporter; print one PASS or FAIL line per check",
    )
    here = "http://127.0.0.1:8080"
    parser.add_argument(
        "address",
        nargs="?",
        metavar="URL",
        help=f"the exporter, as HOST:PORT or http://… (default {here})",
    )
    _add_reading_options(parser, is_top=False)
