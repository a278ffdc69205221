"""The IMEX domain: what nvidia-imex-ctl prints, how it may fail, and what that costs.

The shape of the answer is that of `nvidia-imex-ctl -N -j` of driver 580 on two nodes.
"""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors import chosen
from exporter.collectors.imex.source import ImexSource, is_own_address, parse_domain
from exporter.collectors.imex.values import ImexDomain, ImexNode
from exporter.config.file import Layer, load
from exporter.probes.child import Children
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.fakes.source_context import source_context
from tests.fakes.waiting import until

OWN, PEER = "127.0.0.1", "192.0.2.7"  # an address of every node, and one of none


def printed(peer: str = "READY", to_peer: str = "CONNECTED", state: str = "UP") -> dict[str, Any]:
    """Return what is printed of a domain of two nodes, seen from the first."""
    connected = {"0": {"host": OWN, "status": "CONNECTED", "changed": True}}
    connected["1"] = {"host": PEER, "status": to_peer, "changed": True}
    unknown = {key: {**it, "status": "INVALID"} for key, it in connected.items()}
    there = connected if peer == "READY" else unknown
    about = {"changed": True, "version": "580.95.05", "hostName": ""}
    own = {"status": "READY", "host": OWN, "connections": connected, **about}
    nodes = {"0": own, "1": {"status": peer, "host": PEER, "connections": there, **about}}
    return {"nodes": nodes, "timestamp": "9/4/2026 00:37:39.905", "status": state}


def parsed(found: dict[str, Any]) -> ImexDomain:
    """Parse it as printed on the first node."""
    return parse_domain(json.dumps(found).encode(), lambda host: host == OWN)


def test_a_domain_that_is_up() -> None:
    """Each node is ready and connected."""
    nodes = tuple(ImexNode(host, "READY", ready=True, connected=True) for host in (OWN, PEER))
    assert parsed(printed()) == ImexDomain(nodes, up=True, node_count=2, ready_count=2)


def test_a_node_that_is_not_ready() -> None:
    """It is named with its status; the domain is not up."""
    domain = parsed(printed("WAITING_FOR_PEERS", "INVALID", "DEGRADED"))
    assert domain.nodes[1] == ImexNode(PEER, "WAITING_FOR_PEERS", ready=False, connected=False)
    assert (domain.up, domain.node_count, domain.ready_count) == (False, 2, 1)


def test_nothing_is_said_of_connections_by_a_node_that_is_not_ready() -> None:
    """What is printed of them then was never asked."""
    found = printed("READY", "INVALID", "DOWN")
    found["nodes"]["0"]["status"] = "UNAVAILABLE"
    domain = parsed(found)
    assert [(node.ready, node.connected) for node in domain.nodes] == [(False, None), (True, None)]


def test_what_is_not_said_is_unknown() -> None:
    """A status without a known meaning, and a node that only a connection names."""
    found = printed(state="RECOVERING")
    del found["nodes"]["1"]
    domain = parsed(found)
    assert domain.up is None
    assert domain.nodes[1] == ImexNode(PEER, "", ready=None, connected=True)
    assert domain.node_count == 1
    del found["nodes"]["0"]["connections"]
    assert parsed(found).nodes == (ImexNode(OWN, "READY", ready=True),)


def test_nodes_are_bounded() -> None:
    """Of a larger domain the first nodes have series; the counts are of all."""
    nodes = {str(n): {"host": f"10.0.{n // 250}.{n % 250}", "status": "READY"} for n in range(300)}
    domain = parsed({"nodes": nodes, "status": "UP"})
    assert (len(domain.nodes), domain.node_count, domain.ready_count) == (256, 300, 300)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", "null", '{"nodes": 7}', '{"nodes": []}', "[" * 100_000),
        '{"nodes": {"0": 7}}',
        '{"nodes": {"0": {"host": "127.0.0.1"}}}',
        '{"nodes": {"0": {"status": "READY"}}}',
        '{"nodes": {"0": {"host": "127.0.0.1", "status": "READY", "connections": 1}}}',
        '{"nodes": {"0": {"host": "127.0.0.1", "status": "READY", "connections": {"0": {}}}}}',
    ],
)
def test_what_is_no_domain_is_refused(text: str) -> None:
    """No value is better than a value that was made up; one sentence says what was printed."""
    with pytest.raises(SourceFailed, match=r"^nvidia-imex-ctl prints no domain: .*$") as refused:
        parse_domain(text.encode(), lambda host: host == OWN)
    assert len(str(refused.value)) < 300


def test_own_addresses() -> None:
    """Addresses of this node are told from others, in both families; a name is none."""
    assert is_own_address("127.0.0.1")
    assert not is_own_address(PEER)
    assert not is_own_address("gpu-node-1")
    assert not is_own_address("2001:db8::7")
    if socket.has_ipv6 and Path("/proc/net/if_inet6").exists():
        assert is_own_address("::1")


def test_it_is_on_if_its_source_is_enabled() -> None:
    """One key loads the collector, its source and its rules."""
    for enabled in ([], ["imex"]):
        config = load([Layer("test", {"sources": {"enabled": enabled}})])
        collectors = chosen(config)
        rules = {it.id for it in collectors.rule_book().rules if it.id.startswith("imex_node")}
        assert ("imex" in {row.name for row in collectors.sources_for(config)}) is bool(enabled)
        assert len(rules) == 2 * len(enabled)


class Control:
    """A program nvidia-imex-ctl on disk, and the source that runs it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "nvidia-imex-ctl"
        self.runs = folder / "runs"
        self.now = 1000.0
        self.woken: list[str] = []
        self.children = Children()
        self.source = self.source_that_waits(20.0)

    def source_that_waits(self, secs: float, timeout_secs: float = 20.0) -> ImexSource:
        """Make a source that waits so long for an answer."""
        context = source_context(
            child_environment={"PATH": f"/no/such/folder:{self.path.parent}:/usr/bin:/bin"},
            children=self.children,
            boottime=lambda: self.now,
            wake=self.woken.append,
        )
        return ImexSource(context, timeout_secs, secs)

    def does(self, script: str) -> None:
        """Let the program do this from now on."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(f'#!/bin/sh\necho "$@" >> {self.runs}\n{script}\n')
        fresh.chmod(0o755)
        fresh.replace(self.path)

    def prints(self, found: dict[str, Any]) -> None:
        """Let it print this domain."""
        self.does(f"echo '{json.dumps(found)}'")

    @property
    def run_count(self) -> int:
        """How often it was run."""
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0

    async def up(self, after_secs: float = 15.0) -> bool | None:
        """Read after some seconds: whether the domain is up."""
        self.now += after_secs
        return (await self.source.read()).value.up


@pytest.fixture(name="control")
def _control(tmp_path: Path) -> Control:
    return Control(tmp_path)


@pytest.mark.system
async def test_the_program_is_run_at_each_reading(control: Control) -> None:
    """It is asked for the whole domain in JSON, once for each reading."""
    control.prints(printed())
    assert await control.up() is True
    control.prints(printed("UNAVAILABLE", "INVALID", "DEGRADED"))
    assert await control.up() is False
    assert control.runs.read_text() == "-N -j\n-N -j\n"


@pytest.mark.system
async def test_a_failure_ends_the_values_and_is_tried_again_after_a_pause(control: Control) -> None:
    """No old value is shown, no value is made up, and a program that fails is not run at once."""
    control.prints(printed())
    await control.up()
    control.does("echo 'cannot read config.cfg' >&2; exit 255")
    for after_secs in (15.0, 0.5):
        with pytest.raises(SourceFailed, match=r"exit code 255 \(cannot read config.cfg\)$"):
            await control.up(after_secs)
    assert control.run_count == 2
    control.prints(printed())
    assert await control.up() is True


@pytest.mark.system
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo READY", "prints no domain: 'READY"),
        ("exit 3", "exit code 3$"),
        ("head -c 9000000 /dev/zero", "flood"),
        ("kill -SEGV $$", "exit code -11"),
    ],
)
async def test_an_answer_that_is_none_is_one_sentence(
    control: Control, script: str, reason: str
) -> None:
    """Whatever the program does costs the values of IMEX only, and leaves no child."""
    control.does(script)
    with pytest.raises(SourceFailed, match=f"^nvidia-imex-ctl:? {reason}"):
        await control.up()
    await until(lambda: control.children.pids == ())


@pytest.mark.system
async def test_a_program_that_hangs_is_killed(control: Control) -> None:
    """It is ended with what it has started, and never runs twice at once."""
    control.source = control.source_that_waits(20.0, timeout_secs=0.2)
    control.does("sleep 300 & sleep 300")
    with pytest.raises(SourceFailed, match="nvidia-imex-ctl: timeout"):
        await control.up()
    assert control.children.pids == ()


@pytest.mark.system
async def test_a_slow_answer_delays_no_collection(control: Control) -> None:
    """The reading tells what is known; the answer is published when it comes, by one run."""
    control.source = control.source_that_waits(0.01)
    go = control.path.with_suffix(".go")
    slow = f"while [ ! -e {go} ]; do sleep 0.02; done; echo '{json.dumps(printed())}'"
    control.does(slow)
    for _ in range(2):
        with pytest.raises(SourceAbsent, match="still asks"):
            await control.up()
    assert not control.woken
    go.touch()
    await until(lambda: bool(control.woken))
    assert set(control.woken) == {"imex"}
    assert await control.up() is True
    assert control.run_count == 1
    go.unlink()
    assert await control.up() is True, "the last answer, while the program asks again"
    await until(lambda: control.run_count == 2)
    await control.source.close()
    await until(lambda: control.children.pids == ())


@pytest.mark.system
async def test_a_program_that_is_not_there_is_no_failure(control: Control) -> None:
    """A node without IMEX has nothing to say; a program that anybody can write is not run."""
    with pytest.raises(SourceAbsent, match="neither in /usr/bin nor in the PATH"):
        await control.up()
    control.prints(printed())
    control.path.chmod(0o777)
    with pytest.raises(SourceAbsent):
        await control.up(60.0)
    assert control.run_count == 0
    control.path.chmod(0o755)
    assert await control.up(60.0) is True
