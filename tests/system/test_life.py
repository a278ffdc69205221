"""The real program: how it starts, what it survives, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench.processes import family
from tests.fakes.host_tree import cpu_node
from tests.fakes.prometheus import free_port
from tests.program import PATIENCE_SECS, ROOT, Program, value_of, wait_for

FAST: dict[str, dict[str, Any]] = {"metrics": {"collect_interval_secs": 0.1}}
OK = 200
ASLEEP_SECS = 0.5
AGE = "hw_exporter_snapshot_age_seconds"


def _traceback(program: Program) -> bool:
    return "Traceback" in program.log_file.read_text()


def test_it_serves_and_ends_well(tmp_path: Path) -> None:
    """From start to a complete page, and out with code 0 on SIGTERM, with two lines in the log."""
    with Program(tmp_path) as program:
        page = program.first_page()
        assert page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert program.get("/ready").document["reasons"] == []
        code, secs = program.stop()
    assert code == 0
    assert secs < 2
    assert [line["message"].split(" on ")[0] for line in program.log_lines] == [
        "listening",
        "stopping",
    ]


@pytest.mark.parametrize(
    ("number", "after_secs"),
    [
        (signal.SIGTERM, 0.0),
        (signal.SIGINT, 0.0),
        (signal.SIGTERM, 0.1),
        (signal.SIGINT, 0.2),
        (signal.SIGTERM, 0.4),
        (signal.SIGINT, 0.7),
    ],
)
def test_it_can_be_stopped_at_any_moment(
    tmp_path: Path, number: signal.Signals, after_secs: float
) -> None:
    """Whatever it is doing, it ends well within two seconds and without a traceback."""
    with Program(tmp_path, FAST) as program:
        # Before Python itself is up, nobody but the kernel can answer.
        wait_for(lambda: program.obeys(number), "the program to obey")
        time.sleep(after_secs)
        code, secs = program.stop(number)
    assert code == 0
    assert secs < 2
    assert not _traceback(program)


def test_asked_twice_it_leaves_at_once(tmp_path: Path) -> None:
    """A second signal is obeyed at once, and nothing is said about it."""
    with Program(tmp_path, FAST) as program:
        program.first_page()
        program.process.send_signal(signal.SIGTERM)
        code, secs = program.stop(signal.SIGINT)
    assert code in (0, 1)
    assert secs < 1
    assert not _traceback(program)


def test_it_ends_while_clients_hold_on(tmp_path: Path) -> None:
    """Open connections, idle or in the middle of a request, do not delay the end."""
    with Program(tmp_path) as program:
        program.first_page()
        address = ("127.0.0.1", program.port)
        held = [socket.create_connection(address) for _ in range(20)]
        for sock in held[:10]:
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
        for sock in held[10:]:
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        code, secs = program.stop()
        for sock in held:
            sock.close()
    assert code == 0
    assert secs < 2
    assert not _traceback(program)


def test_it_goes_on_after_having_been_stopped(tmp_path: Path) -> None:
    """After SIGSTOP and SIGCONT it collects again, and the age of what it shows was never wrong."""
    with Program(tmp_path, FAST) as program:
        program.first_page()
        program.process.send_signal(signal.SIGSTOP)
        time.sleep(ASLEEP_SECS)
        program.process.send_signal(signal.SIGCONT)
        wait_for(lambda: program.value(AGE) < ASLEEP_SECS, "a fresh page")
        assert program.get("/health").status == 200
        assert program.stop()[0] == 0


def test_the_model_of_the_processor_comes_after_the_first_page(tmp_path: Path) -> None:
    """py-cpuinfo takes a second of processor time, which the start of a small node has not."""
    tree = cpu_node(tmp_path / "host")
    slow = tree.at("/proc/pressure/cpu")
    slow.unlink()
    os.mkfifo(slow)  # to read it takes until the deadline of the source
    sources = {**tree.roots, "cpu_model_probe": True}
    with Program(tmp_path, {"sources": sources}) as program:
        before, now = set[int](), {*family(program.process.pid)}
        while program.get("/metrics").status != OK:
            before, now = before | now, {*family(program.process.pid)}
        assert before == {program.process.pid}
        wait_for(lambda: len([*family(program.process.pid)]) > 1, "py-cpuinfo to be started")


def test_a_blocked_standard_error_stops_nothing(tmp_path: Path) -> None:
    """With standard error a full pipe that nobody reads, pages are served and the end is quick."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    port = free_port()
    changes = {**FAST, "server": {"port": port}}
    with Program(tmp_path, changes, stderr=writing, port=port) as program:
        assert program.first_page().status == 200
        assert program.stop()[0] == 0
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("redirection", ["2>/dev/full", "<&- >&- 2>&-", ">/dev/full"])
def test_closed_and_full_streams_stop_nothing(tmp_path: Path, redirection: str) -> None:
    """Without standard streams, or with full ones, it serves all the same."""
    shell = ("sh", "-c", f'exec "$@" {redirection}', "sh")
    port = free_port()
    command = (*shell, sys.executable, "-m", "exporter", "run")
    changes = {**FAST, "server": {"port": port}}
    with Program(tmp_path, changes, command=command, port=port) as program:
        assert program.first_page().status == 200
        assert program.get("/node").document["node"]
        assert program.stop()[0] == 0


def test_lost_log_lines_are_counted(tmp_path: Path) -> None:
    """What a full standard error did not take is on the page."""
    port = free_port()
    with (
        Path("/dev/full").open("wb") as full,
        Program(tmp_path, {"server": {"port": port}}, stderr=full.fileno(), port=port) as program,
    ):
        page = program.first_page().text
    assert (value_of(page, "hw_exporter_log_lines_dropped_total") or 0) >= 1


def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    """Another program on the port: exit code 1 at once, with one sentence."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Program(tmp_path, {"server": {"port": port}}) as program:
            assert program.process.wait(PATIENCE_SECS) == 1
        said = program.log_file.read_text()
    expected = f"hw-exporter: cannot listen on 127.0.0.1:{port}: Address already in use; "
    assert said == f"{expected}--port N uses another port\n"


def test_an_address_of_somebody_else_is_one_line(tmp_path: Path) -> None:
    """An address this machine does not have: exit code 1 at once, with one sentence."""
    with Program(tmp_path, {"server": {"host": "192.0.2.1"}}) as program:
        assert program.process.wait(PATIENCE_SECS) == 1
    expected = "hw-exporter: cannot listen on 192.0.2.1:0: Cannot assign requested address\n"
    assert program.log_file.read_text() == expected


def test_the_default_address_is_both_ip_versions(tmp_path: Path) -> None:
    """The default configuration answers over IPv4 and, where the machine has it, IPv6."""
    with Program(tmp_path, {"server": {"host": "0.0.0.0"}}) as program:
        assert program.get("/health").status == 200
        try:
            sock = socket.create_connection(("::1", program.port))
        except OSError:
            pytest.skip("this machine has no IPv6")
        with sock:
            sock.sendall(b"GET /health HTTP/1.0\r\n\r\n")
            assert sock.recv(100).startswith(b"HTTP/1.0 200 OK")


LONELY = {
    "[::1]": "ip link set lo up && ip -4 addr flush dev lo",
    "127.0.0.1": "ip link set lo up && mount -t proc none /proc && "
    "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6",
}
"""What makes a network that has nothing but this address."""


@pytest.mark.parametrize("address", LONELY)
def test_a_network_of_one_ip_version(tmp_path: Path, address: str) -> None:
    """The default configuration also serves where there is only one version of IP."""
    command = ("unshare", "-rnpf", "--mount", "sh", "-c")
    if subprocess.run([*command, LONELY[address]], capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here")
    lonely_network = (*command, f'{LONELY[address]} && exec "$@"', "sh")
    script = (
        "import subprocess, sys, time, urllib.request\n"
        "program = subprocess.Popen([sys.executable, '-m', 'exporter', '--port', '18080'])\n"
        "for _ in range(500):\n"
        "    try:\n"
        f"        print(urllib.request.urlopen('http://{address}:18080/health').status)\n"
        "        break\n"
        "    except OSError:\n"
        "        time.sleep(0.02)\n"
        "program.kill()\n"
    )
    done = subprocess.run(
        [*lonely_network, sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "200", done.stderr


def test_few_descriptors_are_enough(tmp_path: Path) -> None:
    """With 64 descriptors and 500 clients it keeps going at rest, and recovers when they leave."""
    with Program(tmp_path, FAST, descriptors=64) as program:
        program.first_page()
        before = program.descriptor_count()
        clients = []
        for _ in range(500):
            client = socket.socket()
            client.settimeout(PATIENCE_SECS)
            client.connect(("127.0.0.1", program.port))
            clients.append(client)
        spent, began = _cpu_secs(program), time.monotonic()
        time.sleep(1.0)
        assert _cpu_secs(program) - spent < 0.5 * (time.monotonic() - began)
        for client in clients:
            client.close()
        assert program.first_page().status == 200
        wait_for(lambda: program.descriptor_count() <= before + 2, "recovery", secs=5)
        wait_for(lambda: program.value(AGE) < 1, "a fresh page")
        assert len(program.log_lines) < 10
        assert program.stop()[0] == 0


def _cpu_secs(program: Program) -> float:
    fields = Path(f"/proc/{program.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_a_hangup_during_the_start_ends_nothing(tmp_path: Path) -> None:
    """A reload right after a restart finds a program that has not read its configuration yet."""
    with Program(tmp_path, FAST) as program:
        wait_for(lambda: program.obeys(signal.SIGTERM), "the program to obey")
        program.process.send_signal(signal.SIGHUP)
        program.first_page()
        assert program.stop()[0] == 0
