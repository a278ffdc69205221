"""What gets well makes nothing ill: the program on a driver in virtual time."""

import asyncio
from pathlib import Path

import pytest

from tests.fakes.virtual_time import run_virtually
from tests.sources.gpu.simulated_driver import SimulatedDriver, SimulatedNode, Trouble


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that shows that a driver is loaded."""
    path = tmp_path / "version"
    path.touch()
    return path


@pytest.mark.parametrize("interval_secs", [1.0, 5.0, 15.0])
@pytest.mark.parametrize("healed_at", [80.0, 84.3, 87.1, 91.7])
@pytest.mark.parametrize("places", [(3,), (1, 6), tuple(range(8))])
def test_no_gpu_is_lost_after_a_hang(
    marker: Path, places: tuple[int, ...], healed_at: float, interval_secs: float
) -> None:
    """GPUs of a slow driver hang and come back, one may answer during a pass: none is lost."""

    async def scenario() -> None:
        driver = SimulatedDriver(8)
        node = SimulatedNode(driver, interval_secs, marker)

        async def story(_: SimulatedNode) -> None:
            driver.troubles = {place: Trouble("slow") for place in range(8)}
            await asyncio.sleep(40)
            driver.troubles |= {place: Trouble("hang") for place in places}
            await asyncio.sleep(healed_at - 40)
            driver.troubles |= {place: Trouble("slow") for place in places}
            await asyncio.sleep(120)

        await node.play(story)
        late = [begun for begun in node.begun() if begun[0] > healed_at]
        assert not late
        assert all(state.up and not state.stale for state in node.states)

    run_virtually(scenario())
