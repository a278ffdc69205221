"""TOML parsing, by the standard library or tomli (Python 3.10), and the package's own files.

Parsing these files takes 50 ms at each start, so the build of the package adds a compiled file
beside each (`setup.py`): marshal of the hash of the TOML file and of its table.
"""

import marshal
import sys
from importlib.util import source_hash
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["COMPILED", "PACKAGE", "parsed", "read_shipped", "tomllib"]

COMPILED = ".tomlc"
PACKAGE = Path(__file__).parent


def read_shipped(path: Path) -> dict[str, Any]:
    """Return the table of a TOML file of this package; raise OSError or ValueError."""
    return parsed(path.read_bytes(), path)


def parsed(raw: bytes, path: Path, package: Path = PACKAGE) -> dict[str, Any]:
    """Return the table of these bytes of a TOML file.

    A file of the package is not parsed if its compiled file has the hash of these bytes. Raises
    ValueError for invalid TOML, and RecursionError for too deep nesting.
    """
    if package in path.parents:
        try:
            known, table = marshal.loads(path.with_suffix(COMPILED).read_bytes())  # noqa: S302 - a file of the package, as .pyc files are
            if known == source_hash(raw):
                return dict(table)
        except (OSError, ValueError, TypeError, EOFError):
            pass  # a source tree has none: the TOML file counts
    return tomllib.loads(raw.decode())
