"""Type check of expressions: names exist, and only comparable values are compared."""

from exporter.faults.events.query import PROBE, PROBE_EVENT_FIELDS, Events
from exporter.faults.expr.syntax import (
    ARITHMETIC,
    LOGIC,
    ExpressionError,
    Known,
    Literal,
    Name,
    Node,
    Operation,
    Window,
    walk,
)
from exporter.faults.values import FieldType, Type, Vocabulary, did_you_mean

EQUALITIES = ("==", "!=")


def check_condition(tree: Node, kind: str, vocabulary: Vocabulary) -> None:
    """Raise ExpressionError unless the tree is a condition about an entity of this kind."""
    found = type_of(tree, kind, vocabulary)
    if found is not Type.TRUTH:
        raise ExpressionError(tree.position, f"is {found.value}, but must be a condition")


def type_of(node: Node, kind: str, vocabulary: Vocabulary) -> Type:
    """Return the type of a part; raise ExpressionError for a mistake in it."""
    if isinstance(node, (Literal, Name)):
        return _leaf_type(node, kind, vocabulary)
    if isinstance(node, (Known, Window)):
        return _function_type(node, kind, vocabulary)
    if isinstance(node, Events):
        _check_events(node, vocabulary)
        return Type.NUMBER
    return _operation_type(node, kind, vocabulary)


def field_of(name: Name, kind: str, vocabulary: Vocabulary) -> FieldType:
    """Return the field of a name; raise ExpressionError with the names that exist."""
    owner = _owner(name.related, name.position, kind, vocabulary)
    names = vocabulary.names[owner]
    if name.field not in names:
        raise ExpressionError(
            name.position,
            f"{owner} has no field {name.field}; ",
            lambda: did_you_mean(name.field, names),
        )
    found = names[name.field]
    if found.is_labeled and not name.label:
        raise ExpressionError(
            name.position, f"{name.field} has one value per label; write {name.field}[label]"
        )
    if name.label and not found.is_labeled:
        raise ExpressionError(name.position, f"{name.field} has no labels")
    return found


def _owner(word: str, position: int, kind: str, vocabulary: Vocabulary) -> str:
    """Return the kind of the related component of this word; `kind` itself for an empty word."""
    if not word:
        return kind
    related = vocabulary.related.get(kind, {})
    if word not in related:
        hint = did_you_mean(word, related)
        raise ExpressionError(position, f"{kind} has no related {word}; {hint}")
    return related[word]


def _leaf_type(node: Literal | Name, kind: str, vocabulary: Vocabulary) -> Type:
    if isinstance(node, Name):
        return field_of(node, kind, vocabulary).type
    if isinstance(node.value, bool):
        return Type.TRUTH
    return Type.TEXT if isinstance(node.value, str) else Type.NUMBER


def _function_type(node: Known | Window, kind: str, vocabulary: Vocabulary) -> Type:
    found = field_of(node.name, kind, vocabulary)
    if isinstance(node, Window) and node.function != "changes" and found.type is Type.TEXT:
        raise ExpressionError(node.name.position, f"{node.function} needs a number, not a text")
    return Type.TRUTH if isinstance(node, Known) else Type.NUMBER


def _check_events(node: Events, vocabulary: Vocabulary) -> None:
    if node.what not in vocabulary.event_words:
        hint = did_you_mean(node.what, vocabulary.event_words)
        raise ExpressionError(node.position, f"there are no events {node.what}; {hint}")
    for name, _ in node.filters if node.what == PROBE else ():
        if name not in PROBE_EVENT_FIELDS:
            hint = did_you_mean(name, PROBE_EVENT_FIELDS)
            raise ExpressionError(node.position, f"no event of a probe has {name}; {hint}")


def _operation_type(node: Operation, kind: str, vocabulary: Vocabulary) -> Type:
    if node.sign in LOGIC:
        for part in node.parts:
            check_condition(part, kind, vocabulary)
        return Type.TRUTH
    if node.sign in ARITHMETIC:
        for part in node.parts:
            if type_of(part, kind, vocabulary) is Type.TEXT:
                raise ExpressionError(part.position, "is a text, but must be a number")
        return Type.NUMBER
    _check_comparison(node, {type_of(part, kind, vocabulary) for part in node.parts})
    return Type.TRUTH


def _check_comparison(node: Operation, sides: set[Type]) -> None:
    if all(isinstance(each, (Literal, Operation)) for each in walk(node)):
        raise ExpressionError(node.position, "compares nothing that changes: always the same")
    if Type.TEXT in sides:
        if len(sides) > 1:
            raise ExpressionError(node.position, "compares a text with something that is none")
        if node.sign not in EQUALITIES:
            raise ExpressionError(node.position, "texts can only be compared with == and !=")
