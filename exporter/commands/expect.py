"""`hw-exporter expect`: prints expected and missing hardware, or accepts the present hardware."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from exporter.collectors.expect.wanted import NAME, decoded, file_in, with_labels
from exporter.commands.invocation import CommandError, Invocation
from exporter.commands.printing import screen_of
from exporter.commands.readings import connected, document_in
from exporter.config import Config
from exporter.config.expect import Expect
from exporter.exit_codes import EXIT_FAILED, EXIT_OK

RULES = "expected_"
SOURCE = "expect"
ONLY_LEARNED = "configured: expect.learn = True"
NONE_LEARNED = "nothing is missing, but no learned hardware can be read in state.dir"
NOTHING_EXPECTED = "no hardware is expected: set expect.learn, or numbers in [expect]"


def show(invocation: Invocation) -> int:
    """Print the expected and the missing hardware, or accept the present hardware."""
    config = invocation.settings().config
    is_here = invocation.options.url is None
    if invocation.options.part == "accept":
        if not is_here:
            raise CommandError("expect accept works only on the machine itself, without --url")
        return _accept(config)
    with connected(invocation) as readings:
        document = document_in(readings, "/faults", readings.get("/faults"))
        missing = [_line(fault) for fault in document["faults"] if _is_ours(fault)]
        sources = document_in(readings, "/node", readings.get("/node"))["sources"]
        if SOURCE not in sources:
            raise CommandError(NOTHING_EXPECTED)
        expected = _expected(config) if is_here else []
        well = NONE_LEARNED if expected == [ONLY_LEARNED] else "everything expected is there"
        lines = [*expected, "", *(missing or [well])]
        print("\n".join(screen_of(invocation).fit("\n".join(lines)).splitlines()))
    return EXIT_FAILED if missing else EXIT_OK


def _is_ours(fault: dict[str, Any]) -> bool:
    return str(fault["rule"]).startswith(RULES) and fault["state"] == "active"


def _line(fault: dict[str, Any]) -> str:
    return f"{fault['severity']}: {fault['summary']}"


def _expected(config: Config) -> list[str]:
    """Return the lines about configured hardware, labels of the node, and learned hardware."""
    labelled, wrong = with_labels(config.expect)
    lines = [f"{bad.field} {bad.reason}" for bad in wrong]
    for each in fields(Expect):
        usual, here = getattr(Expect(), each.name), getattr(config.expect, each.name)
        if (wanted := getattr(labelled, each.name)) != usual:
            way = "configured" if wanted == here else "by label"
            lines.append(f"{way}: expect.{each.name} = {wanted}")
    file = file_in(config.state.dir) if config.expect.learn else None
    learned = (file.load(decoded) if file else None) or {}
    return lines + [f"learned: {part.title}" for parts in learned.values() for part in parts]


def _accept(config: Config) -> int:
    """Delete the learned hardware: the running exporter then learns the present hardware."""
    if not config.expect.is_on:
        raise CommandError(NOTHING_EXPECTED)
    if not config.expect.learn:
        raise CommandError("hardware is not learned: change the numbers in [expect], or the labels")
    if not config.state.dir:
        raise CommandError(
            "state.dir is not set here: set it as for the exporter (APP__STATE__DIR); an exporter"
            " without it learns the hardware anew at a restart"
        )
    try:
        Path(config.state.dir, NAME).unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(
            f"{config.state.dir}/{NAME} cannot be removed: {error.strerror}"
        ) from error
    print("the exporter learns the hardware of now within two collections")
    return EXIT_OK
