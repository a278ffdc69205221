"""The names of node_exporter and dcgm-exporter, from the metrics of the simulated node."""

import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.fakes.prometheus import RULES, Prometheus, free_port, needs, prometheus_of, settings_of
from tests.fakes.promtool import METRIC
from tests.program import ROOT, Program, wait_for

pytestmark = [
    pytest.mark.system,
    needs("prometheus"),
]

FILES = ("compat-node.yml", "compat-dcgm.yml")
IN_12239 = ROOT / "tests/captures/dashboards/12239.txt"
"""What each panel of the dashboard of dcgm-exporter asks for, and by which labels, if any."""
GPUS_OF_DEMO = 8

OF_SOURCES = {
    *("node_arp_entries", "node_boot_time_seconds", "node_disk_io_now", "node_filefd_allocated"),
    *("node_filesystem_size_bytes", "node_memory_MemTotal_bytes", "node_netstat_Tcp_InSegs"),
    *("node_network_up", "node_timex_sync_status", "node_uname_info", "node_vmstat_pgmajfault"),
}
"""A name of each source of node_exporter's values."""

LEAST = 80
"""So many of the hundred names the simulated node has; it has no fan, EDAC or swap."""


def _rules(file: str) -> dict[str, set[str]]:
    """The families that each recorded name is made from."""
    groups = yaml.safe_load((RULES / file).read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    return {rule["record"]: set(METRIC.findall(rule["expr"])) for rule in rules}


def _names(server: Prometheus, pattern: str) -> set[str]:
    found = server.query(f'count by (__name__) ({{__name__=~"{pattern}"}})')
    return {row["metric"]["__name__"] for row in found}


def _has_all_gpus_in_12239(server: Prometheus) -> None:
    """Ask each expression with the variables of the dashboard, all of both."""
    chosen = {
        label: "|".join(row["metric"][label] for row in found)
        for label in ("Hostname", "gpu")
        if (found := server.query(f"count by ({label}) (DCGM_FI_DEV_FB_FREE)"))
    }
    selector = ",".join(f'{label}=~"{values}"' for label, values in chosen.items())
    for name, *labels in map(str.split, IN_12239.read_text().splitlines()):
        found = server.query(f"max({name}{{{selector}}}) by ({''.join(labels)})")
        assert len(found) == (GPUS_OF_DEMO if labels else 1), (name, labels)


def test_the_node_has_the_names_of_both(tmp_path: Path) -> None:
    """A real Prometheus answers every name that the node has a value for, in the others' units."""
    demo = (sys.executable, "-m", "exporter", "demo", "--whole-node", "--healthy")
    with Program(tmp_path / "node", command=demo) as program:
        program.page_with("hw_gpu_activity_ratio")
        targets = {"node": [{"targets": [f"127.0.0.1:{program.port}"]}]}
        place = tmp_path / "prometheus.yml"
        place.write_text(yaml.safe_dump(settings_of((RULES / it for it in FILES), targets)))
        with prometheus_of(place, tmp_path) as server:
            wait_for(lambda: server.query("DCGM_FI_DEV_FB_USED"), "the recorded names")
            wait_for(lambda: server.query("node_load1"), "the recorded names")
            rules = {name: needs for file in FILES for name, needs in _rules(file).items()}
            has = _names(server, "hw_.+")
            needed_for_freshness = {"hw_gpu_up", "hw_gpu_data_stale"}
            expected = {it for it, needs in rules.items() if needs - needed_for_freshness <= has}
            # the rules of a group are evaluated one after the other
            wait_for(lambda: expected <= _names(server, "(node|DCGM)_.+"), "all names")
            answered = _names(server, "(node|DCGM)_.+")
            assert answered == expected
            _has_all_gpus_in_12239(server)
            assert len(answered) >= LEAST
            (ratio,) = server.query(
                "node_memory_MemTotal_bytes / on (instance) hw_memory_total_bytes"
            )
            assert float(ratio["value"][1]) == 1
            memory = server.query("DCGM_FI_DEV_FB_USED * 1048576")
            assert all(float(row["value"][1]) > 2**20 for row in memory)
            assert {"gpu", "UUID", "modelName", "Hostname"} <= set(memory[0]["metric"])
            failed = server.ask("rules")["groups"]
            assert {rule["health"] for group in failed for rule in group["rules"]} == {"ok"}


DASHBOARD = ROOT / "tests/captures/dashboards/1860.txt"
"""The names that each expression of dashboard 1860 needs."""

MIXIN = ROOT / "tests/captures/dashboards/node_mixin.txt"
"""The names, with the labels that are selected, of each rule of node_exporter's mixin."""

COUNTED_OTHERWISE = "node_filesystem_"
"""A filesystem that is mounted several times is one for us."""

LEAST_OF_MIXIN = 20
"""So many rules of the mixin node_exporter answers anywhere; RAID and bonds are not everywhere."""
OF_FILES = {"NodeTextFileCollectorScrapeError"}
"""About files that node_exporter reads, not about hardware."""

FACTOR, SMALL = 3.0, 1000.0
"""Both are read at different moments of a busy machine; a wrong unit is further away."""
LOOKS, PAUSE_SECS = 20, 3.0
"""What only moved between two reads agrees at one of so many looks."""

OF_THE_OTHER = re.compile(r"process_|node_scrape_|node_textfile_")
"""Names of node_exporter's own process and files, not of the hardware."""


@needs("prometheus-node-exporter")
def test_dashboard_1860_is_answered_as_by_node_exporter(tmp_path: Path) -> None:
    """Of what node_exporter answers on this machine 90 %, with values of the same magnitude."""
    port = free_port()
    other = ("prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}")
    changes = {"sources": {"enabled": ["kernel_files"]}}
    with (
        subprocess.Popen(other, stderr=subprocess.DEVNULL) as process,
        Program(tmp_path / "node", changes) as program,
    ):
        try:
            program.page_with("hw_kernel_file_bytes")
            ports = {"other": port, "ours": program.port}
            targets = {job: [{"targets": [f"127.0.0.1:{it}"]}] for job, it in ports.items()}
            place = tmp_path / "prometheus.yml"
            place.write_text(yaml.safe_dump(settings_of([RULES / "compat-node.yml"], targets)))
            with prometheus_of(place, tmp_path) as server:
                wait_for(lambda: server.query('node_vmstat_pswpout{job="ours"}'), "our names")
                wait_for(lambda: server.query('node_vmstat_pgpgout{job="ours"}'), "the last name")
                wait_for(lambda: server.query('node_vmstat_pgpgout{job="other"}'), "their names")
                theirs = _sums(server, "other")
                ours = wait_for(
                    lambda: _whole(_sums(server, "ours"), theirs), "a page with all sources"
                )
                far = _far_at_every_look(server)
                their_rules, our_rules = _rules_of(server, "other"), _rules_of(server, "ours")
        finally:
            process.kill()
    needed = [set(line.split()) for line in DASHBOARD.read_text().splitlines()]
    asked = [it for it in needed if it <= set(theirs) and not OF_THE_OTHER.match(min(it))]
    answered = [it for it in asked if it <= set(ours)]
    assert len(answered) >= 0.9 * len(asked), sorted(set().union(*asked) - set(ours))
    assert len(their_rules) >= LEAST_OF_MIXIN
    assert their_rules - our_rules == OF_FILES
    assert far == {}


def _whole(sums: dict[str, float], theirs: Mapping[str, float]) -> dict[str, float] | None:
    """Return the sums of a page that has all sources, which a busy machine reads too late."""
    return sums if OF_SOURCES & theirs.keys() <= sums.keys() else None


def _sums(server: Prometheus, job: str) -> dict[str, float]:
    found = server.query(f'sum by (__name__) ({{__name__=~"(node|process)_.+",job="{job}"}})')
    return {row["metric"]["__name__"]: float(row["value"][1]) for row in found}


def _far_at_every_look(server: Prometheus) -> dict[str, tuple[float, float]]:
    """Return our value and theirs of each name that is of another magnitude at each look."""
    far = _far(server)
    for _ in range(LOOKS):
        if not far:
            break
        time.sleep(PAUSE_SECS)
        far = {name: values for name, values in _far(server).items() if name in far}
    return far


def _far(server: Prometheus) -> dict[str, tuple[float, float]]:
    theirs, ours = _sums(server, "other"), _sums(server, "ours")
    return {
        name: (ours[name], theirs[name])
        for name in set(ours) & set(theirs)
        if not name.startswith(COUNTED_OTHERWISE)
        and not theirs[name] / FACTOR - SMALL <= ours[name] <= theirs[name] * FACTOR + SMALL
    }


def _rules_of(server: Prometheus, job: str) -> set[str]:
    """Return the rules of the mixin that have all they need."""
    found = set()
    for line in MIXIN.read_text().splitlines():
        rule, *needed = line.split()
        if all(server.query(_within(job, each)) for each in needed):
            found.add(rule)
    return found


def _within(job: str, selector: str) -> str:
    name, _, labels = selector.partition("{")
    return f'{name}{{job="{job}",{labels or "}"}'
