"""Fixtures that put the fakes into a test's hands."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.fuse import NoFuse, StuckFiles
from tests.fakes.native import NoCompiler, build_nvml, build_smi
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi


@pytest.fixture(scope="session")
def nvml_library_dir() -> Path:
    """The folder with the fake libnvidia-ml.so.1."""
    return built(build_nvml)


@pytest.fixture
def nvml(nvml_library_dir: Path, tmp_path: Path) -> NvmlLibrary:
    """A fake NVML with no card yet: `nvml.say(...)` describes them."""
    folder = tmp_path / "nvml"
    folder.mkdir()
    return NvmlLibrary(nvml_library_dir, folder)


@pytest.fixture(scope="session")
def nvidia_smi_dir() -> Path:
    """The folder with the fake program nvidia-smi, built but without a scenario."""
    return built(build_smi)


@pytest.fixture
def nvidia_smi(nvidia_smi_dir: Path, tmp_path: Path) -> NvidiaSmi:
    """A fake nvidia-smi that knows no card yet: `nvidia_smi.say(...)` describes them."""
    folder = tmp_path / "nvidia-smi-bin"
    folder.mkdir()
    return NvidiaSmi(nvidia_smi_dir, folder)


@pytest.fixture
def stuck_files(tmp_path: Path) -> Iterator[StuckFiles]:
    """A directory of files that hang in the kernel or fail; skipped where FUSE is missing."""
    folder = tmp_path / "stuck"
    folder.mkdir()
    try:
        files = StuckFiles(folder)
    except NoFuse as reason:
        pytest.skip(str(reason))
    yield files
    files.close()


def built(build: Callable[[], Path]) -> Path:
    """The folder of a fake; the test is skipped where it cannot be built."""
    try:
        return build()
    except NoCompiler as reason:
        pytest.skip(str(reason))
