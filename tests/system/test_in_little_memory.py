"""The real program where memory is short: in a control group of 128 MiB."""

import asyncio
from pathlib import Path
from typing import Any

from tests.attacks import HALF, at_once, connect, deaf_client, is_closed, scrape, send_garbage
from tests.fakes.nvml_library import NvmlLibrary
from tests.memory_group import limited_memory
from tests.program import Program

LIMIT_BYTES = 128 * 1024 * 1024
CAPTURE = "h100x8.scenario"


def test_an_attack_in_128_mib(tmp_path: Path, nvml: NvmlLibrary) -> None:
    """Eight GPUs, a driver that leaks, slow clients and garbage: nothing is ever killed."""
    nvml.say("nvmlDeviceGetPowerUsage = leak 262144", capture=CAPTURE)
    marker = tmp_path / "driver"
    marker.touch()
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 0.2},
        "gpu": {"driver_markers": [str(marker)]},
        "server": {"request_timeout_secs": 1.0},
    }
    with (
        limited_memory(LIMIT_BYTES) as memory_group,
        Program(tmp_path / "run", changes, environment=nvml.environment) as program,
    ):
        memory_group.take(program.process.pid)
        program.page_with("hw_gpu_temperature_celsius")

        async def scenario() -> str:
            deaf = [deaf_client(program.port) for _ in range(200)]
            halves = await at_once(300, lambda: connect(program.port, HALF))
            assert await send_garbage(program.port, 500) == 0
            page = await scrape(program.port)
            assert all(await asyncio.gather(*map(is_closed, halves)))
            for sock in deaf:
                sock.close()
            return page

        assert "hw_gpu_temperature_celsius" in asyncio.run(scenario())
        assert program.get("/health").status == 200
        assert memory_group.kills() == 0
        assert program.stop()[0] == 0
