"""`hw-exporter run` and `hw-exporter demo`: the exporter on this machine or a simulated node."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from exporter.commands.invocation import Invocation
from exporter.exit_codes import EXIT_OK


def run(invocation: Invocation) -> int:
    """Run the exporter; return the exit code."""
    return _check_and_run(invocation, {})


def demo(invocation: Invocation) -> int:
    """Run the exporter on a simulated node; return the exit code."""
    from exporter.commands.demo import simulated  # noqa: PLC0415 - memory that only a demo needs

    options = invocation.options
    given = {name: getattr(options, name) for name in ("gpus", "seed", "speed", "start")}
    given = {name: value for name, value in given.items() if value is not None}
    given["healthy"] = options.healthy
    with simulated(given, whole_node=options.whole_node) as tables:
        return _check_and_run(invocation, tables, announce=True)


def _check_and_run(
    invocation: Invocation, demo_tables: Mapping[str, Any], *, announce: bool = False
) -> int:
    if invocation.options.check_config:
        invocation.check(demo_tables)
        print("the configuration is valid")
        return EXIT_OK
    settings = invocation.settings(demo_tables)
    if announce:
        from exporter.commands.demo import plan  # noqa: PLC0415 - as above

        print("\n".join(plan(settings.config)), flush=True)
    from exporter.running import run as serve  # noqa: PLC0415 - checking needs no server

    return serve(
        settings.config,
        settings.identity,
        settings.log_level,
        partial(invocation.reread, demo_tables),
    )
