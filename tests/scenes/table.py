"""Prints which rules are proven the whole way: rule by rule, what is shown and what cannot be."""

import argparse
import sys

from exporter.collectors.everything import rule_book
from tests.scenes.scene import Scene, scenes

ACTS = ("restart", "end", "since_start", "twin")


def cell(scene: Scene, act: str) -> str:
    """Say whether a scene shows this act."""
    return "no" if act in scene.cannot else "yes"


def main() -> None:
    """Print the table, and how many rules have no scene yet."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    known = {scene.rule: scene for scene in scenes()}
    rules = sorted(rule.id for rule in rule_book().rules)
    sys.stdout.write(f"{'rule':32} begins {' '.join(ACTS)}\n")
    for rule in rules:
        scene = known.get(rule)
        cells = ["-"] * 5 if scene is None else ["yes", *(cell(scene, act) for act in ACTS)]
        sys.stdout.write(f"{rule:32} {'  '.join(cells)}\n")
        for act, reason in (scene.cannot if scene else {}).items():
            sys.stdout.write(f"{'':32} {act}: {reason}\n")
    sys.stdout.write(f"{len(known)} of {len(rules)} rules have a scene\n")


if __name__ == "__main__":
    main()
