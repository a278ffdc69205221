"""A setting: a field of the configuration with default, description and bounds."""

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

SECRET = "…"  # noqa: S105 - what is shown in its place
SECRET_KEYS = frozenset({"basic_users", "redact_salt", "command"})
"""Keys whose values are never shown; of a command only the program is."""

_SECRETS = (
    (r"(//)\S*@", rf"\1{SECRET}@"),
    (r"(?i)(\b(?:bearer|basic)\s+)\S+", rf"\1{SECRET}"),
    (r"(?i)((?:token|passw|secret|key|auth|credential|salt)\w*[=:]\s*)\S+", rf"\1{SECRET}"),
    (r"(\b(?:sk-|gh[opsu]_|glpat-|xox[bp]-|AKIA|eyJ)|\$2[aby]?\$)\S{8,}", rf"\1{SECRET}"),
)


def masked(text: str) -> str:
    """Hide texts that look like a secret: a login in a URL, `token=…`, a key of a known form."""
    for pattern, shown in _SECRETS:
        text = re.sub(pattern, shown, text)
    return text


def setting(
    default: Any,
    doc: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    one_of: tuple[str, ...] = (),
    are_patterns: bool = False,
    each_like: tuple[str, str] | None = None,
    is_duration: bool = False,
    family: str = "",
) -> Any:
    """Return a field of the configuration with its default, description and bounds."""
    bounds = {
        "doc": doc,
        "at_least": at_least,
        "at_most": at_most,
        "one_of": one_of,
        "are_patterns": are_patterns,
        "each_like": each_like,
        "is_duration": is_duration,
        "family": family,
    }
    if isinstance(default, Mapping):
        frozen = MappingProxyType(dict(default))
        return field(default_factory=lambda: frozen, metadata=bounds)
    return field(default=default, metadata=bounds)


def section(kind: type) -> Any:
    """Return a nested table of the configuration, described by its class's first line."""
    sentence, _, _ = (kind.__doc__ or "").partition("\n")
    return field(default_factory=kind, metadata={"doc": sentence})
