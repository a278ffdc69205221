"""Writes the documents that are generated from the code, or checks that they are current."""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from exporter.collectors.everything import FAMILIES, LIVE_FAMILIES, SOURCES, VOCABULARY, rule_book
from exporter.collectors.gpu.xids.catalogue import shipped_catalogue
from exporter.config import Config
from exporter.exposition.family import Family
from tests.scoreboard.table import reliability_page
from tools.alerting.documents import (
    alertmanager_config,
    alerts_page,
    clusters_file,
    grafana_alerting,
    prometheus_rule,
)
from tools.alerting.documents import runbooks_page as alert_runbooks_page
from tools.alerting.rules import alerts_file
from tools.bad_values import word_of
from tools.dashboards.document import config_maps, to_json
from tools.dashboards.pages import DASHBOARDS
from tools.kernel_log_page import kernel_log_page, security_page
from tools.promised import LIST as PROMISED
from tools.promised import promised_list
from tools.reasons_page import troubleshooting_page
from tools.rights import rights_page
from tools.rules_page import rules_page
from tools.sizing import sizing_page
from tools.tables import ROOT, introduction, row, with_tables
from tools.xid_page import xid_page

COMPONENTS = "deploy/kubernetes/components"


def default_toml() -> str:
    """Return `config/default.toml`: every key with its default and description."""
    lines = [
        "# All keys of hw-exporter with their defaults; generated from exporter/config/.",
        (
            "# Later settings override earlier ones: these defaults, --config FILE, environment,"
            " flags."
        ),
    ]
    lines += _section(Config(), "")
    return "\n".join(lines) + "\n"


def _section(section: Any, path: str) -> Iterator[str]:
    nested = []
    for item in dataclasses.fields(section):
        value = getattr(section, item.name)
        if dataclasses.is_dataclass(value):
            nested.append((item, value))
            continue
        yield from _key(item, value)
    for item, value in nested:
        name = f"{path}{item.name}"
        yield from ("", f"# {item.metadata['doc']}", f"[{name}]")
        yield from _section(value, f"{name}.")


def _key(item: "dataclasses.Field[Any]", value: object) -> Iterator[str]:
    yield f"# {item.metadata['doc']}{_bounds(item.metadata)}"
    if isinstance(value, Mapping):
        yield f"# {item.name} = {{ NAME = VALUE }}"
    elif item.name == "probes" and isinstance(value, tuple):
        yield "# [[probes]]"
    else:
        yield f"{item.name} = {_toml(value)}"


def _bounds(metadata: Mapping[str, Any]) -> str:
    if metadata.get("one_of"):
        return f" One of: {', '.join(metadata['one_of'])}."
    words = []
    if metadata.get("at_least") is not None:
        words.append(f"at least {metadata['at_least']:g}")
    if metadata.get("at_most") is not None:
        words.append(f"at most {metadata['at_most']:g}")
    return f" {', '.join(words).capitalize()}." if words else ""


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def metrics_page() -> str:
    """Return `docs/METRICS.md` with its table of families, in the order of the page."""
    families: list[Family] = [*FAMILIES, *LIVE_FAMILIES]
    rows = (
        row(
            *(f"`{it.name}`", it.type.in_text, ", ".join(f"`{name}`" for name in it.labels)),
            *(it.help, word_of(it), it.stability),
        )
        for it in families
    )
    return with_tables("docs/METRICS.md", {"# Metrics": rows})


def node_page() -> str:
    """Return `docs/node.md` with its table of sources."""
    rows = (
        row(f"`{it.name}`{'' if it.by_default else ' (opt-in)'}", it.group, *it.about)
        for it in SOURCES
        if it.about is not None
    )
    return with_tables("docs/node.md", {"## Sources": rows})


def config_page() -> str:
    """Return `docs/CONFIG.md`: every key as a table, section by section."""
    lines = (introduction("docs/CONFIG.md"), *_config_tables(Config(), "", ""))
    return "\n".join(lines) + "\n"


def _config_tables(section: Any, path: str, doc: str) -> Iterator[str]:
    items = [(item, getattr(section, item.name)) for item in dataclasses.fields(section)]
    plain = [(item, value) for item, value in items if not dataclasses.is_dataclass(value)]
    if plain:
        yield from ("", f"## `{path.rstrip('.')}`" if path else "## Top level", "")
        yield from ((doc, "") if doc else ())
        yield from ("| key | default | meaning |", "|---|---|---|")
        for item, value in plain:
            default = "none" if isinstance(value, Mapping) or value in ("", ()) else _toml(value)
            meaning = f"{item.metadata['doc']}{_bounds(item.metadata)}"
            yield f"| `{path}{item.name}` | `{default}` | {meaning} |"
    for item, value in items:
        if dataclasses.is_dataclass(value):
            yield from _config_tables(value, f"{path}{item.name}.", item.metadata["doc"])


DOCUMENTS: Mapping[str, Callable[[], str]] = {
    "docs/CONFIG.md": config_page,
    "config/default.toml": default_toml,
    "docs/METRICS.md": metrics_page,
    "docs/node.md": node_page,
    "docs/RIGHTS.md": rights_page,
    PROMISED: promised_list,
    "docs/reliability.md": reliability_page,
    "docs/sizing.md": sizing_page,
    "docs/kernel-log.md": kernel_log_page,
    "docs/security.md": security_page,
    "docs/troubleshooting.md": troubleshooting_page,
    "docs/xids.md": partial(xid_page, shipped_catalogue()),
    "docs/RULES.md": lambda: rules_page(rule_book().rules, VOCABULARY),
    "docs/alerts.md": alerts_page,
    "docs/runbooks/alerts.md": alert_runbooks_page,
    "deploy/prometheus/alerts.yml": alerts_file,
    "deploy/prometheus/clusters.yml": clusters_file,
    f"{COMPONENTS}/prometheus-rule/prometheus-rule.yaml": prometheus_rule,
    f"{COMPONENTS}/alertmanager-config/alertmanager-config.yaml": alertmanager_config,
    "deploy/grafana/provisioning/alerting/hw-exporter.yml": grafana_alerting,
    f"{COMPONENTS}/dashboards/dashboards.yaml": lambda: config_maps(DASHBOARDS),
    **{f"dashboards/hw-{page.uid}.json": partial(to_json, page) for page in DASHBOARDS},
}


def main() -> int:
    """Write all documents; with --check compare them instead, and fail if one is outdated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    old = []
    for name, text_of in DOCUMENTS.items():
        path = ROOT / name
        text = text_of()
        if path.exists() and path.read_text("utf-8") == text:
            continue
        old.append(name)
        if not is_check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    if is_check and old:
        sys.stderr.write(f"outdated, run `make docs`: {', '.join(old)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
