"""The real program under floods: thousands of clients at once, a thousand new ones a second."""

import time
from pathlib import Path
from typing import Any

import pytest

from bench.processes import use
from tests.fakes.certificates import Authority
from tests.fakes.fixtures import built
from tests.fakes.native import build_nvml
from tests.flood import flooding
from tests.hostile import HostileNode
from tests.memory_group import limited_memory
from tests.program import Answer, Program, wait_for

SECS = 3.0
MIB = 1024 * 1024
LIMIT_BYTES = 256 * MIB
SETTINGS: dict[str, dict[str, Any]] = {"metrics": {"collect_interval_secs": 0.5}}
PATHS = ("/health", "/metrics")


def _during(program: Program) -> dict[str, list[float]]:
    """How long each answer took that was asked for meanwhile; each must be 200."""
    took: dict[str, list[float]] = {path: [] for path in PATHS}
    until = time.monotonic() + SECS
    while time.monotonic() < until:
        for path in PATHS:
            began = time.monotonic()
            assert program.get(path).status == 200
            took[path].append(time.monotonic() - began)
        time.sleep(0.05)
    return took


def _is_untroubled(program: Program) -> None:
    """Collections went on, nothing is reported stuck, no fault and no log line is about us."""
    page = program.get("/metrics").text
    assert 'outcome="stuck"' not in page
    assert not [fault for fault in _faults(program) if "source" in fault or "backend" in fault]
    before = program.collections()
    wait_for(lambda: program.collections() > before, "a collection")
    assert "Traceback" not in program.log_file.read_text()
    assert len(program.log_lines) < 10


def _faults(program: Program) -> list[str]:
    """Return the rules of the faults, as soon as the flood leaves room for a document."""

    def look() -> Answer | None:
        answer = program.get("/faults")
        return answer if answer.status == 200 else None

    return [fault["rule"] for fault in wait_for(look, "/faults").document["faults"]]


@pytest.mark.parametrize(
    ("kind", "clients", "rate"),
    [("half", 5000, 100_000.0), ("silent", 5000, 100_000.0), ("header", 5000, 120.0)],
)
def test_health_and_metrics_answer_during_a_flood(
    tmp_path: Path, kind: str, clients: int, rate: float
) -> None:
    """Half requests, silence and headers made to be slow: every answer comes within a second."""
    with Program(tmp_path, SETTINGS) as program:
        program.first_page()
        with flooding(kind, program.port, clients, rate, SECS + 30):
            took = _during(program)
            _is_untroubled(program)
        assert max(took["/health"]) <= 1.0
        assert len(took["/metrics"]) > SECS
        wait_for(lambda: program.descriptor_count() < 100, "its descriptors")


def test_documents_of_ten_thousand_processes_stop_nobody(tmp_path: Path) -> None:
    """Two hundred clients pipeline `/why`: health answers, and nothing is reported stuck."""
    built(build_nvml)
    node = HostileNode(tmp_path / "node", interfaces=10)
    with node.start() as program:
        program.page_with("hw_gpu_processes{")
        with flooding("why", program.port, 200, 1000.0, SECS + 30):
            took = _during(program)
            _is_untroubled(program)
            page = program.get("/metrics").text
        assert max(took["/health"]) <= 1.0
        assert 'backend="nvml",reason="ok"' in page


def test_a_flood_of_tls_handshakes_in_256_mib(tmp_path: Path) -> None:
    """Handshakes that are closed, reset, half and slow, a thousand a second: nothing is killed."""
    pair = Authority(tmp_path).sign("server")
    environment = {
        "APP__SERVER__TLS__CERT_FILE": str(pair.cert),
        "APP__SERVER__TLS__KEY_FILE": str(pair.key),
    }
    with (
        limited_memory(LIMIT_BYTES) as memory_group,
        Program(tmp_path / "run", SETTINGS, environment=environment) as program,
    ):
        memory_group.take(program.process.pid)
        program.first_page()
        with flooding("greeting", program.port, 5000, 1000.0, SECS + 30):
            took = _during(program)
            _is_untroubled(program)
        assert max(took["/health"]) <= 1.0
        # as many as a slow machine begins; each of them costs a key exchange
        assert program.value("hw_exporter_http_tls_handshakes_failed_total") > 100
        assert use(program.process.pid).pss_bytes <= 96 * MIB
        assert memory_group.kills() == 0
