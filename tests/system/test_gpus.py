"""The real program on a node whose driver hangs: it serves, says how old things are, and ends."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from bench.crashes import SMI_LOSSES, by_index, down_by_faults, gpus_of
from bench.troubles import live_schedule
from tests.collectors.gpu.trouble_schedules import schedule
from tests.fakes.smi_program import NvidiaSmi
from tests.gpu_node import CAPTURE, GpuNode
from tests.program import Program, wait_for

pytestmark = pytest.mark.slow

TTL_SECS = 4.0
QUICK_SECS = 0.1
SHORT = {"timeout_secs": 0.3, "cache_ttl_secs": TTL_SECS, "dynamic_ttl_secs": TTL_SECS}
PATHS = ("/metrics", "/health", "/healthz", "/ready", "/node", "/metrics/json", "/")


def _ages(page: str) -> list[float]:
    return [
        float(age)
        for age in re.findall(r"^hw_gpu_data_age_seconds\{.*\} (\S+)$", page, re.MULTILINE)
    ]


def _fastest_secs(program: Program, path: str) -> float:
    """The least of three times, which a busy machine does not change much."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        program.get(path)
        took.append(time.perf_counter() - began)
    return min(took)


@pytest.mark.parametrize("is_on", [False, True])
def test_thresholds_of_the_thermal_margin_are_shown_on_demand(
    node: GpuNode, *, is_on: bool
) -> None:
    """Four series for each GPU that few ask for: they are off by default."""
    with node.start(thermal_margin_thresholds=is_on) as program:
        page = program.page_with("hw_gpu_thermal_margin_celsius").text
        name = "hw_gpu_thermal_margin_threshold_celsius"
        found = re.findall(rf'^{name}{{.*gpu_index="3".*threshold="(\w+)"', page, re.MULTILINE)
        shown = ["shutdown", "slowdown", "max_operating", "memory_max"] if is_on else []
        assert found == shown


def test_a_wedged_driver_costs_only_the_cards(node: GpuNode) -> None:
    """Pages stay quick, the cards turn stale and leave in time; the end is quick and whole."""
    with node.start(**SHORT) as program:
        program.page_with("hw_gpu_temperature_celsius")
        node.wedge()
        page = program.page_with('backend="cache"').text
        assert page.count("\nhw_gpu_temperature_celsius{") == 8
        stale = re.findall(r"^hw_gpu_data_stale\{.*\} (\S+)$", page, re.MULTILINE)
        assert set(stale) == {"1"}
        assert all(0 < age <= TTL_SECS for age in _ages(page))
        for path in PATHS:
            assert _fastest_secs(program, path) < QUICK_SECS
        _watch_until_gone(program)
        assert program.get("/node").document["memory_total_bytes"] > 0
        assert program.get("/ready").status == 200
        children = wait_for(program.child_pids, "a child")
        code, secs = program.stop()
        assert (code, secs < 2) == (0, True)
        wait_for(lambda: not any(map(_is_running, children)), "its children to end")
    assert "Traceback" not in program.log_file.read_text()


def _watch_until_gone(program: Program) -> None:
    """Look at every page until the cards have left: none is too old, and few children run."""

    def look() -> bool:
        page = program.get("/metrics").text
        assert all(age <= TTL_SECS for age in _ages(page))
        assert len(program.child_pids()) <= 2
        return "hw_gpu_temperature_celsius{" not in page

    wait_for(look, "the cards to leave", 4 * TTL_SECS)


def test_one_card_that_hangs_costs_itself_only(node: GpuNode) -> None:
    """Library and program hang on it: seven stay fresh, it is named; it returns when it answers."""
    with node.start(interval_secs=1.0, timeout_secs=2.0) as program:
        program.page_with('backend="nvml",reason="ok"')
        node.nvml.say("device.3.any = hang", capture=CAPTURE)
        node.smi.say("smi.1 = ignore 15", "smi.2 = hang", capture=CAPTURE)
        page = program.page_with('reason="hung"').text
        for _ in range(5):
            assert by_index(page, "hw_gpu_up") == {str(n): float(n != 3) for n in range(8)}
            stale = by_index(page, "hw_gpu_data_stale")
            assert [index for index, value in stale.items() if value] == ["3"]
            ages = by_index(page, "hw_gpu_data_age_seconds")
            assert max(age for index, age in ages.items() if index != "3") < 4
            time.sleep(1)
            page = program.get("/metrics").text
        assert 'backend="nvml",reason="ok"' in page
        program.page_with('fault="gpu_hung"')
        node.nvml.say(capture=CAPTURE)
        began = time.monotonic()
        wait_for(
            lambda: 'reason="hung"' not in program.get("/metrics").text,
            "the card to return",
            40,
        )
        assert time.monotonic() - began < 30
        assert program.stop()[0] == 0


@pytest.mark.parametrize("call", ["compute_processes", "gpm_metrics"])
def test_one_call_that_hangs_on_one_card_is_found(node: GpuNode, call: str) -> None:
    """The card is asked alone for all that it was asked for with the others: it is not well."""
    node.nvml.say(f"device.3.{call} = hang", capture=CAPTURE)
    with node.start(interval_secs=1.0, timeout_secs=2.0) as program:
        page = program.page_with('reason="hung"').text
        assert by_index(page, "hw_gpu_up")["3"] == 0
        assert by_index(page, "hw_gpu_up")["0"] == 1
        assert program.stop()[0] == 0


def test_nvidia_smi_by_choice_is_no_fault(node: GpuNode) -> None:
    """Nothing is said of NVML; a fault that begins there ends there."""
    with node.start(interval_secs=0.5, backend="nvidia-smi") as program:
        page = program.page_with('backend="nvidia-smi",reason="disabled"').text
        assert page.count("\nhw_gpu_temperature_celsius{") == 8
        assert "hw_gpu_nvml_up" not in page
        node.smi.say("init = error 18", capture=CAPTURE)
        program.page_with('hw_fault_active{node="')
        page = program.page_with('fault="driver_version_mismatch"').text
        assert _active(page, "driver_version_mismatch") == ["1"]
        assert "hw_gpu_nvml_up" not in page
        node.smi.say(capture=CAPTURE)
        wait_for(
            lambda: "1" not in _active(program.get("/metrics").text, "driver_version_mismatch"),
            "the fault to end",
            60,
        )
        page = program.get("/metrics").text
        assert not re.findall(r'fault="(nvml_unavailable|backend_stuck)"', page)
        assert program.stop()[0] == 0


def _active(page: str, fault: str) -> list[str]:
    return re.findall(rf'^hw_fault_active{{[^}}]*fault="{fault}"[^}}]*}} (\d)$', page, re.MULTILINE)


def test_a_frozen_probe_is_replaced(node: GpuNode) -> None:
    """A probe that was stopped from outside is given up and started afresh, without a gap."""
    with node.start(**SHORT) as program:
        program.page_with('backend="nvml",reason="ok"')
        probe = wait_for(lambda: _only(program.child_pids()), "the probe alone")
        os.kill(probe, signal.SIGSTOP)
        page = program.page_with('reason="timeout"').text
        assert page.count("\nhw_gpu_temperature_celsius{") == 8
        program.page_with('backend="nvml",reason="ok"')
        assert probe not in program.child_pids()
        assert program.stop()[0] == 0


def _only(pids: list[int]) -> int | None:
    return pids[0] if len(pids) == 1 else None  # a run of nvidia-smi may be beside it at the start


def _is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


SEED = 3
"""Further ones are played by `make soak`."""
CRASH_SECS = 14.0
HEALED_SECS = 60.0
UUID_CRASHES = "nvmlDeviceGetUUID = segv"


def test_a_crash_of_the_uuid_hides_no_gpu(new_node: Callable[[str], GpuNode]) -> None:
    """A GPU that is down is so under a critical fault, an old value is flagged; all is back.

    Of one GPU and of all, with nvidia-smi and without.
    """

    def crash(places: Sequence[int], has_smi: bool) -> None:  # noqa: FBT001 - a case of the product
        node = new_node(f"{len(places)}-{has_smi}")
        smi_paths = [str(node.smi.path)] if has_smi else []
        with node.start(interval_secs=1.0, smi_paths=smi_paths) as program:
            program.page_with('backend="nvml",reason="ok"')
            node.nvml.say(*(f"device.{place}.{UUID_CRASHES}" for place in places), capture=CAPTURE)
            until = time.monotonic() + CRASH_SECS
            while time.monotonic() < until:
                _is_told(program)
                time.sleep(0.2)
            node.nvml.say(capture=CAPTURE)
            wait_for(lambda: _is_told(program), "all GPUs to be read", HEALED_SECS)

    _side_by_side(crash, product([(2,), range(8)], [True, False]))


def _side_by_side(play: Callable[..., None], cases: Iterable[tuple[Any, ...]]) -> None:
    """Play cases that mostly wait, each on a node of its own, at the same time."""
    with ThreadPoolExecutor() as pool:
        for played in [pool.submit(play, *case) for case in cases]:
            played.result()


def _is_told(program: Program) -> bool:
    """Whether every GPU is up and fresh; fails where one is not and the node is called healthy."""
    page = gpus_of(program)
    assert page.lies == (), program.log_file
    return page.is_fresh


def test_what_nvidia_smi_calls_lost_is_a_fault(new_node: Callable[[str], GpuNode]) -> None:
    """By its sentence, in its row or by leaving it out: critical in 30 s, and well again later."""

    def lose(loss: str, lines: Sequence[str]) -> None:
        node = new_node(loss)
        node.nvml.say("init = error 18", capture=CAPTURE)
        with node.start(interval_secs=5.0) as program:
            program.page_with('backend="nvidia-smi"')
            assert down_by_faults(program) == set()
            node.smi.say(*lines, capture=CAPTURE)
            wait_for(lambda: down_by_faults(program) == {"GPU 3"}, f"the fault: {loss}", 30)
            assert program.get("/faults").document["healthy"] is False
            node.smi.say(capture=CAPTURE)
            wait_for(lambda: down_by_faults(program) == set(), f"its end: {loss}", HEALED_SECS)

    _side_by_side(lose, SMI_LOSSES.items())


def test_nothing_begins_after_a_live_schedule(tmp_path: Path, nvidia_smi: NvidiaSmi) -> None:
    """Troubles by seed, in a tenth of their time: no critical fault follows, every GPU is back."""
    assert nvidia_smi.path.exists()  # what the fakes are built with is there
    assert live_schedule(tmp_path / "live", SEED, 0.1) == ([], True), schedule(SEED)
