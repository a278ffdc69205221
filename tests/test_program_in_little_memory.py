"""The real program where memory is short: in a control group of 128 MiB."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.attacks import HALF, at_once, connect, deaf_client, is_closed, scrape, send_garbage
from tests.fakes.nvml_library import NvmlLibrary
from tests.program import Program

LIMIT_BYTES = 128 * 1024 * 1024
GROUPS = Path("/sys/fs/cgroup")
CAPTURE = "h100x8.scenario"


class MemoryGroup:
    """A control group for memory below our own, of either version."""

    def __init__(self) -> None:
        rows = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        ours = {controllers: path for _, controllers, path in rows}
        self._is_old = "memory" in ours
        parent = GROUPS / "memory" / ours["memory"].lstrip("/") if self._is_old else GROUPS
        if not self._is_old:
            parent /= ours.get("", "/").lstrip("/")
        self.folder = parent / "hw-exporter-test"
        self.folder.mkdir()
        limit = "memory.limit_in_bytes" if self._is_old else "memory.max"
        (self.folder / limit).write_text(str(LIMIT_BYTES))

    def take(self, pid: int) -> None:
        """Put a process, and what it will start, into the group."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def kills(self) -> int:
        """How often the kernel killed for want of memory here."""
        file = self.folder / ("memory.oom_control" if self._is_old else "memory.events")
        rows = dict(line.split() for line in file.read_text().splitlines())
        return int(rows["oom_kill"])

    def close(self) -> None:
        """Remove the group as soon as nobody is in it any more."""
        for _ in range(200):
            with suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.05)


@pytest.fixture
def memory_group() -> Iterator[MemoryGroup]:
    """A group of 128 MiB; skipped where none can be made."""
    try:
        group = MemoryGroup()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    yield group
    group.close()


def test_an_attack_in_128_mib(tmp_path: Path, nvml: NvmlLibrary, memory_group: MemoryGroup) -> None:
    """Eight GPUs, a driver that leaks, slow clients and garbage: nothing is ever killed."""
    nvml.say("nvmlDeviceGetPowerUsage = leak 262144", capture=CAPTURE)
    marker = tmp_path / "driver"
    marker.touch()
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 0.2},
        "gpu": {"driver_markers": [str(marker)]},
        "server": {"request_timeout_secs": 1.0},
    }
    with Program(tmp_path / "run", changes, environment=nvml.environment) as program:
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
