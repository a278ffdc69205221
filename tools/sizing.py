"""docs/sizing.md: monitoring of a cluster, computed from real pages and a measured run."""

import gzip
import json
from dataclasses import dataclass
from typing import Any

from tools.tables import ROOT

CHOICES = ROOT / "tools/ways.md"
FIGURES = ROOT / "bench/results/scale.json"
NODES = (10, 1_000, 10_000, 100_000)
INTERVAL_SECS = 15
DAY_SECS = 86_400

BYTES_PER_SAMPLE_ON_DISK = 1.5
BYTES_PER_SERIES_IN_MEMORY = 4_600
BYTES_PER_SAMPLE_REMOTE = 12
SERIES_PER_SERVER = 10_000_000
RETENTION_DAYS = 15
COLUMNS = (
    *("nodes of", "number", "series", "samples/s", "scraped, gzip"),
    *("memory", "disk", "remote write", "servers"),
)


@dataclass(frozen=True, slots=True)
class PageSize:
    """One page: number of series, size plain and compressed."""

    series: int
    plain_bytes: int
    gzip_bytes: int


def size_of(body: bytes) -> PageSize:
    """Return the size of a page of /metrics."""
    lines = [line for line in body.splitlines() if line and not line.startswith(b"#")]
    return PageSize(len(lines), len(body), len(gzip.compress(body, 6)))


def figures() -> dict[str, Any]:
    """Return what `python -m tools.scale` wrote."""
    found: dict[str, Any] = json.loads(FIGURES.read_text("utf-8"))
    return found


def of_cluster(page: PageSize, nodes: int) -> dict[str, float]:
    """Return the figures of this many nodes with pages of this size, in bytes."""
    series = page.series * nodes
    samples_per_sec = series / INTERVAL_SECS
    return {
        "series": series,
        "samples_per_sec": samples_per_sec,
        "scrape_bytes_per_sec": page.gzip_bytes * nodes / INTERVAL_SECS,
        "memory_bytes": series * BYTES_PER_SERIES_IN_MEMORY,
        "disk_bytes": samples_per_sec * DAY_SECS * RETENTION_DAYS * BYTES_PER_SAMPLE_ON_DISK,
        "remote_write_bytes_per_sec": samples_per_sec * BYTES_PER_SAMPLE_REMOTE,
        "servers": max(1, -(-series // SERIES_PER_SERVER)),
    }


def _bytes(value: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000:  # noqa: PLR2004 - where the next unit begins
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} PB"


def _row(kind: str, page: PageSize, nodes: int) -> str:
    found = of_cluster(page, nodes)
    cells = (
        kind,
        f"{nodes:,}",
        f"{found['series']:,}",
        f"{found['samples_per_sec']:,.0f}",
        _bytes(found["scrape_bytes_per_sec"]) + "/s",
        _bytes(found["memory_bytes"]),
        _bytes(found["disk_bytes"]),
        _bytes(found["remote_write_bytes_per_sec"]) + "/s",
        f"{found['servers']:.0f}",
    )
    return "| " + " | ".join(cells) + " |"


def sizing_page() -> str:
    """Return `docs/sizing.md`: sizes of pages and clusters, and the measurement of a Prometheus."""
    found = figures()
    sizes = {kind: PageSize(**size) for kind, size in found["pages"].items()}
    lines = [
        "# Sizing",
        "",
        "This page estimates series, samples and disk space of a cluster.",
        "`tools/sizing.py` computes it from two pages that `python -m tools.scale` measured: of a",
        "machine without GPUs, and of the simulated node (`hw-exporter demo --whole-node`).",
        "",
        "## One node",
        "",
        "| node | series | page | gzip |",
        "|---|---|---|---|",
        *(
            f"| {kind} | {size.series} | {_bytes(size.plain_bytes)} | {_bytes(size.gzip_bytes)} |"
            for kind, size in sizes.items()
        ),
        "",
        "The exporter takes 31 MiB of memory (PSS) on a CPU node, and 42 MiB with 8 GPUs, 100",
        "processes on them and a page of 3,000 series (2026-11-30, as the image runs it;",
        "`make bench`).",
        "With the real NVML of an H200 it took 62 MiB (2026-11-27): NVIDIA's library is most of",
        "the 29 MiB of the process that calls it. It used 0.19 s of processor time per minute",
        "there, with four scrapes, node_exporter 0.03 s, and one `nvidia-smi --query-gpu`, which",
        "nvidia_gpu_exporter runs for each scrape, 0.018 s.",
        "To count the series of your node: `curl -s localhost:8080/metrics | grep -c '^hw_'`.",
        "Turn off groups (`metrics.enabled`) or families (`metrics.deny`) that you do not use.",
        "",
        "## Clusters",
        "",
        f"Scrape interval {INTERVAL_SECS} s, retention {RETENTION_DAYS} days.",
        "Assumptions (rules of thumb; measure your own setup):",
        f"a sample needs {BYTES_PER_SAMPLE_ON_DISK} bytes on disk and {BYTES_PER_SAMPLE_REMOTE}",
        f"bytes for remote write, a series {BYTES_PER_SERIES_IN_MEMORY:,} bytes of memory,",
        f"and a server handles {SERIES_PER_SERVER:,} series.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|" + "---|" * len(COLUMNS),
        *(_row(kind, size, nodes) for kind, size in sizes.items() for nodes in NODES),
        *_measured_lines(found),
        "",
        *CHOICES.read_text("utf-8").splitlines(),
    ]
    return "\n".join(lines) + "\n"


def _measured_lines(found: dict[str, Any]) -> list[str]:
    per_series = found["memory_bytes"] / found["series"]
    text = f"""
## Measured

`python -m tools.scale` ran one Prometheus {found["prometheus"]} on {found["cores"]} cores, which it
shared with the server of {found["nodes"]} simulated nodes (the page of a {found["kind"]} under
{found["nodes"]} names), scraped every {found["interval_secs"]} s for {found["secs"]} s:

| figure | value |
|---|---|
| targets up | {found["up"]} |
| series | {found["series"]:,} |
| memory | {_bytes(found["memory_bytes"])}, {per_series:,.0f} bytes per series |
| processor | {found["cpu_cores"]:.2f} cores |
| slowest scrape | {found["slowest_scrape_secs"] * 1000:.0f} ms |
| all rules once, median | {found["rules_median_secs"]:.1f} s |
| all rules once, least | {found["rules_secs"]:.1f} s |

{found["sick"]} of the nodes had faults. The least is what a calm machine takes; this one was shared
with other programs. The slowest groups, which Prometheus evaluates side by side (least):

| group | seconds |
|---|---|"""
    rows = [f"| `{name}` | {secs:.2f} |" for name, secs in found["groups"].items()]
    return [*text.split("\n"), *rows]
