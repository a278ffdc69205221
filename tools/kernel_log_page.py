"""docs/kernel-log.md: kinds of events and their fields; the table of messages in security.md."""

from collections.abc import Iterator
from pathlib import Path

from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.user_words import user_words

SECURITY_PAGE = Path(__file__).parent.parent / "docs" / "security.md"
_HEAD = "| message | printed by | who can cause it | events it can produce |\n|---|---|---|---|\n"

_INTRODUCTION = """\
# Kernel log events

This page lists the kernel log messages that become events. It is generated from the files
`exporter/collectors/*/kernel_log.toml`.

The exporter follows `/dev/kmsg`. If it cannot open it, or another device has its name (`/dev/null`
or the console in containers: reason `not_kmsg`), it polls syslog(2) once a second.
`hw_kernel_log_source_info{source,reason}` shows which one is used. Both need the capability
`CAP_SYSLOG` if `kernel.dmesg_restrict` is 1.

Only records of the kernel itself are accepted.
Programs can write to `/dev/kmsg` too, but the kernel marks these records. They are only counted,
in `hw_kernel_log_rejected_records_total{reason="user_record"}`.

## Test it with a simulated Xid

As root, start the exporter with `kernel_log.accept_user_records` and write a line:

```sh
APP__KERNEL_LOG__ACCEPT_USER_RECORDS=true hw-exporter &
echo '<3>NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.' > /dev/kmsg
curl -s localhost:8080/metrics | grep 'fault="gpu_lost"'
```

All records that programs have written since boot are then accepted too.
Leave `state.dir` unset for this test: then the fault ends when the exporter exits, otherwise a day
later.

## Restarts and lost records

With `state.dir` set, all counters continue after a restart within the same boot, and no event is
lost or repeated. Without it, the whole log is read again at each start.
`hw_kernel_log_overruns_total` counts records that were overwritten before they were read;
`hw_kernel_log_suppressed_lines_total` counts lines that the kernel rate-limited. If one of them
increases, the other counters are lower bounds.

## Events

`hw_kernel_log_events_total{kind}` counts these kinds; a kind has a series after its first event.
Messages that report the end of a problem (a link is up, a server answers, a CPU has cooled down)
are events for the rules, but are not counted.
"""

_PATTERNS = """
## Patterns

Each event begins with a table `[[line]]` in the `kernel_log.toml` of a collector.
The first line that matches wins; the order is that of the files by name.

- `kind`: the kind of the event; `[kinds."error.hw"]` and the like give each kind its event type
  and meaning.
- `contains`: text without which the pattern cannot match; it is searched first, because that is
  cheap.
- `pattern`: the regular expression, from the start of the line, as a string or several to be
  joined; a group `(?P<name>…)` is a field of the event, and `(?P<name_2>…)` is the same field
  elsewhere in the line.
- `about`: type and field of the component, as in `"gpu pci"`; of several the first that the line
  names; without it the node.
- `role`: `whole` (default), `start`, `join` or `continuation` for messages of several lines;
  `ended` for the end of a problem; `dropped` for lines that the kernel suppressed.
- `same`, `once`, `needs`: a line joins an open event only if the field `same` is equal and the
  field `once` is not there yet; without the field `needs` there is no event. A line with the role
  `ended` ends only events in which the field `same` is equal or missing.
- `set`: fields with fixed values.
- `convert`, `fields`: a function of `conversions.py` that makes other fields, and their names.
- `user_words`: text in it that a tenant controls: `comm`, `file`, `cgroup`, `server`,
  `interface`.
- `opens`: the kind whose further lines belong to the event that this `start` begins.
- `further_lines`: the driver prints further lines in the same record.

Lines of your own come behind them: name files or directories in `kernel_log.patterns_dirs`.
[examples/kernel_log.toml](../examples/kernel_log.toml) is such a file, and
[examples/rules.toml](../examples/rules.toml) makes a fault of its event.
`hw-exporter rules check FILE…` and `--check-config` check them, also for patterns that would take
too long for some line. A line with an error is left out with a warning; with `faults.strict` the
exporter does not start.

`[parts]` names pieces of patterns; `@NAME@` stands for one of them. `@PCI@` (an address), `@COMM@`
(a process name) and `@LF@` (a line feed) exist everywhere.
"""

_TENANTS = """
## What a tenant can write

Some kernel messages contain text that a tenant controls: names of processes, files or cgroups.
[security.md](security.md#text-of-users-in-the-kernel-log) lists them with the functions that print
them, and says how they are told from messages of drivers.
Records that are rejected for this reason are counted in
`hw_kernel_log_rejected_records_total`: as `foreign` if they begin with such text or are packets
that netfilter logged, as `fragment` if they are the rest of an interrupted message, and as
`ambiguous` if syslog(2) shows several lines with the same timestamp, which may be one record.

A tenant cannot influence messages without such text.
These messages contain some:

| kind | text that a tenant controls | why it is harmless |
| --- | --- | --- |"""


def kernel_log_page() -> str:
    """Return docs/kernel-log.md as Markdown."""
    return "\n".join((*_kinds(), _PATTERNS.rstrip(), *_tenants())) + "\n"


def security_page() -> str:
    """Return docs/security.md with its table of the messages that hold text of users."""
    before, head, after = SECURITY_PAGE.read_text("utf-8").partition(_HEAD)
    return before + head + "".join(_user_words()) + "\n" + after[after.index("## ") :]


def _user_words() -> Iterator[str]:
    for words in user_words():
        text = words.text.replace("|", "\\|").replace("\n", "⏎").replace("`", "'").strip()
        kinds = ", ".join(f"`{kind}`" for kind in sorted(words.kinds)) or "none"
        yield f"| `{text}` | {words.printer} | {words.who} | {kinds} |\n"


def _kinds() -> Iterator[str]:
    yield _INTRODUCTION
    yield "| kind | event type | meaning | fields |"
    yield "| --- | --- | --- | --- |"
    for kind, (event_type, meaning) in sorted(shipped_lines().kinds.items()):
        rows = [row for row in shipped_lines().rows if row.kind == kind]
        fields = sorted({field for row in rows for field in row.field_names})
        listed = ", ".join(f"`{field}`" for field in fields)
        yield f"| `{kind}` | {event_type.value} | {meaning} | {listed} |"


def _tenants() -> Iterator[str]:
    yield _TENANTS
    for kind in sorted(shipped_lines().kinds):
        words = {
            word for row in shipped_lines().rows if row.kind == kind for word in row.tenant_words
        }
        for word in sorted(words, key=lambda word: word.what):
            yield f"| `{kind}` | {word.what} | {word.why_harmless} |"
