"""The table of rules and what is shown of each."""

from exporter.collectors.everything import rule_book
from tests.scenes.scene import ACTS, scenes, unstaged
from tests.scenes.table import cells

RULES = {rule.id for rule in rule_book().rules}


def test_no_cell_is_empty() -> None:
    """Of each rule each act is shown by a scene, or has a reason why it cannot be."""
    played, reasons = scenes(), unstaged()
    empty = {
        f"{rule}: {act}"
        for rule in RULES
        for act, said in cells(rule, played, reasons).items()
        if not said
    }
    assert not empty


def test_scenes_are_of_rules() -> None:
    """No scene is left of a rule that is gone, and no reason stands beside a scene."""
    with_scene = {scene.rule for scene in scenes()}
    assert with_scene | unstaged().keys() == RULES
    assert not with_scene & unstaged().keys()
    assert all(scene.cannot.keys() <= set(ACTS) for scene in scenes())
