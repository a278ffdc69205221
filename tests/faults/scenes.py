"""Scenes built by hand: a clock that the test moves, entities with the fields it names."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from exporter.collectors.everything import KINDS
from exporter.faults.evaluate import Evaluator
from exporter.faults.rules.loader import RuleBook, load_rules
from exporter.faults.subject import Subjects
from exporter.faults.values import (
    Address,
    Entity,
    FieldType,
    KindTraits,
    Scene,
    Type,
    Value,
    Vocabulary,
)
from exporter.model.event import Event, EventType
from exporter.model.verdict import Conclusions, Edge, Fault, Key

WALL = 1_700_000_000.0
NUMBER, TRUTH, TEXT = (FieldType(each) for each in (Type.NUMBER, Type.TRUTH, Type.TEXT))
LABELED = FieldType(Type.NUMBER, is_labeled=True)

VOCABULARY = Vocabulary(
    names={
        "gpu": {
            "heat": NUMBER,
            "errors": NUMBER,
            "up": TRUTH,
            "state": TEXT,
            "clock": LABELED,
        },
        "process": {"share": NUMBER, "waiting": NUMBER},
        "disk": {"delay": NUMBER},
        "pcie": {"errors": NUMBER},
        "node": {"pressure": NUMBER},
    },
    related={
        "gpu": {"node": "node", "pcie": "pcie"},
        "process": {"node": "node"},
    },
    event_words=frozenset({"xid", "gpu_lost", "segfault", "error.hw", "io_error", "hung_task"}),
    actions={"reset_gpu": "Stop the jobs on the GPU and reset it: `{reset_command}`."},
    usual_texts={"reset_command": "nvidia-smi --gpu-reset"},
)

TRAITS = KindTraits(
    hw_types={
        "gpu": "gpu",
        "process": "process",
        "disk": "physical_disk",
        "pcie": "pcie",
        "node": "node",
    },
    related=VOCABULARY.related,
    ending=frozenset({"process"}),
    on_a_bus=frozenset({"pcie"}),
    depended_on=frozenset({"gpu", "nvswitch", "node"}),
    with_status=frozenset({"gpu"}),
    graph_words={"pcie": "pcie_port", "source": "exporter"},
)


class _Small(Subjects):
    """All that collectors tell, about the few kinds of scenes built by hand."""

    traits = TRAITS


SUBJECTS = _Small(KINDS.rows)


def gpu(number: int = 0, /, **fields: Value) -> Entity:
    """A GPU that events call by `u0`, `u1`, … or by its PCI address."""
    addresses: tuple[Address, ...] = (("gpu", f"u{number}"), ("gpu", f"0000:{number:02x}:00.0"))
    return Entity(("gpu", f"u{number}"), f"GPU {number}", fields, addresses)


def thing(kind: str, name: str, **fields: Value) -> Entity:
    """Anything else; events call it by its type and name."""
    return Entity((kind, name), name, fields, ((TRAITS.hw_types[kind], name),))


def xid(code: int, at: float, about: Address = ("gpu", "u0"), source: str = "kernel_log") -> Event:
    """An Xid at this boot time."""
    return event("xid", at, about, source, code=str(code))


def event(
    kind: str,
    at: float,
    about: Address = ("gpu", "u0"),
    source: str = "kernel_log",
    **fields: str,
) -> Event:
    """An event at this boot time with what its line said."""
    return Event(
        at=WALL + at,
        boottime=at,
        type=EventType.ERROR_HW,
        kind=kind,
        entity_type=about[0],
        entity_id=about[1],
        source=source,
        fields=fields,
        raw=f"{kind} {fields}",
    )


def scene(
    now: float,
    *entities: Entity,
    events: Sequence[Event] = (),
    edges: Sequence[Edge] = (),
    event_sources: frozenset[str] = frozenset({"kernel_log"}),
    read_kinds: frozenset[str] = frozenset({"gpu", "process"}),
) -> Scene:
    """What is seen at this boot time."""
    return Scene(
        node="n",
        now=now,
        wall=WALL + now,
        entities=(thing("node", "n"), *entities),
        edges=tuple(edges),
        events=tuple(events),
        event_sources=event_sources,
        read_kinds=read_kinds,
    )


def look(now: float, *told: Event, **fields: Value) -> Scene:
    """What is seen of one GPU with these fields, and the events that are new."""
    return scene(now, gpu(**fields), events=told)


def edge(relation: str, source: Key, target: Key) -> Edge:
    """How two entities hang together."""
    return Edge(relation, source, target)


def book(folder: Path, text: str) -> RuleBook:
    """The rules of this TOML text."""
    path = folder / "rules.toml"
    path.write_text(text, "utf-8")
    return load_rules([path], VOCABULARY)


def judge(folder: Path, text: str) -> Evaluator:
    """A judge by the rules of this TOML text, which must be without a mistake."""
    rules = book(folder, text)
    assert not rules.mistakes, [str(mistake) for mistake in rules.mistakes]
    return Evaluator(rules, SUBJECTS, stopwatch=lambda: 0.0)


def rule(name: str, entity: str, when: str, /, **more: object) -> str:
    """One rule as TOML."""
    keys: Mapping[str, object] = {
        "id": name,
        "entity": entity,
        "when": when,
        "severity": "warning",
        "summary": f"{name} of {{name}}",
        "action": "none",
        **more,
    }
    lines = [f"{key} = {_toml(value)}" for key, value in keys.items()]
    return "\n".join(["[[rule]]", *lines, ""])


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + " }"
    return '"' + str(value).replace('"', '\\"') + '"'


def active(said: Conclusions) -> list[str]:
    """The rules that hold, by name."""
    return sorted(fault.rule for fault in said.active)


def fault(said: Conclusions, name: str) -> Fault:
    """The one fault of this rule."""
    (found,) = [each for each in said.faults if each.rule == name]
    return found
