"""A GPU that fails again after each repair, from the driver's library to the fault."""

from dataclasses import replace

import pytest

from tests.scenes.scene import Scene, scenes
from tests.scenes.stage import Stage
from tests.scenes.test_scenes import Acts, nodes, stage

__all__ = ["nodes", "stage"]
pytestmark = [pytest.mark.slow, pytest.mark.system]


@pytest.fixture
def scene() -> Scene:
    """The loss of a GPU."""
    return next(it for it in scenes() if it.id == "gpu_lost")


async def test_the_third_loss_of_a_gpu_makes_it_a_repeat_offender(
    stage: Stage, scene: Scene
) -> None:
    """Two losses do not, also over a restart of the exporter; the third names the fault."""
    repeats = Acts(stage, replace(scene, rule="gpu_repeat_offender"))
    acts = Acts(stage, scene)
    await stage.start(scene)
    await stage.look()
    for _ in range(2):
        await acts.begins()
        assert await repeats.now() is None
        await acts.ends()
    await stage.stop()
    await stage.start(scene)
    await stage.look()
    await acts.begins()
    fault = await repeats.now()
    assert fault is not None
    assert "had gpu_lost 3 times in 14 days" in fault.summary
