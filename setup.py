"""The steps of the build that `pyproject.toml` cannot say: TOML files, and the version."""

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
    """Builds the package with its version, and a compiled file beside each TOML file.

    `exporter/identity.py` and `exporter/toml.py` read them: to import what finds the version of an
    installed package takes 10 ms and 0.7 MiB at each start, to parse the files 50 ms.
    """

    def run(self) -> None:
        """Build, and add these files to what was built."""
        super().run()
        package = Path(self.build_lib, "exporter")
        if package.is_dir():  # an editable installation reads the files of the checkout
            (package / "VERSION").write_text(f"{self.distribution.get_version()}\n")
        for old in Path(self.build_lib).rglob("*.tomlc"):
            old.unlink()
        for path in Path(self.build_lib).rglob("*.toml") if tomllib else ():
            if "assets" in path.parts:  # copied for operators, never loaded
                continue
            raw = path.read_bytes()
            table = marshal.dumps((source_hash(raw), tomllib.loads(raw.decode())), 4)
            path.with_suffix(".tomlc").write_bytes(table)


setup(cmdclass={"build_py": BuildPy})
