"""docs/xids.md: the tables of codes, behind an introduction that is written by hand."""

from collections.abc import Iterable, Iterator

from exporter.collectors.gpu.xids.catalogue import Catalogue, Nvlink5Rule
from tools.tables import head, introduction, row


def xid_page(catalogue: Catalogue) -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines(catalogue)) + "\n"


def _lines(catalogue: Catalogue) -> Iterator[str]:
    yield introduction("docs/xids.md")
    yield "\n## Xid\n"
    yield from _xids(catalogue)
    yield "\n## SXid (NVSwitch up to Hopper)\n"
    yield "A severity in the kernel message (Fatal, Non-fatal) overrides this table.\n"
    yield from _sxids(catalogue)
    yield "\n## NVLink5 (Xid 144 to 150, Blackwell and newer)\n"
    yield "The rule is selected by the unit and the first two numbers in parentheses.\n"
    yield from _nvlink5(catalogue.nvlink5)


def _xids(catalogue: Catalogue) -> Iterator[str]:
    yield from head(
        *("xid", "name", "meaning", "origin", "severity", "scope", "action", "note"), "disagreement"
    )
    for entry in catalogue.xids.values():
        severity = f"{entry.severity}, sympathetic" if entry.sympathetic else entry.severity
        yield row(
            entry.code,
            entry.name,
            entry.meaning,
            entry.origin,
            severity,
            entry.scope,
            entry.action,
            entry.note,
            entry.disagreement,
        )


def _sxids(catalogue: Catalogue) -> Iterator[str]:
    yield from head("sxid", "name", "meaning", "class", "source", "note")
    for entry in catalogue.sxids.values():
        yield row(entry.code, entry.name, entry.meaning, entry.fatality, entry.source, entry.note)


def _nvlink5(rules: Iterable[Nvlink5Rule]) -> Iterator[str]:
    yield from head("xid", "unit", "condition", "severity", "action", "investigate", "note")
    for rule in rules:
        yield row(
            rule.xid,
            " or ".join(rule.units),
            rule.condition,
            rule.severity,
            rule.action,
            rule.investigate,
            rule.note,
        )
