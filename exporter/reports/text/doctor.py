"""`/doctor` as text: each check, its result and the fix."""

from typing import Any

from exporter.reports.units import counted

MARKS = {"ok": "ok", "note": "note", "problem": "PROBLEM"}


def doctor_text(document: dict[str, Any]) -> str:
    """Return the checks, one line each with the fix below."""
    width = max((len(check["name"]) for check in document["checks"]), default=0)
    lines = []
    for check in document["checks"]:
        lines.append(f"{MARKS[check['state']]:<7}  {check['name']:<{width}}  {check['found']}")
        if check["fix"]:
            lines.append(f"{'':<7}  {'':<{width}}  fix: {check['fix']}")
    states = [check["state"] for check in document["checks"]]
    lines.append("")
    lines.append(f"{document['node']}: {_summary(states.count('problem'), states.count('note'))}")
    return "\n".join(lines) + "\n"


def _summary(problems: int, notes: int) -> str:
    if not problems:
        return "no problems; the notes say what is not read" if notes else "everything can be read"
    return counted(problems, "problem")
