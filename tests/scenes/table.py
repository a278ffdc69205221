"""Prints which rules are proven the whole way: rule by rule, what is shown and what cannot be."""

import argparse
import sys
from collections.abc import Iterator

from exporter.collectors.everything import rule_book
from tests.scenes.scene import ACTS, Scene, scenes, unstaged

YES = "yes"
NOT_OF_A_GPU = "-"
"""What a scene without a GPU says of nvidia-smi."""


def cell(scene: Scene, act: str) -> str:
    """Say whether a scene shows this act: yes, or the reason why it cannot."""
    if act == "smi" and not scene.gpus:
        return NOT_OF_A_GPU
    if act == "twin" and scene.twin is None:
        return scene.cannot.get(act, "")
    return scene.cannot.get(act, YES)


def cells(rule: str, played: list[Scene], reasons: dict[str, str]) -> dict[str, str]:
    """Return the cells of a rule: of its scenes together, or its reason in all; empty ones too."""
    own = [scene for scene in played if scene.rule == rule]
    if not own:
        return dict.fromkeys(ACTS, reasons.get(rule, ""))
    said = {act: [cell(scene, act) for scene in own] for act in ACTS}
    return {act: YES if YES in found else found[0] for act, found in said.items()}


def lines() -> Iterator[str]:
    """Yield the table, with each reason below its rule."""
    played, reasons = scenes(), unstaged()
    rules = sorted(rule.id for rule in rule_book().rules)
    yield f"{'rule':32} {' '.join(ACTS)}"
    for rule in rules:
        row = cells(rule, played, reasons)
        shown = (said if said in (YES, NOT_OF_A_GPU) else "no" for said in row.values())
        words = (f"{word:{len(act)}}" for act, word in zip(ACTS, shown, strict=True))
        yield f"{rule:32} {' '.join(words)}".rstrip()
        told: dict[str, list[str]] = {}
        for act, said in row.items():
            if said not in (YES, NOT_OF_A_GPU):
                told.setdefault(said, []).append(act)
        yield from (f"{'':32} {', '.join(acts)}: {said}" for said, acts in told.items())
    with_scene = {scene.rule for scene in played}
    yield f"{len(with_scene)} of {len(rules)} rules have a scene, {len(reasons)} a reason"


def main() -> None:
    """Print the table, and how many rules have no scene."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.stdout.writelines(f"{line}\n" for line in lines())


if __name__ == "__main__":
    main()
