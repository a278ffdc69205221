"""Counters that must not step back although their sources do, now and then."""


class Rising:
    """Keeps the highest value of each counter.

    A step back of at most `tolerance` is held at the value before; a longer one is believed: the
    counter began anew.
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._highest: dict[str, float] = {}

    def at_least(self, name: str, value: float) -> float:
        """The value to show for this counter now."""
        before = self._highest.get(name, value)
        shown = before if value < before <= value + self._tolerance else value
        self._highest[name] = shown
        return shown


class Unwrapped:
    """Adds up a counter that starts again at zero behind a known highest value."""

    def __init__(self) -> None:
        self._raw: dict[str, int] = {}
        self._total: dict[str, int] = {}

    def total(self, name: str, raw: int, highest: int) -> int:
        """The sum now: the first value seen, and every step from there on.

        Without a usable `highest`, a step back means that the counter began anew at zero.
        """
        before = self._raw.get(name)
        if before is None:
            step = raw
        elif raw >= before:
            step = raw - before
        else:
            step = raw + highest - before if highest >= before else raw
        self._raw[name] = raw
        self._total[name] = self._total.get(name, 0) + step
        return self._total[name]
