"""`hw-exporter config show|check`: the effective configuration."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from exporter.commands.invocation import Invocation
from exporter.config.setting import SECRET, SECRET_KEYS, masked
from exporter.exit_codes import EXIT_OK

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def check(invocation: Invocation) -> int:
    """Report that the configuration is valid; raise ConfigError if it is not."""
    invocation.check()
    print('{"good": true}' if invocation.options.json else "the configuration is valid")
    return EXIT_OK


def show(invocation: Invocation) -> int:
    """Print every key with its value, secrets left out."""
    table = shown(invocation.settings().config)
    if invocation.options.json:
        print(json.dumps(table, ensure_ascii=False))
    else:
        print(to_toml(table), end="")
    return EXIT_OK


def shown(value: Any) -> Any:
    """Convert a part of the configuration to tables, lists and plain values without secrets."""
    if is_dataclass(value):
        return {each.name: _field(each.name, getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: shown(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    return masked(value) if isinstance(value, str) else value


def _field(name: str, value: Any) -> Any:
    """Return the shown value of a key: a mark for a secret, only the program of a command."""
    if name not in SECRET_KEYS or not value:
        return shown(value)
    if isinstance(value, Mapping):
        return dict.fromkeys(value, SECRET)
    return [shown(value[0]), *(SECRET for _ in value[1:])] if isinstance(value, tuple) else SECRET


def to_toml(table: dict[str, Any]) -> str:
    """Return the tables as TOML."""
    return "".join(f"{line}\n" for line in _toml(table))


def _toml(table: dict[str, Any], prefix: str = "") -> list[str]:
    """Format tables as TOML, plain keys before subtables."""
    plain = {key: value for key, value in table.items() if not _is_table(value)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    if prefix and lines:
        lines = ["", f"[{prefix}]", *lines]
    for key, value in table.items():
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict) and value:
            lines += _toml(value, name)
        elif _is_table(value):
            for row in value:
                lines += ["", f"[[{name}]]", *(f"{k} = {_value(v)}" for k, v in row.items())]
    return lines


def _key(name: str) -> str:
    """Format a key; the name of a user may have any characters but a colon."""
    return name if BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _is_table(value: object) -> bool:
    rows = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    return rows or (isinstance(value, dict) and bool(value))


def _value(value: object) -> str:
    """Format one value; texts, lists, numbers and booleans are the same in TOML and JSON."""
    if isinstance(value, dict):
        return "{}"
    return json.dumps(value, ensure_ascii=False)
