"""`hw-exporter config show|check`: the effective configuration."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from exporter.commands.invocation import Invocation
from exporter.exit_codes import EXIT_OK

SECRET = "…"  # noqa: S105 - what is shown in its place


def check(invocation: Invocation) -> int:
    """Say that the configuration is good; raise ConfigError where it is not."""
    invocation.settings()
    print('{"good": true}' if invocation.options.json else "the configuration is valid")
    return EXIT_OK


def show(invocation: Invocation) -> int:
    """Print every key with its value, secrets left out."""
    table = _without_secrets(_table(invocation.settings().config))
    if invocation.options.json:
        print(json.dumps(table, ensure_ascii=False))
    else:
        print("\n".join(_toml(table)))
    return EXIT_OK


def _table(value: Any) -> Any:
    """Turn a part of the configuration into tables, lists and plain values."""
    if is_dataclass(value):
        return {each.name: _table(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: _table(each) for key, each in value.items()}
    return [_table(each) for each in value] if isinstance(value, (list, tuple)) else value


def _without_secrets(table: dict[str, Any]) -> dict[str, Any]:
    """Hide the hashes of passwords: the names are enough to see who may read."""
    auth = table["server"]["auth"]
    users = {key: dict.fromkeys(auth[key], SECRET) for key in auth if key.startswith("basic")}
    return {**table, "server": {**table["server"], "auth": {**auth, **users}}}


def _toml(table: dict[str, Any], prefix: str = "") -> list[str]:
    """Write tables as TOML, plain keys before the tables below them."""
    plain = {key: value for key, value in table.items() if not _is_table(value)}
    lines = [f"{key} = {_value(value)}" for key, value in plain.items()]
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


def _is_table(value: object) -> bool:
    rows = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    return rows or (isinstance(value, dict) and bool(value))


def _value(value: object) -> str:
    """Write one value; strings, lists, numbers and truth are in TOML as in JSON."""
    if isinstance(value, dict):
        return "{}"
    return json.dumps(value, ensure_ascii=False)
