"""Converts a table of a rule file to a rule, and reports every error in it."""

import re
from collections.abc import Callable, Iterator, Mapping
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
KEYS = (
    *REQUIRED,
    *("for", "clear", "clear_for", "until", "ends_by_time", "only_if", "escalate", "lasts"),
    *(
        "escalate_to",
        "explained_by",
        "runbook",
        "confidence",
        "layer",
        "status",
        "symptom",
        "unless_explained",
        "advice",
        "alert",
        "concerns",
        "needs",
        "cases",
    ),
)
CASE_KEYS = ("when", "summary", "advice")
EXPLANATION_KEYS = {"rule", "via", "within", "weak", "ahead", "optional"}
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
        for key in self._table:
            if key not in KEYS:
                self._wrong(key, f"is not a key of a rule; {did_you_mean(key, KEYS)}")
        for key in REQUIRED:
            if key not in self._table:
                self._wrong(key, "is missing")
        self._kind = self._get("entity", self._entity, "")
        if not self._kind or "id" not in self._table:
            return None
        rule = self._rule()
        return None if self.mistakes else rule

    def _rule(self) -> Rule:
        nothing = Template(())
        self._until = self._get("until", self._event_kinds, ())
        when = self._get("when", self._beginning, None)
        for_secs = self._get("for", _secs, 0.0)
        return Rule(
            id=self._get("id", _identifier, ""),
            entity=self._kind,
            # untested: a rule without a condition is a mistake, so this condition is never
            # evaluated
            when=when or Condition("", parse_expression("false"), lambda _: False),
            severity=self._get("severity", _one_of(SEVERITIES), "info"),
            summary=self._get("summary", self._template, nothing),
            action=self._get("action", _identifier, ""),
            for_secs=for_secs,
            clear=self._get("clear", self._condition, None),
            clear_for_secs=self._get("clear_for", _secs, for_secs),
            only_if=self._get("only_if", self._condition, None),
            escalate=self._get("escalate", self._beginning, None),
            escalate_to=self._get("escalate_to", _one_of(SEVERITIES), "critical"),
            lasts=self._get("lasts", self._number, None),
            until=self._until,
            ends_by_time=self._get("ends_by_time", _text, ""),
            explained_by=self._get("explained_by", _explanations, ()),
            runbook=self._get("runbook", _identifier, str(self._table["id"])),
            confidence=self._get("confidence", _share, 0.9),
            layer=self._get("layer", _one_of(LAYERS), "process"),
            status=self._get("status", _one_of(STATUSES), _status_of(self._table)),
            symptom=self._get("symptom", _truth, False),  # noqa: FBT003 - the default, as above
            unless_explained=self._get("unless_explained", _truth, False),  # noqa: FBT003 - as above
            advice=self._get("advice", self._template, self._usual_advice()),
            alert=self._get("alert", self._template, nothing),
            concerns=self._get("concerns", self._entity, ""),
            needs=self._get("needs", self._needs, ()),
            cases=self._get("cases", self._cases, ()),
        )

    def _usual_advice(self) -> Template:
        """Return the sentence of the rule's action; the slug as words where there is none."""
        action = str(self._table.get("action", ""))
        sentence = usual = self._vocabulary.actions.get(action, "")
        for name, text in self._vocabulary.usual_texts.items():
            usual = usual.replace(f"{{{name}}}", text)
        for text in filter(None, (sentence, _FIELD.sub("", usual))):
            try:
                return self._template(text)
            except ExpressionError:  # the component has no such field: the sentence without it
                continue
        return Template((f"{action.replace('_', ' ').capitalize()}.",))

    def _get(self, key: str, read: Callable[[Any], T], default: T) -> T:
        """Return the value of the key, decoded by `read`; the default if it is absent or wrong."""
        if key not in self._table:
            return default
        try:
            return read(self._table[key])
        except ExpressionError as error:
            self._wrong(key, error.sentence, error.position)
        except WrongValue as error:
            self._wrong(key, str(error))
        return default

    def _wrong(self, key: str, sentence: str, position: int = 0) -> None:
        self.mistakes.append((key, position, sentence))

    def _entity(self, found: Any) -> str:
        kind = _text(found)
        if kind not in self._vocabulary.names:
            hint = did_you_mean(kind, self._vocabulary.names)
            raise WrongValue(f"is {kind[:40]!r}, which is no kind of component; {hint}")
        return kind

    def _condition(self, found: Any) -> Condition:
        source = _text(found)
        tree = parse_expression(source)
        check_condition(tree, self._kind, self._vocabulary)
        return Condition(source, tree, compile_expr(tree))

    def _beginning(self, found: Any) -> Condition:
        """Read a condition that counts only events after the last `until` event."""
        condition = self._condition(found)
        if not self._until:
            return condition
        tree = counted_until(condition.tree, self._until)
        return Condition(condition.source, tree, compile_expr(tree))

    def _event_kinds(self, found: Any) -> tuple[str, ...]:
        if not isinstance(found, list) or not found:
            raise WrongValue("must be a list of kinds of events")
        words = self._vocabulary.event_words
        for word in map(_text, found):
            if word not in words:
                raise WrongValue(
                    f"has {word[:40]!r}, no kind of event; {did_you_mean(word, words)}"
                )
        return tuple(found)

    def _needs(self, found: Any) -> tuple[str, ...]:
        words = tuple(dict.fromkeys((*LAYERS, *self._vocabulary.names)))
        if not isinstance(found, list) or not found:
            raise WrongValue("must be a list of layers and kinds of components")
        for word in map(_text, found):
            if word not in words:
                raise WrongValue(
                    f"has {word[:40]!r}, no layer or kind of component; {did_you_mean(word, words)}"
                )
        return tuple(found)

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


def _status_of(table: Mapping[str, Any]) -> str:
    """Return the usual status of a component for a rule of this severity."""
    return STATUS_OF_SEVERITY.get(str(table.get("severity")), "ok")


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


def _explanations(found: Any) -> tuple[Explanation, ...]:
    if not isinstance(found, list):
        raise WrongValue("must be a list of tables with rule and via")
    return tuple(_each_explanation(found))


def _each_explanation(rows: list[Any]) -> Iterator[Explanation]:
    for row in rows:
        if not isinstance(row, Mapping) or not {"rule", "via"} <= row.keys() <= EXPLANATION_KEYS:
            raise WrongValue(
                "must be a list of tables with rule, via and perhaps within, weak, ahead, optional"
            )
        within = _secs(row["within"]) if "within" in row else None
        if row["via"] not in RELATIONS:
            hint = did_you_mean(str(row["via"])[:40], RELATIONS)
            raise WrongValue(f"has via {str(row['via'])[:40]!r}, which is no relation; {hint}")
        is_weak = _truth(row.get("weak", False))
        ahead = _secs(row.get("ahead", "0s"))
        is_optional = _truth(row.get("optional", False))
        yield Explanation(_identifier(row["rule"]), row["via"], within, is_weak, ahead, is_optional)
