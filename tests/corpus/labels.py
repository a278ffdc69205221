"""What a recording is labelled with: the faults it must show, their root, and what may be said."""

from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import TypedDict, Unpack

from tests.corpus.machines import trainer
from tests.corpus.parts import Tree
from tests.corpus.story import Story

Telling = Callable[[Story], None]


class Labels(TypedDict, total=False):
    """What an incident may be labelled with beside its faults and their root."""

    may: tuple[str, ...]
    never: tuple[str, ...]
    is_over: bool
    lasts: tuple[str, ...]
    gone: tuple[str, ...]
    unfit: bool
    fit_at_end: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled recording.

    Faults are written `rule@component`, with `*` for what does not matter and `|` between
    alternatives. `expect` must be said at some moment, `root` is what the expected faults come
    from at last (several for independent ones), `may` is neither right nor wrong, `never` would
    be a grave error; everything else that is said is wrong. With `is_over` nothing may be active
    at the end; `lasts` must be active then, `gone` must not. `unfit` says whether the node must be
    said to be unhealthy at some moment, `fit_at_end` whether it must be healthy at the last one.
    """

    name: str
    says: str
    node: Callable[[], Tree]
    tell: Telling
    expect: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    is_over: bool = False
    lasts: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    unfit: bool | None = None
    fit_at_end: bool | None = None

    @property
    def is_incident(self) -> bool:
        """Whether something is broken."""
        return bool(self.root)

    def recording(self) -> list[str]:
        """The recording, one JSON object per line."""
        story = Story(self.node())
        self.tell(story)
        return list(story.lines())


def incident(
    *expect: str,
    root: str | tuple[str, ...] = "",
    node: Callable[[], Tree] = trainer,
    **labels: Unpack[Labels],
) -> Callable[[Telling], Case]:
    """Label a telling as an incident; its root is the first of the expected unless said."""
    roots = (root or expect[0],) if isinstance(root, str) else root

    def labelled(tell: Telling) -> Case:
        missing = tuple(each for each in roots if each not in expect)
        return Case(*_said_of(tell), node, tell, (*expect, *missing), roots, **labels)

    return labelled


def healthy(
    *may: str,
    expect: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    node: Callable[[], Tree] = trainer,
) -> Callable[[Telling], Case]:
    """Label a telling as a node that is well; `may` and `expect` are remarks of severity info."""

    def labelled(tell: Telling) -> Case:
        return Case(*_said_of(tell), node, tell, expect, (), may, never, unfit=False)

    return labelled


def _said_of(tell: Telling) -> tuple[str, str]:
    return tell.__name__, (tell.__doc__ or "").strip()
