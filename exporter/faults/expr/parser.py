"""From the words of an expression to its tree."""

import math

from exporter.durations import ALLOWED, parse_duration
from exporter.faults.expr.syntax import (
    MAX_COST,
    MAX_DEPTH,
    MAX_WINDOW_SECS,
    Age,
    Arithmetic,
    Compare,
    Events,
    ExpressionError,
    Junction,
    Known,
    Literal,
    Name,
    Node,
    Not,
    Window,
    walk,
)
from exporter.faults.expr.tokens import END, Token, tokens

WINDOW_FUNCTIONS = ("rate", "increase", "max_over", "avg_over", "changes")
FUNCTIONS = ("known", *WINDOW_FUNCTIONS, "events", "age")
RESERVED = frozenset({"and", "or", "not", "true", "false", *FUNCTIONS})
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
MAX_LISTED = 200

_COSTS: dict[type, int] = {Window: 5, Events: 10, Age: 5}


def parse_expression(source: str) -> Node:
    """The tree of an expression; raises ExpressionError."""
    parser = _Parser(tokens(source))
    tree = parser.whole()
    cost = sum(_COSTS.get(type(node), 1) for node in walk(tree))
    if cost > MAX_COST:
        raise ExpressionError(1, f"costs {cost}, but may cost at most {MAX_COST}")
    return tree


class _Parser:
    """Reads words from left to right; each method reads one kind of phrase."""

    def __init__(self, words: list[Token]) -> None:
        self._words = words
        self._place = 0
        self._depth = 0

    def whole(self) -> Node:
        tree = self._either()
        if self._next.kind != END:
            raise self._unexpected("and, or, a comparison or the end")
        return tree

    @property
    def _next(self) -> Token:
        return self._words[self._place]

    def _take(self) -> Token:
        token = self._next
        self._place += token.kind != END
        return token

    def _takes(self, *texts: str) -> Token | None:
        if self._next.kind in ("word", "sign") and self._next.text in texts:
            return self._take()
        return None

    def _expect(self, sign: str) -> None:
        if self._takes(sign) is None:
            raise self._unexpected(repr(sign))

    def _unexpected(self, wanted: str) -> ExpressionError:
        return ExpressionError(
            self._next.position, f"found {self._next.text[:40]}, but {wanted} is wanted"
        )

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(self._next.position, f"is nested deeper than {MAX_DEPTH}")

    def _either(self) -> Node:
        return self._junction("or")

    def _junction(self, word: str) -> Node:
        position = self._next.position
        parts = [self._junction("and") if word == "or" else self._negation()]
        while self._takes(word):
            parts.append(self._junction("and") if word == "or" else self._negation())
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts), position)

    def _negation(self) -> Node:
        token = self._takes("not")
        if token is None:
            return self._comparison()
        self._deeper()
        part = self._negation()
        self._depth -= 1
        return Not(part, token.position)

    def _comparison(self) -> Node:
        left = self._sum()
        operator = self._takes(*COMPARISONS)
        if operator is None:
            return left
        right = self._sum()
        if self._next.text in COMPARISONS:
            raise ExpressionError(self._next.position, "comparisons cannot be chained; use and")
        return Compare(operator.text, left, right, operator.position)

    def _sum(self) -> Node:
        left = self._product()
        while operator := self._takes("+", "-"):
            left = Arithmetic(operator.text, left, self._product(), operator.position)
        return left

    def _product(self) -> Node:
        left = self._factor()
        while operator := self._takes("*", "/"):
            left = Arithmetic(operator.text, left, self._factor(), operator.position)
        return left

    def _factor(self) -> Node:
        minus = self._takes("-")
        if minus is None:
            return self._atom()
        self._deeper()
        part = self._factor()
        self._depth -= 1
        return Arithmetic("-", Literal(0.0, minus.position), part, minus.position)

    def _atom(self) -> Node:
        token = self._next
        if self._takes("("):
            self._deeper()
            tree = self._either()
            self._depth -= 1
            self._expect(")")
            return tree
        if token.kind == "number":
            return Literal(_number(self._take()), token.position)
        if token.kind == "text":
            return Literal(self._take().text[1:-1], token.position)
        if token.kind == "word":
            return self._word()
        raise self._unexpected("a name, a number or a condition")

    def _word(self) -> Node:
        token = self._next
        if token.text in ("true", "false"):
            self._take()
            return Literal(token.text == "true", token.position)
        following = self._words[self._place + 1]
        if following.text == "(" and following.kind == "sign":
            return self._call()
        return self._name()

    def _name(self) -> Name:
        token = self._next
        following = self._words[self._place + (token.kind != END)]
        is_field = token.text in FUNCTIONS and following.text == "["  # `events` of an RDMA port
        if token.kind != "word" or (token.text in RESERVED and not is_field):
            raise self._unexpected("the name of a field")
        kin, field = "", self._take().text
        if self._takes("."):
            kin, field = field, self._plain_word()
        label = ""
        if self._takes("["):
            label = self._choice()
            while self._takes(","):
                label = f"{label},{self._choice()}"
            self._expect("]")
        return Name(kin, field, label, token.position)

    def _plain_word(self) -> str:
        if self._next.kind == "word":
            return self._take().text
        if self._next.kind == "text":
            return self._take().text[1:-1]
        raise self._unexpected("a word")

    def _call(self) -> Node:
        token = self._take()
        if token.text not in FUNCTIONS:
            raise ExpressionError(
                token.position,
                f"there is no function {token.text}; there are {', '.join(FUNCTIONS)}",
            )
        self._expect("(")
        node = self._arguments(token)
        self._expect(")")
        return node

    def _arguments(self, function: Token) -> Node:
        if function.text == "known":
            return Known(self._name(), function.position)
        if function.text == "age":
            name = None if self._next.text == ")" else self._name()
            return Age(name, function.position)
        if function.text == "events":
            return self._events(function)
        name = self._name()
        self._expect(",")
        return Window(function.text, name, self._window(), function.position)

    def _window(self) -> float:
        token = self._next
        text = token.text.strip("\"'")
        secs = parse_duration(text) if token.kind in ("duration", "text") else None
        if secs is None:
            raise self._unexpected(f"a duration ({ALLOWED})")
        if not 1.0 <= secs <= MAX_WINDOW_SECS:
            raise ExpressionError(token.position, "a window is from 1s to 24h long")
        self._take()
        return secs

    def _events(self, function: Token) -> Node:
        what = self._plain_word()
        if self._takes("."):
            what = f"{what}.{self._plain_word()}"
        lists: dict[str, tuple[str, ...]] = {}
        within = None
        while self._takes(","):
            key = self._next
            name = self._plain_word()
            self._expect("=")
            if name in lists or (name == "within" and within is not None):
                raise ExpressionError(key.position, f"{name} is given twice")
            if name == "within":
                within = self._window()
            else:
                lists[name] = self._choices()
        if within is None:
            raise ExpressionError(function.position, "events needs within=, such as within=10m")
        alike, differ = lists.pop("alike", ()), lists.pop("differ", ())
        return Events(what, tuple(lists.items()), within, function.position, alike, differ)

    def _choices(self) -> tuple[str, ...]:
        if self._takes("[") is None:
            return (self._choice(),)
        choices = [self._choice()]
        while self._takes(","):
            choices.append(self._choice())
            if len(choices) > MAX_LISTED:
                raise ExpressionError(self._next.position, f"more than {MAX_LISTED} in a list")
        self._expect("]")
        return tuple(choices)

    def _choice(self) -> str:
        if self._next.kind not in ("number", "word", "text"):
            raise self._unexpected("a number or a word")
        return self._take().text.strip("\"'")


def _number(token: Token) -> float:
    value = float(token.text)
    if not math.isfinite(value):
        raise ExpressionError(token.position, f"{token.text[:20]} is too large")
    return value
