"""Fixtures that put the fakes, and what many tests need, into a test's hands."""

import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from exporter.probes.child import Children
from tests.fakes.fuse import NoFuse, StuckFiles
from tests.fakes.kmsg import KernelLog
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


@pytest.fixture
def kernel_log(tmp_path: Path) -> Iterator[KernelLog]:
    """A kernel log of the test's own."""
    log = KernelLog(tmp_path / "kmsg")
    yield log
    log.close()


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    """All children of a test, ended with it."""
    started = Children()
    yield started
    await started.end_all()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a short name: the address of a socket has 108 bytes."""
    with tempfile.TemporaryDirectory(prefix="hw-") as name:
        yield Path(name)


def built(build: Callable[[], Path]) -> Path:
    """The folder of a fake; the test is skipped where it cannot be built."""
    try:
        return build()
    except NoCompiler as reason:
        pytest.skip(str(reason))
