"""Numbers as kernels write them; what is not one is None, never zero."""

LARGEST_COUNTER = 2**64 - 1
LONGEST_NUMBER = 24


def whole(word: str) -> int | None:
    """A counter: decimal digits, 0 to 2⁶⁴ − 1; None for anything else, negative numbers too."""
    digits = word.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > LONGEST_NUMBER:
        return None
    number = int(digits)
    return number if number <= LARGEST_COUNTER else None


def signed(word: str) -> int | None:
    """A whole number that may be below zero, such as a temperature in thousandths."""
    text = word.strip()
    number = whole(text.removeprefix("-"))
    if number is None:
        return None
    return -number if text.startswith("-") else number


def decimal(word: str) -> float | None:
    """A number with or without a fraction, not negative."""
    before, _, after = word.strip().partition(".")
    units, fraction = whole(before), whole(after or "0")
    return None if units is None or fraction is None else float(f"{before}.{after or 0}")
