"""Scenes of whole classes: lines and readings, and what must and must not be said of them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from exporter.collectors.everything import rule_book
from exporter.commands.rules import concluded
from exporter.faults.rules.loader import RuleBook
from exporter.model.verdict import Fault
from exporter.toml import tomllib

SCENES = Path(__file__).parent / "class_scenes"
COLLECTORS = Path(__file__).parents[1] / "collectors"


@dataclass(frozen=True, slots=True)
class ClassScene:
    """One scene: steps of a short recording, and what follows.

    `roots` are all roots of warning or worse that were ever shown, `rule@component` or `rule`
    alone; `faults` must have been said, also as info; `silent` must not; `ends` must not be active
    at the end, `lasts` must. `says` has by rule words of its summary or advice, `unsaid` words
    that must not be in them.
    """

    name: str
    subject: str
    steps: tuple[Mapping[str, Any], ...]
    base: str = "h100_4"
    roots: tuple[str, ...] | None = None
    faults: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    lasts: tuple[str, ...] = ()
    says: Mapping[str, str | list[str]] = field(default_factory=dict)
    unsaid: Mapping[str, str | list[str]] = field(default_factory=dict)

    def recording(self) -> list[str]:
        """Return the lines of the recording: a minute of health first; "gone" removes a value."""
        first = {"base": self.base, "wait": 60, "every": 60}
        return [json.dumps(step).replace('"gone"', "null") for step in (first, *self.steps)]


def class_scenes() -> Iterator[ClassScene]:
    """Yield the scenes of all files, those of collectors last."""
    files = (*SCENES.glob("*.toml"), *COLLECTORS.glob("*/class_scenes.toml"))
    for path in sorted(files):
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["scene"]:
            known: dict[str, Any] = {
                key: tuple(it) if isinstance(it, list) else it for key, it in row.items()
            }
            subject = path.parent.name if path.parent != SCENES else path.stem
            yield ClassScene(subject=subject, **known)


@cache
def _shipped() -> RuleBook:
    return rule_book()


def wrongs(scene: ClassScene) -> list[str]:
    """Play a scene by the shipped rules; return what is not as it says, as sentences."""
    said: dict[str, list[str]] = {}
    last_roots: dict[str, Fault] = {}
    left: set[str] = set()
    for _, conclusions in concluded(scene.recording(), _shipped()):
        for fault in conclusions.active:
            texts = said.setdefault(fault.rule, [])
            texts += [it for it in (fault.summary, fault.advice) if it not in texts]
        roots = (f for f in conclusions.active if f.is_root and f.severity != "info")
        left = {fault.rule for fault in conclusions.active}
        last_roots.update({f"{f.rule}@{f.subject.hw_id}": f for f in roots})
    found = [f"not said: {rule}" for rule in scene.faults if rule not in said]
    found += [f"said: {rule}: {said[rule][0]}" for rule in scene.silent if rule in said]
    found += [f"has not ended: {rule}" for rule in scene.ends if rule in left]
    found += [f"has ended: {rule}" for rule in scene.lasts if rule not in left]
    if scene.roots is not None:
        found += _differences(scene.roots, last_roots)
    for rule, words in scene.says.items():
        text = "\n".join(said.get(rule, []))
        found += [f"{rule} lacks {word!r}: {text}" for word in _words(words) if word not in text]
    for rule, words in scene.unsaid.items():
        text = "\n".join(said.get(rule, []))
        found += [f"{rule} has {word!r}: {text}" for word in _words(words) if word in text]
    return found


def _words(found: str | list[str]) -> list[str]:
    return [found] if isinstance(found, str) else found


def _differences(wanted: tuple[str, ...], shown: Mapping[str, Fault]) -> Iterator[str]:
    for name in shown:
        if not {name, name.partition("@")[0]} & set(wanted):
            yield f"another root: {name}: {shown[name].summary}"
    for root in wanted:
        if root not in shown and root not in {name.partition("@")[0] for name in shown}:
            yield f"no root {root}"
