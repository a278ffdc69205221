"""The file with labels: what is in it, when it is replaced, and when it is left alone."""

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.blocking import DaemonThreads
from exporter.config import NodeConditions
from exporter.kubernetes.labels import LabelsLoop
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Subject
from tests.kubernetes.facts import World, fault, snapshot

HEALTHY, BROKEN = snapshot(), snapshot(fault())
DISK = fault("disk_failed", subject=Subject("disk", "disk", "nvme0n1", "disk nvme0n1"))
BROKEN_DISK, BROKEN_DISK_ALONE = snapshot(DISK), snapshot(DISK, has_gpu=False)
WELL = ("gpu-healthy=true", "hardware-healthy=true")
ILL = ("gpu-healthy=false", "gpu-fault=GpuLost", "hardware-healthy=false", "hardware-fault=GpuLost")
PREFIX = "feature.node.kubernetes.io/hw-exporter."


class _World(World):
    """A loop with its directory."""

    def __init__(self, folder: Path, *, dry_run: bool = False, settle_secs: float = 0.0) -> None:
        super().__init__()
        self.folder = folder
        settings = NodeConditions(labels_dir=str(folder), dry_run=dry_run, settle_secs=settle_secs)
        self.loop = LabelsLoop(settings, "n1", self.present, DaemonThreads())

    async def step(self, snapshot: Snapshot | None, secs: float = 10.0) -> list[str]:
        self.snapshot = snapshot
        self.seconds += secs
        await self.loop.step()
        file = self.folder / "hw-exporter"
        return file.read_text().splitlines() if file.exists() else []


def _lines(until: str, *labels: str) -> list[str]:
    return [f"# +expiry-time={until}", *(f"{PREFIX}{it}" for it in labels)]


async def test_labels_follow_the_conditions_and_expire(tmp_path: Path) -> None:
    """A fault changes the labels and names itself; unchanged ones are renewed every minute."""
    world = _World(tmp_path)
    assert await world.step(HEALTHY) == _lines("1970-01-01T00:21:50Z", *WELL)
    assert await world.step(BROKEN) == _lines("1970-01-01T00:22:00Z", *ILL)
    assert await world.step(BROKEN) == _lines("1970-01-01T00:22:00Z", *ILL)
    assert await world.step(BROKEN, 60) == _lines("1970-01-01T00:23:10Z", *ILL)
    unknown = {f"{PREFIX}{name}-healthy=unknown" for name in ("gpu", "hardware")}
    assert set((await world.step(None))[1:]) == unknown
    assert os.listdir(tmp_path) == ["hw-exporter"]  # noqa: PTH208 - a folder of the test
    assert (tmp_path / "hw-exporter").stat().st_mode & 0o777 == 0o644


async def test_a_measured_value_in_a_message_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is not in the file changes nothing in it, and is not logged."""
    caplog.set_level(logging.INFO)
    world = _World(tmp_path)
    for celsius in range(3):
        await world.step(snapshot(replace(fault(), summary=f"{celsius} °C")))
    assert len(caplog.records) == 1


async def test_a_restart_does_not_make_a_node_healthy(tmp_path: Path) -> None:
    """Until faults had time to be detected again, only that the node is ill is written."""
    await _World(tmp_path).step(BROKEN)
    again = _World(tmp_path, settle_secs=180)
    assert (await again.step(HEALTHY))[1:] == [f"{PREFIX}{it}" for it in ILL]
    assert (await again.step(HEALTHY, 180))[1:] == [f"{PREFIX}{it}" for it in WELL]


async def test_another_fault_after_a_restart_does_not_make_a_gpu_healthy(tmp_path: Path) -> None:
    """What the file said of the GPU stays until it had time to be detected again."""
    await _World(tmp_path).step(BROKEN)
    again = _World(tmp_path, settle_secs=180)
    disk = [*ILL[:3], "hardware-fault=DiskFailed"]
    assert (await again.step(BROKEN_DISK))[1:] == [f"{PREFIX}{it}" for it in disk]
    assert (await again.step(BROKEN_DISK_ALONE))[1:] == [f"{PREFIX}{it}" for it in disk]
    assert (await again.step(BROKEN_DISK, 180))[1:] == [
        f"{PREFIX}{it}" for it in ("gpu-healthy=true", *disk[2:])
    ]


async def test_a_directory_that_is_missing_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One sentence names it, and the file is written once it is there."""
    world = _World(tmp_path / "features.d")
    for _ in range(2):
        assert await world.step(HEALTHY) == []
    (said,) = [it.getMessage() for it in caplog.records]
    assert (
        said
        == f"node n1: labels were not written: {tmp_path}/features.d: No such file or directory"
    )
    (tmp_path / "features.d").mkdir()
    assert len(await world.step(HEALTHY)) == 3


async def test_a_dry_run_writes_no_file(tmp_path: Path) -> None:
    """The directory stays as it is."""
    assert await _World(tmp_path, dry_run=True).step(BROKEN) == []


async def test_a_link_in_the_place_of_the_new_file_is_not_followed(tmp_path: Path) -> None:
    """What somebody put there is removed, and its target stays as it is."""
    target = tmp_path / "target"
    target.write_text("theirs")
    (tmp_path / ".hw-exporter").symlink_to(target)
    assert len(await _World(tmp_path).step(HEALTHY)) == 3
    assert target.read_text() == "theirs"
