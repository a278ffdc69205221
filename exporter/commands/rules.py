"""`hw-exporter rules check|list|replay`: checks, lists and replays fault rules."""

import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from exporter.collector import Collectors
from exporter.collectors import every_for
from exporter.collectors.everything import EVERYTHING
from exporter.collectors.kernel_log.pattern_checks import is_pattern_file
from exporter.commands.invocation import Invocation
from exporter.commands.recording_file import recording_in
from exporter.config import Config, KernelLogConfig
from exporter.exit_codes import EXIT_FAILED, EXIT_OK
from exporter.faults.engine import RuleEngine
from exporter.faults.replay.snapshots import START_WALL, BadRecording, SnapshotReader
from exporter.faults.rules.loader import RuleBook, toml_files
from exporter.faults.rules.rule import Rule
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Fault
from exporter.regular_file import FileUnusable
from exporter.reports.faults import subject_document

EXIT_MISTAKES = 2


def _files(invocation: Invocation) -> Iterator[Path]:
    for path in invocation.options.paths:
        yield from toml_files(Path(path))


def _collectors(invocation: Invocation) -> Collectors:
    """Return all collectors, with the kernel log lines in the files of the command line."""
    patterns = tuple(str(path) for path in _files(invocation) if is_pattern_file(path))
    if not patterns:
        return EVERYTHING
    config = Config(kernel_log=KernelLogConfig(patterns_dirs=patterns))
    return every_for(config)


def _book(collectors: Collectors, invocation: Invocation) -> RuleBook:
    rules = (str(path) for path in _files(invocation) if not is_pattern_file(path))
    return collectors.rule_book(rules)


def check(invocation: Invocation) -> int:
    """Print every mistake in the rules; return the exit code."""
    book = _book(_collectors(invocation), invocation)
    if invocation.options.json:
        mistakes = [str(mistake) for mistake in book.mistakes]
        print(json.dumps({"rules": len(book.rules), "mistakes": mistakes}, ensure_ascii=False))
    else:
        for mistake in book.mistakes:
            print(mistake)
        good, bad = len(book.rules), len(book.mistakes)
        print(f"{good} rules are valid, including the built-in ones; errors: {bad}")
    return EXIT_MISTAKES if book.mistakes else EXIT_OK


def list_rules(invocation: Invocation) -> int:
    """Print one line for each rule; return the exit code."""
    book = _book(_collectors(invocation), invocation)
    rules = sorted(book.rules, key=lambda each: (each.entity, each.id))
    if invocation.options.json:
        print(json.dumps({"rules": [_as_json(rule) for rule in rules]}, ensure_ascii=False))
        return EXIT_OK
    width = max((len(rule.id) for rule in rules), default=0)
    for rule in rules:
        when = " ".join(rule.when.source.split())
        print(f"{rule.id:<{width}}  {rule.entity:<12}  {rule.severity:<8}  {when}")
    return EXIT_OK


def _as_json(rule: Rule) -> dict[str, str]:
    return {
        "id": rule.id,
        "entity": rule.entity,
        "severity": rule.severity,
        "when": rule.when.source,
        "action": rule.action,
        "runbook": rule.runbook,
    }


def replay(invocation: Invocation) -> int:
    """Print the faults in a recording; return the exit code."""
    collectors = _collectors(invocation)
    book = _book(collectors, invocation)
    for mistake in book.mistakes:
        print(f"hw-exporter: {mistake}", file=sys.stderr)
    if book.mistakes:  # a rule without its file would look like no fault
        return EXIT_MISTAKES
    _leave_faults_out_of_the_log()
    options = invocation.options
    try:
        text = recording_in(options.file)
    except FileUnusable as error:
        print(f"hw-exporter: {options.file}: {error}", file=sys.stderr)
        return EXIT_FAILED
    is_silent = not options.json
    try:
        lines = text.split("\n")
        in_json = changes_as_json(replayed(lines, book, collectors))
        for line in in_json if options.json else changes(lines, book, collectors):
            print(line)
            is_silent = False
    except BadRecording as error:
        print(f"hw-exporter: {options.file}: {error}", file=sys.stderr)
        return EXIT_FAILED
    if is_silent:
        print("no faults")
    return EXIT_OK


def _leave_faults_out_of_the_log() -> None:
    """Keep faults out of the log: they are printed with the recording's time."""
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: not hasattr(record, "fields"))
    logging.getLogger("exporter.faults").addHandler(handler)


def replayed(
    lines: Iterable[str], book: RuleBook, collectors: Collectors = EVERYTHING
) -> Iterator[tuple[float, Conclusions]]:
    """Yield the conclusions of each moment, in seconds from the beginning; raise BadRecording."""
    for snapshot, conclusions in concluded(lines, book, collectors):
        yield snapshot.taken_at - START_WALL, conclusions


def concluded(
    lines: Iterable[str], book: RuleBook, collectors: Collectors = EVERYTHING
) -> Iterator[tuple[Snapshot, Conclusions]]:
    """Yield each snapshot of a recording with its conclusions; raise BadRecording."""
    engine = RuleEngine(book, collectors.subjects, time.perf_counter, boot_id="")
    for snapshot in SnapshotReader(collectors.recordings).snapshots(lines):
        yield snapshot, engine.conclude(snapshot)


def changes(
    lines: Iterable[str], book: RuleBook, collectors: Collectors = EVERYTHING
) -> Iterable[str]:
    """Yield one line for each change of each fault; raise BadRecording."""
    known: dict[tuple[str, str], str] = {}
    for at, conclusions in replayed(lines, book, collectors):
        for fault in conclusions.faults:
            place = (fault.rule, fault.subject.hw_id)
            state = f"{fault.state.value} {fault.root.rule}"
            if known.get(place, "") != state:
                known[place] = state
                yield f"{at:8.0f}s  {_line(fault)}"


def changes_as_json(moments: Iterable[tuple[float, Conclusions]]) -> Iterator[str]:
    """Yield a JSON object with all faults at each moment when one begins, changes or ends.

    A fault that ended is in the first object after its end.
    """
    before: list[dict[str, Any]] = []
    ended: set[tuple[str, str, float]] = set()
    for at, conclusions in moments:
        over = {(f.rule, f.subject.hw_id, f.since) for f in conclusions.faults if not f.is_active}
        faults = [
            _fault_object(fault)
            for fault in conclusions.faults
            if fault.is_active or (fault.rule, fault.subject.hw_id, fault.since) not in ended
        ]
        ended = over
        if faults != before:
            yield json.dumps(
                {"time": round(at, 3), "healthy": conclusions.is_healthy, "faults": faults}
            )
        before = [each for each in faults if each["state"] == "active"]


def _fault_object(fault: Fault) -> dict[str, Any]:
    return {
        "rule": fault.rule,
        "component": subject_document(fault.subject),
        "severity": fault.severity,
        "state": fault.state.value,
        "root": {"rule": fault.root.rule, "component": subject_document(fault.root.subject)},
    }


def _line(fault: Fault) -> str:
    about = f"{fault.subject.hw_type} {fault.subject.hw_name}"
    cause = ""
    if fault.causes:
        root = fault.root
        cause = f" (caused by {root.rule} of {root.subject.hw_type} {root.subject.hw_name})"
    return (
        f"{fault.state.value:<8} {fault.severity:<8} {fault.rule} of {about}: "
        f"{fault.summary}{cause}"
    )
