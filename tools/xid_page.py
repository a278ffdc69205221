"""docs/xids.md, generated from the tables."""

from collections.abc import Iterable, Iterator

from exporter.collectors.gpu.xids.catalogue import Catalogue, Nvlink5Rule

_INTRODUCTION = """\
# Xid, SXid and NVLink5 codes

This page is generated from the tables in `exporter/collectors/gpu/`.

An Xid is an error number that the NVIDIA driver writes to the kernel log and reports through NVML;
`hw_gpu_xid_errors_total{xid}` counts them.
Severity, scope and action are the exporter's defaults. If public sources disagree, the last column
lists their opinions.
A *sympathetic* code follows from another event and is never a root cause.

Sources: NVIDIA's Xid catalogue (172 codes, Ampere to GB200), the error-code header of the open GPU
driver 595.45.04 (codes to 176), NVIDIA's fabric manager guide, and the public health checks named
in the tables.
"""


def xid_page(catalogue: Catalogue) -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines(catalogue)) + "\n"


def _lines(catalogue: Catalogue) -> Iterator[str]:
    yield _INTRODUCTION
    yield "## Xid\n"
    yield from _xids(catalogue)
    yield "\n## SXid (NVSwitch up to Hopper)\n"
    yield "A severity in the kernel message (Fatal, Non-fatal) overrides this table.\n"
    yield from _sxids(catalogue)
    yield "\n## NVLink5 (Xid 144 to 150, Blackwell and newer)\n"
    yield "The rule is selected by the unit and the first two numbers in parentheses.\n"
    yield from _nvlink5(catalogue.nvlink5)


def _xids(catalogue: Catalogue) -> Iterator[str]:
    yield from _head(
        ("xid", "name", "meaning", "origin", "severity", "scope", "action", "note", "disagreement")
    )
    for entry in catalogue.xids.values():
        severity = f"{entry.severity}, sympathetic" if entry.sympathetic else entry.severity
        yield _row(
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
    yield from _head(("sxid", "name", "meaning", "class", "source", "note"))
    for entry in catalogue.sxids.values():
        yield _row(entry.code, entry.name, entry.meaning, entry.fatality, entry.source, entry.note)


def _nvlink5(rules: Iterable[Nvlink5Rule]) -> Iterator[str]:
    yield from _head(("xid", "unit", "condition", "severity", "action", "investigate", "note"))
    for rule in rules:
        yield _row(
            rule.xid,
            " or ".join(rule.units),
            rule.condition,
            rule.severity,
            rule.action,
            rule.investigate,
            rule.note,
        )


def _head(titles: tuple[str, ...]) -> tuple[str, str]:
    return _row(*titles), _row(*("---" for _ in titles))


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
