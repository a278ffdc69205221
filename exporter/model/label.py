"""Cleans text from hardware and kernel for labels, logs and JSON."""

MAX_LABEL_CHARS = 256

_REPLACEMENT = "\ufffd"


def clean_text(raw: str | bytes, limit: int = MAX_LABEL_CHARS) -> str:
    """Strip surrogates and control characters, and trim to at most `limit` characters.

    Names come from firmware, drivers and tenants; one surrogate in one label would make the
    whole page impossible to encode.
    """
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    cut = text.strip()[: limit * 4]
    cleaned = cut if cut.isprintable() else "".join(map(_fit, cut))
    return cleaned.strip()[:limit]


def _fit(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char.isprintable():
        return char
    return _REPLACEMENT
