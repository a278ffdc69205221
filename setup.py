"""The one step of the build that `pyproject.toml` cannot say: TOML files are compiled."""

import marshal
from importlib.util import source_hash
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    import tomllib
except ImportError:  # Python 3.10: the files are parsed at each start
    tomllib = None


class BuildPy(build_py):
    """Builds the package with a compiled file beside each TOML file (`exporter/toml.py`)."""

    def run(self) -> None:
        """Build, and compile what was built."""
        super().run()
        for old in Path(self.build_lib).rglob("*.tomlc"):
            old.unlink()
        for path in Path(self.build_lib).rglob("*.toml") if tomllib else ():
            if "assets" in path.parts:  # copied for operators, never loaded
                continue
            raw = path.read_bytes()
            table = marshal.dumps((source_hash(raw), tomllib.loads(raw.decode())), 4)
            path.with_suffix(".tomlc").write_bytes(table)


setup(cmdclass={"build_py": BuildPy})
