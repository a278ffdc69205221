"""docs/RULES.md: the built-in rules, behind an introduction that is written by hand."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from exporter.collectors.everything import KINDS
from exporter.collectors.external_probes.entities import PROBE_FIELDS
from exporter.durations import show_duration
from exporter.faults.fault_history import FIELDS as HISTORY_FIELDS
from exporter.faults.rules.rule import Rule
from exporter.faults.values import Vocabulary
from tools.tables import introduction, row

_ENDS = """\
## Start and end of faults from events

If only time ends a fault, the table gives the reason.
`gpu_reset`, `link_up` and `mounted` are detected by comparing two readings: volatile counters that
decreased, a port that is up again, a filesystem that is mounted or
writable again.

| rule | starts with | reported by | ends with |
|---|---|---|---|"""


def rules_page(rules: Iterable[Rule], vocabulary: Vocabulary) -> str:
    """Return the page as Markdown: one section per file, then all names."""
    listed = tuple(rules)
    return "\n".join([*_lines(listed), *_ends(listed), *_names(vocabulary)]) + "\n"


def _ends(rules: Iterable[Rule]) -> Iterator[str]:
    yield _ENDS
    for rule in sorted(rules, key=lambda each: each.id):
        if rule.is_from_events:
            kinds = dict.fromkeys(wanted.what for wanted in rule.when.events)
            sources = sorted(
                {source for kind in kinds for source in KINDS.event_sources.get(kind, ())}
            )
            cells = (rule.id, _words(kinds), " or ".join(sources) or "a probe", _end_of(rule))
            yield row(*cells)
    yield ""


def _end_of(rule: Rule) -> str:
    """Say what ends a fault of this rule."""
    if rule.clear:
        ends = [f"`{_one_line(rule.clear.source)}`"]
    elif any(("ended", ("no",)) in wanted.filters for wanted in rule.when.events):
        ends = ["the line that reports the end"]
    elif rule.ends_by_time:
        ends = [f"time: {rule.ends_by_time}"]
    else:
        ends = [] if rule.until else ["the end of its condition"]
    return "; ".join([*([_words(rule.until)] if rule.until else []), *ends])


def _words(kinds: Iterable[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)


def _names(vocabulary: Vocabulary) -> Iterator[str]:
    yield "## Names\n"
    yield "Fields of each kind of component; `[]` has one value per label.\n"
    yield "| kind | fields |"
    yield "|---|---|"
    of_all = {*PROBE_FIELDS, *HISTORY_FIELDS}
    for kind, names in sorted(vocabulary.names.items()):
        own = sorted((name, t) for name, t in names.items() if name not in of_all)
        fields = [f"`{n}[]`" if t.is_labeled else f"`{n}`" for n, t in own]
        yield f"| {kind} | {' '.join(fields) or 'events only'} |"
    yield "\nEach kind also has `probe_value[]` and `probe_metric[]` from external probes."
    yield "Each kind except `process` and `workload` has `repeated_fault` and `repeated_faults`."
    events = " ".join(f"`{word}`" for word in sorted(vocabulary.event_words))
    yield f"\nEvents: {events}."


def _lines(rules: Iterable[Rule]) -> Iterator[str]:
    yield introduction("docs/RULES.md") + "\n"
    by_file: dict[str, list[Rule]] = {}
    for rule in rules:
        by_file.setdefault(Path(rule.file).stem, []).append(rule)
    for topic, chosen in sorted(by_file.items()):
        yield f"## {topic}\n"
        yield (
            "| rule | component | severity | condition | for | clears when | explained by |"
            " action |"
        )
        yield "|---|---|---|---|---|---|---|---|"
        yield from map(_row, chosen)
        yield ""


def _row(rule: Rule) -> str:
    clear = f"`{_one_line(rule.clear.source)}`" if rule.clear else "the condition is false"
    severity = rule.severity
    if rule.escalate:
        severity += f"; {rule.escalate_to} if `{_one_line(rule.escalate.source)}`"
    gate = f"; only if `{_one_line(rule.only_if.source)}`" if rule.only_if else ""
    needs = [f"any of {' or '.join(rule.needs)}"] if rule.needs else []
    causes = ", ".join([*dict.fromkeys(cause.rule for cause in rule.explained_by), *needs])
    cells = (
        f"[{rule.id}](runbooks/{Path(rule.file).stem}.md#{rule.runbook})",
        rule.entity,
        severity,
        f"`{_one_line(rule.when.source)}`{gate}",
        show_duration(rule.for_secs),
        f"{clear}, {show_duration(rule.clear_for_secs)}",
        causes,
        rule.action,
    )
    return row(*cells)


def _one_line(source: str) -> str:
    return " ".join(source.split())
