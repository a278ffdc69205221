"""Converts a table of a rule file to a rule, and reports every error in it."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from exporter.durations import ALLOWED, parse_duration
from exporter.faults.entities.graph import RELATIONS
from exporter.faults.expr.compile import Compiled, compile_expr
from exporter.faults.expr.parser import parse_expression
from exporter.faults.expr.syntax import ExpressionError, counted_until
from exporter.faults.expr.typecheck import check_condition
from exporter.faults.rules.rule import LAYERS, Case, Condition, Explanation, Rule
from exporter.faults.rules.templates import Template, parse_template
from exporter.faults.values import Vocabulary, did_you_mean
from exporter.model.verdict import SEVERITIES, STATUS_OF_SEVERITY, STATUSES
from exporter.record import dataclass

REQUIRED = ("id", "entity", "when", "severity", "summary", "action")
FIELD_OF = {"for": "for_secs", "clear_for": "clear_for_secs"}
"""The field of the rule for each key with another name."""

CASE_KEYS = ("when", "summary", "advice")
EXPLANATION_KEYS = {"rule", "via", "within", "weak", "ahead", "after", "optional"}
MAX_FOR_SECS = 86_400.0
MAX_WORD = 80

T = TypeVar("T")

_FIELD = re.compile(r"( -i)? ?\{(?!name\})[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a rule file: place and one sentence; line and position count from 1."""

    file: str
    sentence: str
    line: int = 0
    rule: str = ""
    key: str = ""
    position: int = 0

    def __str__(self) -> str:
        """Return the mistake on one line."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        parts = [place]
        if self.rule:
            parts.append(f"rule {self.rule}")
        if self.key:
            parts.append(f"{self.key}, character {self.position}" if self.position else self.key)
        return ": ".join([*parts, self.sentence])


class WrongValue(Exception):
    """An invalid value of a rule; the message completes a sentence."""


class RuleReader:
    """Reads the table of one rule; `mistakes` has all errors of the table."""

    def __init__(self, table: Mapping[str, Any], vocabulary: Vocabulary) -> None:
        self._table = table
        self._vocabulary = vocabulary
        self._kind = ""
        self._until: tuple[str, ...] = ()
        self.mistakes: list[tuple[str, int, str]] = []

    def read(self) -> Rule | None:
        """Return the rule; None if the table has a mistake."""
        readers = self._readers()
        for key in self._table:
            if key not in readers:
                self._wrong(key, f"is not a key of a rule; {did_you_mean(key, readers)}")
        for key in REQUIRED:
            if key not in self._table:
                self._wrong(key, "is missing")
        self._kind = self._get("entity", self._entity) or ""
        if not self._kind or "id" not in self._table:
            return None
        self._until = self._get("until", self._event_kinds) or ()
        values: dict[str, Any] = {"entity": self._kind, "until": self._until}
        values |= {
            FIELD_OF.get(key, key): self._get(key, read)
            for key, read in readers.items()
            if key in self._table and key not in values
        }
        return None if self.mistakes else self._rule(values)

    def _readers(self) -> dict[str, Callable[[Any], Any]]:
        """Return for each key what reads its value."""
        return {
            "entity": self._entity,
            "until": self._event_kinds,
            "when": self._beginning,
            "for": _secs,
            "id": _identifier,
            "severity": _one_of(SEVERITIES),
            "summary": self._template,
            "action": _identifier,
            "clear": self._condition,
            "clear_for": _secs,
            "only_if": self._condition,
            "escalate": self._beginning,
            "escalate_to": _one_of(SEVERITIES),
            "lasts": self._number,
            "ends_by_time": _text,
            "explained_by": _explanations,
            "runbook": _identifier,
            "confidence": _share,
            "layer": _one_of(LAYERS),
            "status": _one_of(STATUSES),
            "symptom": _truth,
            "unless_explained": _truth,
            "advice": self._template,
            "alert": self._template,
            "concerns": self._entity,
            "needs": self._needs,
            "cases": self._cases,
        }

    def _rule(self, values: dict[str, Any]) -> Rule:
        """Return the rule with these fields; the defaults that depend on others are set here."""
        values.setdefault("clear_for_secs", values.get("for_secs", 0.0))
        values.setdefault("runbook", values["id"])
        values.setdefault("status", STATUS_OF_SEVERITY[values["severity"]])
        values.setdefault("advice", self._usual_advice(values["action"]))
        return Rule(**values)

    def _usual_advice(self, action: str) -> Template:
        """Return the sentence of an action; the slug as words where there is none."""
        sentence = usual = self._vocabulary.actions.get(action, "")
        for name, text in self._vocabulary.usual_texts.items():
            usual = usual.replace(f"{{{name}}}", text)
        for text in filter(None, (sentence, _FIELD.sub("", usual))):
            try:
                return self._template(text)
            except ExpressionError:  # the component has no such field: the sentence without it
                continue
        return Template((f"{action.replace('_', ' ').capitalize()}.",))

    def _get(self, key: str, read: Callable[[Any], T]) -> T | None:
        """Return the value of the key, decoded by `read`; None if it is absent or wrong."""
        if key not in self._table:
            return None
        try:
            return read(self._table[key])
        except ExpressionError as error:
            self._wrong(key, error.sentence, error.position)
        except WrongValue as error:
            self._wrong(key, str(error))
        return None

    def _wrong(self, key: str, sentence: str, position: int = 0) -> None:
        self.mistakes.append((key, position, sentence))

    def _entity(self, found: Any) -> str:
        kind = _text(found)
        if kind not in self._vocabulary.names:
            hint = did_you_mean(kind, self._vocabulary.names)
            raise WrongValue(f"is {kind[:40]!r}, which is no kind of component; {hint}")
        return kind

    def _condition(self, found: Any, until: tuple[str, ...] = ()) -> Condition:
        source = _text(found)
        tree = parse_expression(source)
        check_condition(tree, self._kind, self._vocabulary)
        tree = counted_until(tree, until) if until else tree
        return Condition(source, tree)

    def _beginning(self, found: Any) -> Condition:
        """Read a condition that counts only events after the last `until` event."""
        return self._condition(found, self._until)

    def _event_kinds(self, found: Any) -> tuple[str, ...]:
        words = self._vocabulary.event_words
        return _some_of(words, "kinds of events", "kind of event")(found)

    def _needs(self, found: Any) -> tuple[str, ...]:
        words = tuple(dict.fromkeys((*LAYERS, *self._vocabulary.names)))
        several, one = "layers and kinds of components", "layer or kind of component"
        return _some_of(words, several, one)(found)

    def _cases(self, found: Any) -> tuple[Case, ...]:
        rows = found if isinstance(found, list) else [found]
        return tuple(self._case(row, number) for number, row in enumerate(rows, 1))

    def _case(self, row: Any, number: int) -> Case:
        """Read one case; mistakes in its texts name its number."""
        if not isinstance(row, Mapping) or not {"when"} < row.keys() <= set(CASE_KEYS):
            raise WrongValue("must be a list of tables with when, and summary, advice or both")
        try:
            when = self._beginning(row["when"])
            texts = [self._template(row[key]) if key in row else None for key in CASE_KEYS[1:]]
        except ExpressionError as error:
            raise ExpressionError(error.position, f"case {number}: {error.sentence}") from error
        except WrongValue as error:
            raise WrongValue(f"of case {number} {error}") from error
        return Case(when, *texts)

    def _number(self, found: Any) -> Compiled:
        source = _text(found)
        check_condition(parse_expression(f"({source}) >= 0"), self._kind, self._vocabulary)
        return compile_expr(parse_expression(source))

    def _template(self, found: Any) -> Template:
        return parse_template(_text(found), self._kind, self._vocabulary)


def _text(found: Any) -> str:
    if not isinstance(found, str) or not found.strip():
        raise WrongValue("must be a text")
    return found


def _truth(found: Any) -> bool:
    if not isinstance(found, bool):
        raise WrongValue("must be true or false")
    return found


def _identifier(found: Any) -> str:
    word = _text(found)
    if len(word) > MAX_WORD or not word.replace("_", "a").isalnum() or not word.isascii():
        raise WrongValue(f"is {word[:40]!r}, but must be letters, digits and underscores")
    return word


def _secs(found: Any) -> float:
    secs = parse_duration(_text(found))
    if secs is None or secs > MAX_FOR_SECS:
        raise WrongValue(f"is {found[:40]!r}, but must be {ALLOWED}, at most 24h")
    return secs


def _share(found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found <= 1:
        raise WrongValue("must be a number above 0, at most 1")
    return float(found)


def _one_of(words: tuple[str, ...]) -> Callable[[Any], str]:
    def read(found: Any) -> str:
        if found not in words:
            raise WrongValue(f"is {str(found)[:40]!r}, but must be one of {', '.join(words)}")
        return str(found)

    return read


def _some_of(words: Collection[str], several: str, one: str) -> Callable[[Any], tuple[str, ...]]:
    """Return the reader of a list of some of these words, as they are called in messages."""

    def read(found: Any) -> tuple[str, ...]:
        if not isinstance(found, list) or not found:
            raise WrongValue(f"must be a list of {several}")
        for word in map(_text, found):
            if word not in words:
                raise WrongValue(f"has {word[:40]!r}, no {one}; {did_you_mean(word, words)}")
        return tuple(found)

    return read


def _explanations(found: Any) -> tuple[Explanation, ...]:
    if not isinstance(found, list):
        raise WrongValue("must be a list of tables with rule and via")
    return tuple(map(_explanation, found))


def _explanation(row: Any) -> Explanation:
    if not isinstance(row, Mapping) or not {"rule", "via"} <= row.keys() <= EXPLANATION_KEYS:
        raise WrongValue(
            "must be a list of tables with rule, via, and perhaps "
            "within, weak, ahead, after or optional"
        )
    within = _secs(row["within"]) if "within" in row else None
    if row["via"] not in RELATIONS:
        hint = did_you_mean(str(row["via"])[:40], RELATIONS)
        raise WrongValue(f"has via {str(row['via'])[:40]!r}, which is no relation; {hint}")
    is_weak = _truth(row.get("weak", False))
    ahead = _secs(row["ahead"]) if "ahead" in row else 0.0
    after = _secs(row["after"]) if "after" in row else 0.0
    is_optional = _truth(row.get("optional", False))
    rule = _identifier(row["rule"])
    return Explanation(rule, row["via"], within, is_weak, ahead, after, is_optional)
