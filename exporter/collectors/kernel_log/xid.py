"""What the text of an Xid line says in the known layouts.

The texts come from closed firmware and differ by driver; a text in no known layout says nothing
more than the code.
"""

import re
from collections.abc import Mapping

from exporter.collectors.gpu.words import RECOVERY_ACTIONS, UNKNOWN
from exporter.model.label import clean_text

_PROCESS = re.compile(
    r"(?:pid=(?:'?<unknown>'?|'?(?P<pid>\d{1,10})'?)(?:, |,?$))?"
    r"(?:name=(?:<unknown>|(?P<name>.{1,64}?))(?:, |,?$))?(?P<text>.*)"
)

_PARTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (hint, re.compile(pattern, re.ASCII))
    for hint, pattern in (
        ("previous Xid", r"\bprevious Xid (?P<cause>\d{1,6})\s*$"),
        ("Ch ", r"\bCh (?P<channel>[0-9a-f]{8})\b"),
        ("ChID", r"\bChID (?P<channel>[0-9a-f]{1,8})\b"),
        ("ENGINE", r"\bENGINE (?P<engine>\w{1,32})\b"),
        ("FAULT_", r"\btype (?P<fault_type>FAULT_\w{1,32})(?: (?P<access_type>ACCESS_\w{1,40}))?"),
        ("GPC ", r"\(GPC (?P<gpc>\d{1,3}), TPC (?P<tpc>\d{1,3})(?:, SM (?P<sm>\d{1,3}))?"),
        ("ontained:", r"^(?P<containment>Contained|Uncontained): (?P<unit>[^(.,]{1,64})"),
        ("RST:", r"\bRST: (?P<reset>Yes|No), D-RST: (?P<drain_reset>Yes|No)\b"),
        ("physAddr", r"\bphysAddr: (?P<address>0x[0-9a-f]{1,16})"),
        ("Row Remapper", r"^Row Remapper[^(]{0,40}\((?P<row>0x[0-9a-f]{1,16})\)"),
        ("Page Retirement", r"^Dynamic (?P<repair>Page Retirement)\b"),
        ("Timeout after", r"^Timeout after (?P<seconds>\d{1,6})s of waiting for RPC"),
        ("Expected function", r"Expected function (?P<function>\d{1,6}(?: \(\w{1,64}\))?)"),
        (
            "NVLink:",
            (
                r"^NVLink: .{0,60}?on link (?P<link>\d{1,3})\("
                r"(?:(?P<registers>0x[0-9a-f]{1,8}(?:, ?0x[0-9a-f]{1,8}){6})\))?"
            ),
        ),
        (
            "atal",
            # As much of it as is there: the kernel cuts long lines.
            (
                r"^(?P<unit>[A-Z][A-Z0-9_/]{1,80})\s+(?P<severity>Fatal|Nonfatal)\b"
                r"(?:\s+XC(?P<xc>\d)(?:\s+i(?P<injected>\d)(?:\s+Link\s+(?P<link>-?\d{1,3})(?=\s)"
                r"(?:\s+\((?P<info>0x[0-9a-f]{1,8})(?=[\s)])"
                r"(?:\s+(?P<status>0x[0-9a-f]{1,8})(?=[\s)]))?)?)?)?)?"
            ),
        ),
    )
)

_RECOVERY = re.compile(
    r"GPU recovery action changed from 0x(?P<old>[0-9a-f]{1,8})(?: \([^)]{0,60}\))?"
    r" to 0x(?P<new>[0-9a-f]{1,8})(?: \((?P<new_text>[^)]{0,60})\))?"
)

_NO_PROCESS = re.compile(r"^(NVRM: Xid \([^)]{1,80}\): 13, )(?!pid=)")


def convert_xid(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields of an Xid line with its process and what its text says.

    The name of the process is chosen by the workload: it may hold colons, spaces and commas, and
    nothing is concluded from it. A link of -1 is no single link.
    """
    text = fields.pop("text", "")
    process = _PROCESS.match(text)
    if process is not None:
        found = process.groupdict()
        text = found.pop("text") or ""
        fields |= {name: value for name, value in found.items() if value}
    for hint, pattern in _PARTS:
        if hint in text and (match := pattern.search(text)):
            fields |= {name: value.strip() for name, value in match.groupdict().items() if value}
    if text:
        fields["text"] = text
    if "pid" not in fields:
        fields["anonymous"] = "yes"
    if fields.get("link", "").startswith("-"):
        del fields["link"]
    return fields


def convert_recovery(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields of an Xid 154 with the new recovery action in words.

    Its code when unknown.
    """
    fields = convert_xid(fields)
    match = _RECOVERY.search(fields.get("text", ""))
    if match is not None:
        old, new = int(match["old"], 16), int(match["new"], 16)
        fields["old"], fields["new"] = str(old), str(new)
        fields["action"] = RECOVERY_ACTIONS.get(new, UNKNOWN)
        if match["new_text"]:
            fields["action_text"] = match["new_text"]
    return fields


def with_process(line: str, fields: Mapping[str, str]) -> str:
    """Return a line of Xid 13 with the process that a further line named, as older drivers do."""
    if "pid" not in fields:
        return line
    process = ", ".join(
        f"{key}={clean_text(fields[key])}" for key in ("pid", "name") if key in fields
    )
    return _NO_PROCESS.sub(lambda found: f"{found[1]}{process}, ", line)
