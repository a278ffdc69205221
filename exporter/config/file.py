"""Loads files, environment and flags into one validated Config, or reports all mistakes."""

import dataclasses
import json
import math
import os
import re
import stat
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from exporter.config import Config
from exporter.config.setting import SECRET, SECRET_KEYS, masked
from exporter.durations import ALLOWED as ALLOWED_DURATION
from exporter.durations import parse_duration
from exporter.regular_file import FileUnusable, read_text
from exporter.toml import tomllib

T = TypeVar("T")

ENV_PREFIX = "APP__"
DEFAULT_FILES = ("config/default.toml", "config/local.toml")
INSTALLED_FILE = Path("/etc/hw-exporter/config.toml")
"""The file that the systemd unit, the Debian package and the DaemonSet give to the exporter."""

MAX_FILE_BYTES = 1024 * 1024
MAX_NAMES = 32
MAX_PATTERN_CHARS = 128
MAX_NUMBER = 2**53
"""The largest number in the configuration; up to it a float holds every whole number."""

TYPE_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}


MAX_SENTENCES = 50
"""The most mistakes of one configuration that are printed; the rest are counted."""


class ConfigError(ValueError):
    """Mistakes in the configuration; each names place, key, value and allowed values."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(*sentences)
        self.sentences = sentences

    def __str__(self) -> str:
        """Return a line for each mistake, up to `MAX_SENTENCES`."""
        more = len(self.sentences) - MAX_SENTENCES
        further = [f"and {more} more mistakes"] if more > 0 else []
        return "\n".join([*self.sentences[:MAX_SENTENCES], *further])


def every(attempts: Iterable[Callable[[], T]]) -> list[T]:
    """Return the results of all attempts; raise ConfigError with the mistakes of all."""
    results: list[T] = []
    sentences: list[str] = []
    for attempt in attempts:
        try:
            results.append(attempt())
        except ConfigError as error:
            sentences += error.sentences
    if sentences:
        raise ConfigError(*sentences)
    return results


@dataclasses.dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one place: a nested table, and the name of the place in messages."""

    origin: str
    table: Mapping[str, Any]
    is_text: bool = False  # values are still text, as in the environment


def load(layers: Iterable[Layer]) -> Config:
    """Return the configuration of all layers, later layers winning; raise ConfigError."""
    config = Config()

    def merge(layer: Layer) -> None:
        nonlocal config
        config = _merged(config, layer.table, layer, "")

    every(partial(merge, layer) for layer in layers)
    _check_probes(config)
    return config


def _check_probes(config: Config) -> None:
    """Raise ConfigError unless each external probe has a unique name and a command."""
    names = [probe.name for probe in config.probes]
    wrong = []
    for position, probe in enumerate(config.probes):
        place = f"probes[{position}]"
        if not probe.name or probe.name in names[:position]:
            wrong.append(f"{place}.name is {_shown(probe.name)}, but must be unique")
        if not probe.command or not probe.command[0].startswith("/"):
            wrong.append(f"{place}.command must begin with the absolute path of a program")
    if wrong:
        raise ConfigError(*wrong)


def file_layers(
    named: str | None, installed: Path | None = None, owners: Collection[str] = ()
) -> list[Layer]:
    """Return the layer of the named file, or of the default files that exist.

    The default files are in the working directory, which may be anybody's: if there are `owners`,
    they must belong to one of these user ids. Without any of them it is the `installed` file, if
    that is readable. Raises ConfigError.
    """
    if named is not None:
        return [read_file(Path(named))]
    there = every(partial(_default_file, Path(name), owners) for name in DEFAULT_FILES)
    found = [path for path in there if path is not None]
    if not found and installed is not None and os.access(installed, os.R_OK):
        found = [installed]
    return every(partial(read_file, path) for path in found)


def _default_file(path: Path, owners: Collection[str]) -> Path | None:
    """Return the path of a default file, None where there is none; raise ConfigError."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        return None
    if owners and str(found.st_uid) not in owners:
        whose = f"belongs to user {found.st_uid}, not to root or you"
        raise ConfigError(f"{path}: {whose}; use --config {path} if you trust it")
    return path


def read_file(path: Path) -> Layer:
    """Return the layer of one TOML file; raise ConfigError."""
    try:
        return Layer(str(path), tomllib.loads(read_text(path, MAX_FILE_BYTES)))
    except FileUnusable as error:
        raise ConfigError(f"{path}: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: is not valid TOML: nested too deeply") from error
    except ValueError as error:  # not valid, or a number of thousands of digits
        raise ConfigError(f"{path}: is not valid TOML: {error}") from error


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """Return the layer of all variables `APP__SECTION__KEY`; raise ConfigError for a wrong key."""
    table: dict[str, Any] = {}
    for name in sorted(environment):
        if not name.startswith(ENV_PREFIX):
            continue
        *sections, key = name[len(ENV_PREFIX) :].lower().split("__")
        place = table
        for part in sections:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ConfigError(f"environment: {name}: {part} is a value, not a section")
        place[key] = environment[name]
    return Layer("environment", table, is_text=True)


def _merged(current: Any, table: Mapping[str, Any], layer: Layer, prefix: str) -> Any:
    """Return the section with the values of one layer's table."""
    fields = {item.name: item for item in dataclasses.fields(current)}
    hints = typing.get_type_hints(type(current))

    def changed(key: str, found: Any) -> tuple[str, Any]:
        name = f"{prefix}{key}"
        if key not in fields:
            raise _unknown_key(layer, name, key, tuple(fields))
        before = getattr(current, key)
        if not dataclasses.is_dataclass(before):
            value = _value(hints[key], found, layer, name)
            _check_bounds(fields[key].metadata, value, layer, name)
            return key, value
        if not isinstance(found, Mapping):
            raise _wrong(layer, name, found, "a table")
        return key, _merged(before, found, layer, f"{name}.")

    changes = every(partial(changed, key, found) for key, found in table.items())
    return dataclasses.replace(current, **dict(changes))


def _unknown_key(layer: Layer, name: str, key: str, known: tuple[str, ...]) -> ConfigError:
    import difflib  # noqa: PLC0415 - only for a mistake

    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
    return ConfigError(f"{layer.origin}: unknown key {_shown(name)}; {hint}")


def _wrong(layer: Layer, name: str, found: Any, allowed: str) -> ConfigError:
    is_secret = re.sub(r"\[\d+\]$", "", name).rpartition(".")[2] in SECRET_KEYS
    shown = SECRET if is_secret else _shown(found)
    return ConfigError(f"{layer.origin}: {name} is {shown}, but must be {allowed}")


def _shown(found: Any) -> str:
    """Return a wrong value on one line, shortened, without secrets."""
    text = masked(found if isinstance(found, str) else repr(found))
    return json.dumps(text[:80], ensure_ascii=True)


def _value(hint: Any, found: Any, layer: Layer, name: str) -> Any:
    """Return the value in the type of the field; raise ConfigError."""
    origin = typing.get_origin(hint)
    if origin is tuple:
        return _list(typing.get_args(hint)[0], found, layer, name)
    if origin is not None and issubclass(origin, Mapping):
        return _text_table(found, layer, name)
    if dataclasses.is_dataclass(hint):
        if not isinstance(found, Mapping):
            raise _wrong(layer, name, found, "a table")
        return _merged(typing.cast("Any", hint)(), found, layer, f"{name}.")
    plain = _from_text(hint, found) if layer.is_text else found
    return _scalar(hint, plain, layer, name)


def _scalar(hint: Any, found: Any, layer: Layer, name: str) -> Any:
    if hint in (int, float) and type(found) is int and abs(found) > MAX_NUMBER:
        raise _wrong(layer, name, "a number of many digits", f"at most {MAX_NUMBER}")
    if hint is float and type(found) is int:
        return float(found)
    if type(found) is not hint:
        raise _wrong(layer, name, found, TYPE_NAMES[hint])
    if isinstance(found, str) and "\0" in found:
        raise _wrong(layer, name, found, "a text without NUL")
    return found


def _from_text(hint: Any, text: Any) -> Any:
    """Return a text of the environment in the type of its field; unchanged if it does not fit."""
    if not isinstance(text, str) or hint is str:
        return text
    if hint is bool:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    try:
        return hint(text)
    except ValueError:
        return text


def _list(kind: Any, found: Any, layer: Layer, name: str) -> tuple[Any, ...]:
    items = _split(found, layer, name) if layer.is_text else found
    if not isinstance(items, list):
        raise _wrong(layer, name, found, "a list")
    element_layer = dataclasses.replace(layer, is_text=False)
    return tuple(
        every(
            partial(_value, kind, item, element_layer, f"{name}[{position}]")
            for position, item in enumerate(items)
        )
    )


def _split(text: Any, layer: Layer, name: str) -> Any:
    """Return a list from the environment: a TOML array, or words between commas."""
    if not isinstance(text, str):
        return text
    if not text.strip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return tomllib.loads(f"list = {text}")["list"]
    except (ValueError, RecursionError) as error:
        raise _wrong(layer, name, text, "a TOML array or words between commas") from error


def _text_table(found: Any, layer: Layer, name: str) -> Mapping[str, str]:
    if not isinstance(found, Mapping) or not all(isinstance(item, str) for item in found.values()):
        raise ConfigError(f"{layer.origin}: {name} must be a table of texts")
    return types.MappingProxyType(dict(found))


def _check_bounds(bounds: Mapping[str, Any], found: Any, layer: Layer, name: str) -> None:
    if bounds.get("are_patterns"):
        _check_patterns(found, layer, name)
    if bounds.get("each_like"):
        _check_names(bounds["each_like"], found, layer, name)
    one_of = bounds.get("one_of") or ()
    for place, word in _by_place(found, name).items():
        if one_of and word not in one_of:
            raise _wrong(layer, place, word, "one of " + ", ".join(one_of))
    if bounds.get("is_duration") and not parse_duration(found):
        raise _wrong(layer, name, found, ALLOWED_DURATION)
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        _check_number(bounds, found, layer, name)


def _by_place(found: Any, name: str) -> Mapping[str, Any]:
    """Return the items of a list or table by where they are (faults.off[1]), or a single value."""
    if isinstance(found, Mapping):
        return {f"{name}.{key}": item for key, item in found.items()}
    if isinstance(found, tuple):
        return {f"{name}[{position}]": item for position, item in enumerate(found)}
    return {name: found}


def _check_number(bounds: Mapping[str, Any], found: float, layer: Layer, name: str) -> None:
    lowest, highest = bounds.get("at_least"), bounds.get("at_most")
    if not math.isfinite(found):
        raise _wrong(layer, name, found, "a finite number")
    if lowest is not None and found < lowest:
        raise _wrong(layer, name, found, f"at least {lowest:g}")
    if highest is not None and found > highest:
        raise _wrong(layer, name, found, f"at most {highest:g}")


def _check_names(wanted: tuple[str, str], found: Any, layer: Layer, name: str) -> None:
    like, allowed = wanted
    names = _by_place(found, name)
    if len(names) > MAX_NAMES:
        raise _wrong(layer, name, f"a list of {len(names)}", f"at most {MAX_NAMES} names")
    for place, word in names.items():
        if not re.fullmatch(like, word, re.ASCII):
            raise _wrong(layer, place, word, allowed)


def _check_patterns(found: Any, layer: Layer, name: str) -> None:
    """Raise ConfigError unless patterns are short and can match a name."""
    for position, pattern in enumerate(found):
        is_short = 0 < len(pattern) <= MAX_PATTERN_CHARS
        if not is_short or not pattern.isprintable() or pattern.count("[") > pattern.count("]"):
            allowed = "a name of at most 128 characters in which * ? [ab] stand for others"
            raise _wrong(layer, f"{name}[{position}]", pattern, allowed)
