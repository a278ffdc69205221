"""TOML parsing, by the standard library or tomli (Python 3.10), and the package's own files.

Parsing these files takes 50 ms at each start, so each has a compiled file: marshal of the hash of
the TOML file and of its table. The build of the package adds it beside the file (`setup.py`); in a
checkout the first start writes it to `__pycache__`, as Python does with modules.
"""

import marshal
import os
import sys
from contextlib import suppress
from importlib.util import source_hash
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["COMPILED", "PACKAGE", "compiled_from", "parsed", "read_shipped", "tomllib"]

COMPILED = ".tomlc"
PACKAGE = Path(__file__).parent


def read_shipped(path: Path) -> dict[str, Any]:
    """Return the table of a TOML file of this package; raise OSError or ValueError."""
    return parsed(path.read_bytes(), path)


def parsed(raw: bytes, path: Path, package: Path = PACKAGE) -> dict[str, Any]:
    """Return the table of these bytes of a TOML file.

    A file of the package is not parsed if a compiled file has the hash of these bytes. Raises
    ValueError for invalid TOML, and RecursionError for too deep nesting.
    """
    if package not in path.parents:
        return tomllib.loads(raw.decode())
    own = path.parent / "__pycache__" / f"{path.stem}{COMPILED}"
    for compiled in (path.with_suffix(COMPILED), own):
        with suppress(OSError, ValueError, TypeError, EOFError):  # not there, or cut off
            known, table = marshal.loads(compiled.read_bytes())  # noqa: S302 - a file of the package, as .pyc files are
            if known == source_hash(raw):
                return dict(table)
    found = tomllib.loads(raw.decode())
    if not sys.dont_write_bytecode:
        _write(compiled_from(raw, found), own)
    return found


def compiled_from(raw: bytes, table: dict[str, Any]) -> bytes:
    """Return the content of the compiled file for these bytes of a TOML file and their table."""
    return marshal.dumps((source_hash(raw), _with_shared_words(table)), 4)


def _with_shared_words(value: Any) -> Any:
    """Return the value with words interned: marshal restores each as one object for all files.

    Python's compiler does so for constants that look like names.
    """
    if isinstance(value, dict):
        return {_with_shared_words(key): _with_shared_words(it) for key, it in value.items()}
    if isinstance(value, list):
        return [_with_shared_words(it) for it in value]
    return sys.intern(value) if isinstance(value, str) and value.isidentifier() else value


def _write(compiled: bytes, path: Path) -> None:
    """Write a compiled file, unless the package cannot be written: then it is parsed each time."""
    whole = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        whole.write_bytes(compiled)
        whole.replace(path)
