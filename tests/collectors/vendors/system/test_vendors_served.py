"""The real program on nodes with GPUs of other vendors, beside those of NVIDIA and without."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.collectors.node_tree import NodeTree, device_entry
from tests.fakes.amd_cards import AmdNode
from tests.fakes.npu_smi import A3, NpuNode, tables
from tests.program import Program, wait_for

FIRST, SECOND = "0000:83:00.0", "0000:a3:00.0"


@pytest.fixture
def amd(tmp_path: Path) -> AmdNode:
    """A node with two cards of AMD."""
    node = AmdNode(tmp_path / "sys")
    node.card(FIRST)
    node.card(SECOND, {"unique_id": "a3b000000000002\n"})
    return node


def test_amd_cards_are_on_the_page_without_a_child(amd: AmdNode, tmp_path: Path) -> None:
    """The families of NVIDIA have samples of both cards; nothing is started to read them.

    The plugin of AMD names cards by their address: a pod holds one of them without a process.
    """
    tree = NodeTree(tmp_path / "node")
    uid = "0f1e2d3c-1111-2222-3333-444455556666"
    tree.pod("team", "train-0", uid, "main")
    tree.checkpoint(device_entry(uid, "main", [SECOND], resource="amd.com/gpu"))
    amd.compute_node(1, 101, FIRST)
    amd.compute_node(2, 102, SECOND)
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 0.2},
        "sources": {
            "sys_root": str(amd.sys),
            "host_root": str(tree.root),
            "cpu_model_probe": False,
        },
        "gpu": {"driver_markers": ["/nowhere/driver"], "smi_paths": ["/nowhere/smi"]},
    }
    with Program(tmp_path / "run", changes) as program:
        page = program.page_with("hw_gpu_idle_allocated_seconds{").text
        assert 'gpu_vendor="amd"' in page
        held = "hw_gpu_idle_allocated_seconds{"
        (line,) = [line for line in page.splitlines() if line.startswith(held)]
        assert 'gpu_index="1"' in line
        assert 'namespace="team",pod="train-0",container="main"' in line
        for family, value in (
            ("hw_gpu_temperature_celsius", 53),
            ("hw_gpu_memory_total_bytes", 34342961152),
            ("hw_gpu_power_draw_watts", 36),
            ("hw_gpu_up", 1),
            ("hw_gpu_pcie_link_width", 16),
        ):
            lines = [line for line in page.splitlines() if line.startswith(f"{family}{{")]
            assert [float(line.rpartition(" ")[2]) for line in lines] == [value, value], family
        assert "hw_gpu_backend_info{node=" in page
        assert 'backend="amdgpu",reason="ok"' in page
        assert 'reason="no_driver"' not in page
        assert program.child_pids() == []
        names = [device["name"] for device in program.get("/node").document["gpu_devices"]]
        assert names == ["Arcturus GL-XL [Instinct MI100]"] * 2
        checks = {
            check["name"]: check["state"] for check in program.get("/doctor").document["checks"]
        }
        assert checks["GPU driver amdgpu"] == "ok"
        assert "GPU driver" not in checks


def test_npus_are_on_the_page_and_their_health_is_judged(tmp_path: Path) -> None:
    """Chips of npu-smi have the same families; no run is left behind when it ends."""
    node = NpuNode(tmp_path)
    alarm = replace(A3[1], health="Alarm")
    node.prints(tables((A3[0], alarm), [(0, 0, 1, "python3", 500)]))
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 0.5},
        "sources": {
            "sys_root": str(node.root / "sys"),
            "host_root": str(node.root),
            "cpu_model_probe": False,
        },
    }
    with Program(tmp_path / "run", changes, environment=node.environment) as program:
        page = program.page_with('gpu_vendor="ascend"').text
        assert 'backend="npu-smi",reason="ok",driver_version="25.2.1"' in page
        health = [line for line in page.splitlines() if line.startswith("hw_gpu_health{")]
        assert [line.rpartition(" ")[2] for line in health] == [*"1000", *"0010"]
        memory = [line for line in page.splitlines() if line.startswith("hw_gpu_memory_total_b")]
        assert len(memory) == 2
        power = [line for line in page.splitlines() if line.startswith("hw_gpu_power_draw_watts{")]
        assert len(power) == 1
        wait_for(lambda: None if program.child_pids() else True, "no child to be left")
        code, secs = program.stop()
        assert (code, secs < 5) == (0, True)
