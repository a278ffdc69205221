"""Lets one real Prometheus scrape hundreds of simulated nodes, and writes what that took.

The time of the rules is by group and rule, of each the least and the median of all evaluations
after the first minute: the least is what a calm machine takes, also where this one is busy at
times. No file is overwritten; ports and file are arguments.

Everything stays on loopback and stops by itself.
"""

import argparse
import asyncio
import dataclasses
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn

from aiohttp import web

from tests.fakes.prometheus import Prometheus, prometheus_of, settings_of
from tools.sizing import FIGURES, size_of
from tools.tables import ROOT

KIND, SICK = "node with 8 GPUs", "sick node"
SETTLING_SECS = 20.0
FIRST_SECS = 60
"""After so long every window has values and every alert that fires has begun to fire."""

SLOWEST_RULES = 12
EVALUATED_SECS = 5
LEAST_SECS = 0.01
INTERVAL_SECS = 15
NODES_OF_RACK = 16


@dataclasses.dataclass(frozen=True, slots=True)
class Ports:
    """The ports of this run on loopback, of Prometheus and of the pages."""

    prometheus: int = 19099
    pages: int = 19100


def _page_of(port: int, *words: str) -> bytes:
    """Return the page of the program, some seconds after it was started with these words."""
    command = (sys.executable, "-m", "exporter", *words, "--host=127.0.0.1", f"--port={port}")
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        time.sleep(SETTLING_SECS)
        url = f"http://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            body: bytes = answer.read()
        return body
    finally:
        process.terminate()
        process.wait()


def _named_apart(page: bytes, numbers: Iterable[int]) -> Iterator[bytes]:
    """Yield the same page under as many names, compressed."""
    text = page.decode()
    start = text.index('node="') + len('node="')
    name = text[start : text.index('"', start)]
    for number in numbers:
        renamed = text.replace(f'node="{name}"', f'node="sim-{number:05}"')
        yield gzip.compress(renamed.encode(), 1)


async def _serve(pages: list[bytes], port: int) -> None:
    headers = {"Content-Type": "text/plain; version=0.0.4", "Content-Encoding": "gzip"}

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=pages[int(request.path[1:])], headers=headers)

    await asyncio.get_running_loop().create_server(web.Server(handle), "127.0.0.1", port)
    await asyncio.Event().wait()


def _config(nodes: int, port: int, folder: Path) -> dict[str, Any]:
    targets = [
        {
            "targets": [f"127.0.0.1:{port}"],
            "labels": {
                "__metrics_path__": f"/{number}",
                "instance": f"sim-{number:05}",
                "rack": f"r{number // NODES_OF_RACK}",
            },
        }
        for number in range(nodes)
    ]
    rules = [folder.resolve() / f"{name}.yml" for name in ("recording", "alerts")]
    config = settings_of(rules, {"hw-exporter": targets}, f"{INTERVAL_SECS}s")
    config["global"]["evaluation_interval"] = f"{EVALUATED_SECS}s"
    return config


def _ask(server: Prometheus, expression: str) -> float:
    found = server.query(expression)
    return float(found[0]["value"][1]) if found else 0.0


def _version() -> str:
    reported = subprocess.run(
        ["prometheus", "--version"], capture_output=True, text=True, check=True
    )
    return (reported.stdout or reported.stderr).split()[2]


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """Simulated nodes: their number, how many of them are sick, and the folder of the rules."""

    nodes: int
    sick: int
    rules: Path


def measure(pages: dict[str, bytes], cluster: Cluster, secs: int, ports: Ports) -> dict[str, Any]:
    """Let Prometheus scrape the cluster for so long, and give the figures."""
    pid = os.fork()
    if pid == 0:
        sick, well = range(cluster.sick), range(cluster.sick, cluster.nodes)
        named = [*_named_apart(pages[SICK], sick), *_named_apart(pages[KIND], well)]
        asyncio.run(_serve(named, ports.pages))
    try:
        with tempfile.TemporaryDirectory(prefix="hw-exporter-scale-") as place:
            config = Path(place, "prometheus.yml")
            text = json.dumps(_config(cluster.nodes, ports.pages, cluster.rules))  # JSON is YAML
            config.write_text(text, "utf-8")
            with prometheus_of(config, config.parent, port=ports.prometheus) as server:
                return _figures(server, cluster, secs)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def _figures(server: Prometheus, cluster: Cluster, secs: int) -> dict[str, Any]:
    evaluations = _evaluations(server, secs)
    return {
        "nodes": cluster.nodes,
        "sick": cluster.sick,
        "kind": KIND,
        "secs": secs,
        "interval_secs": INTERVAL_SECS,
        "prometheus": _version(),
        "cores": os.cpu_count(),
        "up": int(_ask(server, "sum(up)")),
        "series": int(_ask(server, "sum(scrape_samples_scraped)")),
        "firing": int(_ask(server, "count(ALERTS{alertstate='firing'})")),
        "slowest_scrape_secs": _ask(server, "max(scrape_duration_seconds)"),
        **_rules_secs(evaluations),
        **_cost(server.pid, secs),
    }


def _evaluations(server: Prometheus, secs: int) -> list[dict[str, float]]:
    """Return what each group and rule took, evaluation by evaluation, until these seconds."""
    time.sleep(FIRST_SECS)
    found: list[dict[str, float]] = []
    first = datetime.now(timezone.utc).isoformat()
    for _ in range(max(1, (secs - FIRST_SECS) // EVALUATED_SECS)):
        time.sleep(EVALUATED_SECS)
        groups = server.ask("rules")["groups"]
        if min(group["lastEvaluation"] for group in groups) < first:
            continue  # of before, when there was less to evaluate
        found.append(
            {group["name"]: group["evaluationTime"] for group in groups}
            | {
                f"{group['name']}/{rule['name']}": rule["evaluationTime"]
                for group in groups
                for rule in group["rules"]
            }
        )
    if not found:
        raise SystemExit("tools.scale: no evaluation of all rules has ended in this time")
    return found


def _rules_secs(evaluations: list[dict[str, float]]) -> dict[str, Any]:
    """Return the least and the median of each group, their sums, and of the slowest rules."""
    names = sorted(evaluations[0], key=lambda name: -min(it[name] for it in evaluations))
    groups = [name for name in names if "/" not in name]
    rules = [name for name in names if "/" in name]

    def rounded(chosen: list[str], choose: Callable[[Iterable[float]], float]) -> dict[str, float]:
        return {name: round(choose(it[name] for it in evaluations), 4) for name in chosen}

    least, median = rounded(groups, min), rounded(groups, statistics.median)
    return {
        "rules_secs": round(sum(least.values()), 3),
        "rules_median_secs": round(sum(median.values()), 3),
        "groups": {name: secs for name, secs in least.items() if secs >= LEAST_SECS},
        "rules": rounded(rules[:SLOWEST_RULES], min),
    }


def _cost(pid: int, secs: int) -> dict[str, float]:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return {
        "memory_bytes": int(resident.split()[1]) * 1024,
        "cpu_cores": ticks / os.sysconf("SC_CLK_TCK") / secs,
    }


class _Parser(argparse.ArgumentParser):
    """A parser that says in one sentence what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Print the sentence without the usage, and end with exit code 2."""
        self.exit(2, f"tools.scale: {message}\n")


def main() -> int:
    """Measure and write a file that is not there yet: bench/results/scale.json for the docs."""
    parser = _Parser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--sick", type=float, default=1, help="of 100 nodes (default 1)")
    parser.add_argument("--secs", type=int, default=120, help="more than a minute (default 120)")
    parser.add_argument("--rules", type=Path, default=ROOT / "deploy/prometheus", help="a folder")
    parser.add_argument("--out", type=Path, default=FIGURES, help="the file; must not exist yet")
    parser.add_argument("--prometheus-port", type=int, default=Ports().prometheus)
    parser.add_argument("--pages-port", type=int, default=Ports().pages)
    options = parser.parse_args()
    if options.out.exists():
        parser.error(f"{options.out} is there already; remove it, or name another with --out")
    ports = Ports(options.prometheus_port, options.pages_port)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
    pages = {
        "CPU node": _page_of(ports.pages, "run"),
        KIND: _page_of(ports.pages, "demo", "--whole-node", "--healthy"),
        SICK: _page_of(ports.pages, "demo", "--whole-node", "--start=840"),
    }
    sizes = {kind: dataclasses.asdict(size_of(pages[kind])) for kind in ("CPU node", KIND)}
    sick = round(options.nodes * options.sick / 100)
    cluster = Cluster(options.nodes, sick, options.rules)
    found = {"pages": sizes, **measure(pages, cluster, options.secs, ports)}
    text = json.dumps(found, indent=1) + "\n"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("x", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
