"""docs/kernel-log.md: the kinds of events of the kernel log, their fields, and a tenant's words."""

from collections.abc import Iterator

from exporter.model.kernel_events import KERNEL_KINDS
from exporter.sources.kernel_log.patterns.pattern import LinePattern, Role
from exporter.sources.kernel_log.patterns.table import LINE_PATTERNS

_INTRODUCTION = """\
# Events of the kernel log

Generated from `exporter/model/kernel_events.py` and `exporter/sources/kernel_log/patterns/`;
do not edit.

The exporter follows `/dev/kmsg`, and where that may not be opened it asks syslog(2) once a second.
`hw_kernel_log_source_info{source,reason}` tells which way is open; both need the capability
`CAP_SYSLOG` where `kernel.dmesg_restrict` is 1.

Only records of the kernel itself are believed.
Programs may write to `/dev/kmsg` too, but the kernel marks what they write: such records are only
counted, in `hw_kernel_log_rejected_records_total{reason="user_record"}`.
For a drill, as root, start the exporter with `kernel_log.accept_user_records` and write one line:

```sh
APP__KERNEL_LOG__ACCEPT_USER_RECORDS=true hw-exporter &
echo '<3>NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.' > /dev/kmsg
curl -s localhost:8080/metrics | grep 'fault="gpu_lost"'
```

What programs wrote there before, since boot, is believed then as well.
Leave `state.dir` unset for a drill: its fault ends with the exporter then, else a day later.

With `state.dir` set, a restart within the same boot continues all counters and neither loses nor
repeats an event; without it the whole log is read again at each start.
Records that were overwritten before they could be read are counted in
`hw_kernel_log_overruns_total`, lines that the kernel itself left out in
`hw_kernel_log_suppressed_lines_total`; where one of them rises, the other numbers are lower bounds.

`hw_kernel_log_events_total{kind}` counts these kinds; a kind has a series from its first event on.
Lines that say that something is over (a link is up, a server answers, a processor is cool again)
are events for the rules, and are not counted.
"""


_TENANTS = """
## What a tenant can write

Some lines hold words that a tenant chooses: names of processes, files, control groups.
A line is known by the words that the kernel itself prints around them, from the beginning of the
record on, so that a name cannot make a line of another kind.
A further line of a record is believed only where the driver prints its message in several lines:
a line feed may come from the name of a file.
With syslog(2) lines with one time stamp may be one record, and are judged by the first of them;
what is left out so is counted in `hw_kernel_log_rejected_records_total` as `ambiguous`.
What follows a message that another processor interrupted before the name of a control group is
not believed for a second, and counted with the reason `fragment`.

Lines without such words cannot be influenced.
These hold some:

| kind | what a tenant chooses | why that gains nothing |
| --- | --- | --- |"""


def kernel_log_page() -> str:
    """Write docs/kernel-log.md as Markdown."""
    return "\n".join((*_kinds(), *_tenants())) + "\n"


def _kinds() -> Iterator[str]:
    yield _INTRODUCTION
    yield "| kind | event type | meaning | fields |"
    yield "| --- | --- | --- | --- |"
    for kind, (event_type, meaning) in sorted(KERNEL_KINDS.items()):
        rows = [row for row in LINE_PATTERNS if row.kind == kind]
        fields = sorted({field for row in rows for field in _fields(row)})
        listed = ", ".join(f"`{field}`" for field in fields)
        yield f"| `{kind}` | {event_type.value} | {meaning} | {listed} |"


def _fields(row: LinePattern) -> Iterator[str]:
    yield from row.fields or row.pattern.groupindex
    if row.role is Role.ENDED:
        yield "ended"


def _tenants() -> Iterator[str]:
    yield _TENANTS
    for kind in sorted(KERNEL_KINDS):
        words = {word for row in LINE_PATTERNS if row.kind == kind for word in row.chosen}
        for word in sorted(words, key=lambda word: word.what):
            yield f"| `{kind}` | {word.what} | {word.why_harmless} |"
