"""The real program and the driver: events at once, letting go, a child nobody can kill."""

import os
import shutil
import signal
import subprocess

import pytest

from bench.crashes import by_index
from tests.fakes.fuse import StuckFiles
from tests.gpu_node import CAPTURE, GpuNode
from tests.program import exchange, wait_for

XID = "hw_gpu_xid_errors_total"


def test_an_xid_is_on_the_page_at_once(node: GpuNode) -> None:
    """A collection a minute, and yet each of two equal Xids is counted within a second."""
    with node.start(interval_secs=60) as program:
        program.page_with("hw_gpu_temperature_celsius")
        node.nvml.wait_for_call("nvmlEventSetWait_v2", count=8)
        node.nvml.raise_xid(79, card=3)
        wait_for(
            lambda: by_index(program.get("/metrics").text, XID) == {"3": 1}, "the first Xid", secs=5
        )
        node.nvml.raise_xid(79, card=3)
        wait_for(
            lambda: by_index(program.get("/metrics").text, XID) == {"3": 2},
            "the second Xid",
            secs=5,
        )
        page = program.get("/metrics").text
        assert 'xid="79"} 2' in page
        assert "hw_gpu_xid_last_timestamp_seconds" in page
        assert program.stop()[0] == 0


@pytest.mark.parametrize("way", ["post", "signal"])
def test_the_gpus_are_let_go_of_on_request(node: GpuNode, way: str) -> None:
    """Within two seconds no child is left, the page says why, and they come back on request."""
    with node.start() as program:
        program.page_with('backend="nvml"')
        if way == "post":
            assert program.get("/-/quiesce").status == 405
            assert program.get("/-/quiesce", method="POST", Origin="http://evil").status == 403
            assert program.child_pids()
            assert program.get("/-/quiesce", method="POST").status == 200
        else:
            program.process.send_signal(signal.SIGUSR1)
        wait_for(lambda: not program.child_pids(), "the children to end", secs=2)
        page = program.page_with('reason="released"').text
        assert "hw_gpu_nvml_up" in page
        assert not program.child_pids()
        if way == "post":
            assert program.get("/-/resume", method="POST").status == 200
        else:
            program.process.send_signal(signal.SIGUSR2)
        program.page_with('backend="nvml",reason="ok"')
        assert program.stop()[0] == 0


ANYBODYS_PYTHON = "/usr/bin/python3"
NEEDED = ("setpriv", "curl", ANYBODYS_PYTHON)
FORWARDER = """
import socket, sys, threading
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
def copy(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)
while True:
    client = listening.accept()[0]
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    for pair in ((client, server), (server, client)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""


def _status(port: int, *options: str, path: str = "/-/quiesce", command: str = "curl") -> str:
    """The status that curl gets for a POST."""
    quiet = ("-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", "-X", "POST")
    url = f"http://localhost:{port}{path}"
    return subprocess.run(
        [*command.split(), *quiet, *options, url], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, NEEDED)),
    reason="needs root, setpriv, curl and a Python for all users",
)
def test_whoever_forwards_a_connection_is_its_user(node: GpuNode) -> None:
    """Neither a user's own curl nor a user's TCP forwarder releases GPUs; curl of root does."""
    as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups"
    with node.start() as program:
        program.page_with('backend="nvml"')
        command = [*as_nobody.split(), ANYBODYS_PYTHON, "-c", FORWARDER]
        with subprocess.Popen(
            [*command, str(program.port)], stdout=subprocess.PIPE, text=True
        ) as forwarder:
            try:
                assert forwarder.stdout is not None
                port = int(forwarder.stdout.readline())
                assert _status(port) == "403"
            finally:
                forwarder.kill()
        assert _status(program.port, command=f"{as_nobody} curl") == "403"
        assert _status(program.port, "-H", "X_Forwarded_For: 10.0.0.1") == "403"
        assert _status(program.port, "--request-target", "http://evil.example/-/quiesce") == "403"
        absolute = b"POST http://evil.example/-/quiesce HTTP/1.1\r\nHost: localhost\r\n"
        answer = exchange(program.port, absolute + b"Connection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert 'backend="nvml",reason="ok"' in program.get("/metrics").text
        assert _status(program.port) == "200"
        program.page_with('reason="released"')
        assert _status(program.port, path="/-/resume") == "200"
        program.page_with('backend="nvml",reason="ok"')


def test_asking_again_and_again_is_a_fault(node: GpuNode) -> None:
    """Who has the GPUs released for ever, so that no fault of them is seen, is seen himself."""
    with node.start(release_secs=1) as program:
        for _ in range(5):
            program.page_with('backend="nvml",reason="ok"')
            assert program.get("/-/quiesce", method="POST").status == 200
            program.page_with('reason="released"')
        program.page_with('fault="gpu_release_repeated"')


def test_one_child_that_cannot_be_killed_and_no_second(
    node: GpuNode, stuck_files: StuckFiles
) -> None:
    """The circuit is open while it lives, nvidia-smi is not tried, and NVML is when it has died."""
    with node.start(timeout_secs=2) as program:
        program.page_with('backend="nvml"')
        held = stuck_files.hang("driver")
        node.nvml.say(f"nvmlDeviceGetPowerUsage = hold {held}", capture=CAPTURE)
        page = program.page_with('reason="stuck"').text
        assert "hw_exporter_abandoned_children" in page
        runs = len(node.smi.runs())
        calls = len(node.nvml.calls("nvmlInitWithFlags"))
        sequence = program.collections()
        wait_for(lambda: program.collections() > sequence + 5, "collections")
        assert len(program.child_pids()) == 1
        assert len(node.smi.runs()) == runs
        assert len(node.nvml.calls("nvmlInitWithFlags")) == calls
        node.nvml.say(capture=CAPTURE)
        stuck_files.release("driver")
        program.page_with('backend="nvml",reason="ok"')
        assert program.stop()[0] == 0


def test_an_nvidia_smi_that_cannot_be_killed(node: GpuNode, stuck_files: StuckFiles) -> None:
    """It is the one child that may be left: none is started meanwhile, and the end is quick."""
    held = stuck_files.hang("driver")
    node.nvml.say("init = error 18", capture=CAPTURE)
    node.smi.say(f"smi = hold {held}", capture=CAPTURE)
    with node.start(timeout_secs=2) as program:
        program.page_with('reason="stuck"')
        runs, sequence = len(node.smi.runs()), program.collections()
        wait_for(lambda: program.collections() > sequence + 5, "collections")
        assert program.value("hw_exporter_abandoned_children") == 1
        assert len(program.child_pids()) == 1
        assert len(node.smi.runs()) == runs
        code, secs = program.stop()
        stuck_files.release("driver")
    assert (code, secs < 2) == (0, True)
    assert "Traceback" not in program.log_file.read_text()


def test_scrapers_do_not_cost_calls(node: GpuNode) -> None:
    """However many pages are asked for, the driver is asked once for each collection."""
    with node.start(interval_secs=60) as program:
        program.page_with("hw_gpu_temperature_celsius")
        before = len(node.nvml.calls("nvmlDeviceGetCount_v2"))
        for _ in range(1000):
            program.get("/metrics")
        assert len(node.nvml.calls("nvmlDeviceGetCount_v2")) == before
