"""Whole classes of incidents, by lines of drivers and short readings, through the shipped rules."""

import pytest

from tests.faults.classes import ClassScene, class_scenes, wrongs


@pytest.mark.parametrize("scene", tuple(class_scenes()), ids=lambda it: f"{it.subject}: {it.name}")
def test_a_scene_is_told_as_it_is(scene: ClassScene) -> None:
    """The roots are those of the label, no other, and the sentences fit what was seen."""
    assert wrongs(scene) == []
