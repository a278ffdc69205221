"""Short recordings: a base node, and steps in which time passes and counters rise.

A line `{"base": "server"}` begins with a node of the file of nodes. `set` changes values by dotted
path, `rate` lets counters rise by so many per second from now on (0 or null ends the rise), `log`
is another name for `kernel`. With `wait`, time passes after the line: a moment every `every`
seconds (15), less often in a long wait. In a path `*` is every component that exists.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from exporter.faults.replay.renamed import OldNames, Renaming, Tree
from exporter.faults.values import did_you_mean

EVERY_SECS = 15
LONGEST_STEP_SECS = 300
"""The longest time between two moments of a long wait, unless the line has `every`."""
MOST_MOMENTS = 100_000
"""The most moments of one wait: a mistake in its seconds must not fill the memory."""
LEAST_STEP_SECS, MOST_SECS = 0.001, 1e12
"""Bounds of steps: no step is lost in rounding, and every wait ends."""

KEYS = frozenset({"at", "readings", "reports"})
STEP_KEYS = frozenset({"base", "set", "rate", "log", "wait", "every"})

Place = tuple[str, ...]


class Steps:
    """Turns the lines of a short recording into lines that hold `at`, `readings` and events.

    `events` are the keys of events.
    """

    def __init__(self, events: frozenset[str], nodes: Path, old_names: OldNames) -> None:
        self._keys = KEYS | events
        self._nodes = nodes
        self._now: Tree = {}
        self._rates: dict[Place, float] = {}
        self._left: dict[Place, float] = {}
        self._at: float = 0
        self._renaming = Renaming(old_names)

    def moments(self, row: Tree) -> Iterator[Tree]:
        """Yield a line for each moment, with the changes of that moment; raise ValueError."""
        for key in row:
            if key not in self._keys | STEP_KEYS:
                raise ValueError(f"no key {key}; {did_you_mean(key, self._keys | STEP_KEYS)}")
        plain = {key: row[key] for key in row if key in self._keys}
        plain["at"] = self._at = max(self._at, _seconds(row, "at", self._at, -MOST_SECS))
        plain["readings"] = self._changes(row)
        if "log" in row:
            plain["kernel"] = [*listed(row.get("kernel")), *listed(row["log"])]
        self._take_rates(row.get("rate") or {})
        yield plain
        yield from self._wait(_seconds(row, "wait", 0), _seconds(row, "every", EVERY_SECS))

    def _changes(self, row: Tree) -> Tree:
        """Apply the changes of this line (base, `readings`, `set`), and return them."""
        changed: Tree = {}
        if "base" in row:
            if self._now:
                raise ValueError("base: a recording begins with its node, in its first line")
            base = base_node(self._nodes, str(row["base"]))
            self._take_rates(base["rate"])
            join(changed, base["readings"])
        merge(self._now, changed)
        for more in (row.get("readings") or {}, unfolded(row.get("set") or {})):
            change = _spread(self._renaming.read(more), self._now)
            join(changed, change)
            merge(self._now, change)
        return changed

    def _take_rates(self, rates: Mapping[str, Any]) -> None:
        for path, per_second in _leaves(_spread(unfolded(rates), self._now)):
            if per_second:
                self._rates[path] = float(per_second)
            else:
                self._rates.pop(path, None)

    def _wait(self, secs: float, every: float) -> Iterator[Tree]:
        if every < LEAST_STEP_SECS or secs / every > MOST_MOMENTS:
            raise ValueError(f"wait: {secs:g} s in steps of {every:g} s is refused")
        began, until = self._at, self._at + secs
        while self._at < until:
            pause = max(every, min((self._at - began) // 4, LONGEST_STEP_SECS))
            pause = min(pause, until - self._at)
            self._at += pause
            change: Tree = {}
            for path, risen in self._risen(pause):
                join(change, nested(path, risen))
            merge(self._now, change)
            yield {"at": self._at, "readings": change}

    def _risen(self, secs: float) -> Iterator[tuple[Place, float]]:
        """Yield the counters that rise; a fraction of a whole number is added at a later moment."""
        for path, per_second in self._rates.items():
            value: Any = self._now
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if not isinstance(value, (int, float)):
                continue
            added = per_second * secs + self._left.get(path, 0.0)
            if isinstance(value, int):
                self._left[path] = added - int(added)
                added = int(added)
            yield path, value + added


@cache
def base_nodes(file: Path) -> Mapping[str, Tree]:
    """Load the base nodes of recordings by name: `readings` and `rate` of each."""
    found: Mapping[str, Tree] = json.loads(file.read_text("utf-8"))
    return found


def base_node(file: Path, name: str) -> Tree:
    """Return `readings` and `rate` of this base node; raise ValueError for an unknown name."""
    nodes = base_nodes(file)
    if name not in nodes:
        raise ValueError(f"no base node {name}; {did_you_mean(name, sorted(nodes))}")
    return nodes[name]


def merge(into: Tree, change: Mapping[str, Any], *, removes: bool = True) -> None:
    """Apply a change: objects are merged, null removes, anything else replaces."""
    for name, value in change.items():
        if value is None and removes:
            into.pop(name, None)
        elif isinstance(value, Mapping):
            inner = into.get(name)
            if not isinstance(inner, dict):
                inner = into[name] = {}
            merge(inner, value, removes=removes)
        else:
            into[name] = value


join = partial(merge, removes=False)
"""Merges a later change into an earlier one; null is kept, since it removes."""


def unfolded(change: Mapping[str, Any]) -> Tree:
    """Return nested objects for dotted paths; keys of inner objects are not split."""
    found: Tree = {}
    for path, value in change.items():
        join(found, nested(tuple(path.split(".")), value))
    return found


def nested(path: Place, value: object) -> Tree:
    """Return the value as a change at this path."""
    for name in reversed(path):
        value = {name: value}
    return value if isinstance(value, dict) else {}


def listed(found: object) -> list[Any]:
    """Return a list as it is, null as an empty list, anything else as a list of one."""
    if found is None:
        return []
    return found if isinstance(found, list) else [found]


def _spread(change: Mapping[str, Any], now: object) -> Tree:
    """Return the change with every existing component in the place of `*`."""
    there = now if isinstance(now, dict) else {}
    spread: Tree = {}
    for name, value in change.items():
        for each in list(there) if name == "*" else (name,):
            inner = _spread(value, there.get(each)) if isinstance(value, Mapping) else value
            join(spread, {each: inner})
    return spread


def _leaves(tree: Mapping[str, Any], *above: str) -> Iterator[tuple[Place, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, *above, name)
        else:
            yield (*above, name), value


def _seconds(row: Tree, name: str, default: float, least: float = 0) -> float:
    secs = float(row.get(name, default))
    if not least <= secs <= MOST_SECS:
        raise ValueError(f"{name}: {row[name]} is no number of seconds")
    return int(secs) if secs.is_integer() else secs
