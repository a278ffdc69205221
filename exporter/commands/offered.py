"""The commands beside running, as the command line offers them; their code comes when asked for."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - has no other name


def add_rules_command(commands: Commands) -> None:
    """Add `rules` with its three parts to the command line."""
    rules = commands.add_parser("rules", help="look at fault rules")
    parts = rules.add_subparsers(title="parts", metavar="PART", required=True)
    check = parts.add_parser("check", help="say everything that is wrong in rule files")
    check.add_argument("paths", nargs="*", metavar="PATH", help="files or directories")
    check.set_defaults(handler=_check)
    listing = parts.add_parser("list", help="list the rules in use")
    listing.add_argument("paths", nargs="*", metavar="PATH", help="files or directories")
    listing.set_defaults(handler=_list)
    replay = parts.add_parser("replay", help="say what would have been said of a recording")
    replay.add_argument(
        "file", metavar="FILE", help="a recording: snapshots or scenes, one JSON object per line"
    )
    replay.add_argument(
        "--rules",
        action="append",
        default=[],
        metavar="PATH",
        dest="paths",
        help="a rule file or directory beside the shipped rules; may be repeated",
    )
    replay.set_defaults(handler=_replay)


def add_selfcheck_command(commands: Commands) -> None:
    """Add `selfcheck` to the command line."""
    parser = commands.add_parser("selfcheck", help="check a running exporter, one line each")
    here = "http://127.0.0.1:8080"
    parser.add_argument("url", nargs="?", default=here, metavar="URL", help=f"where it is ({here})")
    parser.set_defaults(handler=_selfcheck)


def _check(options: argparse.Namespace) -> int:
    from exporter.commands.rules import check  # noqa: PLC0415 - memory only this command needs

    return check(options)


def _list(options: argparse.Namespace) -> int:
    from exporter.commands.rules import list_rules  # noqa: PLC0415 - as above

    return list_rules(options)


def _replay(options: argparse.Namespace) -> int:
    from exporter.commands.rules import replay  # noqa: PLC0415 - as above

    return replay(options)


def _selfcheck(options: argparse.Namespace) -> int:
    from exporter.commands.selfcheck import selfcheck  # noqa: PLC0415 - as above

    return selfcheck(options)
