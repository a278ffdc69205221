"""Whole classes of incidents, by lines of drivers and short readings, through the shipped rules."""

import pytest

from tests.faults.classes import ClassScene, class_scenes, wrongs

PLAYED_EVERY = 2


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play every so-and-so-many-th scene, with `--all-scenes` all: `make bench-faults` does."""
    every = 1 if metafunc.config.getoption("--all-scenes") else PLAYED_EVERY
    scenes = [*class_scenes()][::every]
    metafunc.parametrize("scene", scenes, ids=lambda it: f"{it.subject}: {it.name}")


def test_a_scene_is_told_as_it_is(scene: ClassScene) -> None:
    """The roots are those of the label, no other, and the sentences fit what was seen."""
    assert wrongs(scene) == []
