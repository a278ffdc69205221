"""The steps of the build that `pyproject.toml` cannot say: TOML files, and the version."""

import runpy
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CAN_PARSE = sys.version_info >= (3, 11)
"""Python 3.10 has no tomllib: the files are parsed at each start."""


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
        compiler = runpy.run_path("exporter/toml.py") if CAN_PARSE else {}
        for path in Path(self.build_lib).rglob("*.toml") if compiler else ():
            if "assets" in path.parts:  # copied for operators, never loaded
                continue
            raw = path.read_bytes()
            table = compiler["tomllib"].loads(raw.decode())
            path.with_suffix(".tomlc").write_bytes(compiler["compiled_from"](raw, table))


setup(cmdclass={"build_py": BuildPy})
