"""Fixtures that put the fakes into a test's hands."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.native import NoCompiler, build_nvml
from tests.fakes.nvml_library import NvmlLibrary


@pytest.fixture(scope="session")
def nvml_library_dir() -> Path:
    """The folder with the fake libnvidia-ml.so.1."""
    return _built(build_nvml)


@pytest.fixture
def nvml(nvml_library_dir: Path, tmp_path: Path) -> NvmlLibrary:
    """A fake NVML with no card yet: `nvml.say(...)` describes them."""
    folder = tmp_path / "nvml"
    folder.mkdir()
    return NvmlLibrary(nvml_library_dir, folder)


def _built(build: Callable[[], Path]) -> Path:
    try:
        return build()
    except NoCompiler as reason:
        pytest.skip(str(reason))
