"""In containers, made with real namespaces: whose network is seen, and what a mount brings."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[3]
LOOK = """
import json, sys
from pathlib import Path
from exporter.config import Devices
from exporter.reading.source import SourceAbsent
from exporter.collectors.network.interfaces import NetworkReader
from exporter.collectors.network.netstat import NetworkStackReader
proc, sys_root = Path(sys.argv[1]), Path("/sys")
network = NetworkReader(proc, sys_root, Devices(network_exclude=())).read().value
try:
    stack = NetworkStackReader(proc).read().value
    tcp, conntrack = stack.tcp_segments_sent, stack.conntrack_limit
except SourceAbsent as absent:
    tcp, conntrack = str(absent), None
names = [interface.device for interface in network.interfaces]
print(json.dumps({"scope": network.namespace, "names": names, "tcp": tcp, "conntrack": conntrack}))
"""


def read(*prefix: str, proc: str = "/proc") -> dict[str, Any]:
    """What is seen of the network behind this command; skipped where it may not be run."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    if prefix and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces may be made here")
    ended = subprocess.run(
        [*prefix, sys.executable, "-c", LOOK, proc],
        capture_output=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_a_pod_of_its_own_shows_no_network_of_the_node() -> None:
    """With a network and process ids of its own it sees neither interfaces nor TCP of the node."""
    found = read("unshare", "--net", "--pid", "--fork", "--mount-proc")
    assert (found["scope"], found["names"]) == ("pod", [])
    assert found["tcp"] == "only a pod's own network can be seen"


def test_the_hosts_process_ids_show_the_network_of_the_node() -> None:
    """The same interfaces as outside, although our own network is another one."""
    if Path("/proc/self/ns/pid").readlink() != Path("pid:[4026531836]"):
        pytest.skip("the tests run in process ids of their own")
    outside = read()
    inside = read("unshare", "--net")
    assert inside["names"] == outside["names"]
    assert inside["scope"] == "host"
    assert inside["tcp"] >= outside["tcp"]
    assert inside["conntrack"] is None


def test_the_nodes_proc_mounted_elsewhere_shows_its_network(tmp_path: Path) -> None:
    """As `/host/proc` in a pod: process 1 of that filesystem is the node's."""
    outside = read()
    mounted = ("sh", "-c", f'mount --rbind /proc {tmp_path} && exec "$@"', "sh")
    pids = ("unshare", "--pid", "--fork", "--mount-proc")
    inside = read("unshare", "--net", "--mount", *mounted, *pids, proc=str(tmp_path))
    assert inside["names"] == outside["names"]
    assert inside["scope"] == "host"
