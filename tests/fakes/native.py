"""Builds the fakes that are written in C, once per content of their sources."""

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parent.parent / ".cache" / "fakes"
FLAGS = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror")
LIBRARY = "libnvidia-ml.so.1"
PROGRAM = "nvidia-smi"
CUDART = "libcudart.so.12"
NCCL = "libnccl.so.2"
TORCH = "libtorch_cpu.so"


class NoCompiler(Exception):
    """No C compiler is on this machine; the message says what was looked for."""


def compiler() -> tuple[str, ...]:
    """The command of a C compiler: $CC, cc, gcc, clang, or the one of the ziglang package."""
    named = os.environ.get("CC")
    if named:
        return tuple(shlex.split(named))
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path:
            return (path,)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "cc")
    raise NoCompiler("no cc, gcc or clang in PATH, and the package ziglang is not installed")


def build_nvml(missing: Sequence[str] = ()) -> Path:
    """The directory with a fake libnvidia-ml.so.1 that lacks the functions named `missing`."""
    renamed = tuple(f"-D{name}=absent_{name}" for name in missing)
    flags = (*FLAGS, "-fPIC", "-shared", "-fvisibility=hidden", *renamed)
    return _build(LIBRARY, ("scenario", "nvml"), flags)


def build_smi() -> Path:
    """The directory with a fake program nvidia-smi."""
    return _build(PROGRAM, ("scenario", "smi"), FLAGS)


def build_crash() -> Path:
    """The directory with a program that crashes under any name."""
    return _build("crash", ("crash",), FLAGS)


def build_torch() -> Path:
    """The directory with a fake libtorch_cpu.so that has a few operators."""
    return _build(TORCH, ("torch",), (*FLAGS, "-fPIC", "-shared"))


def build_cudart() -> Path:
    """The directory with a fake libcudart.so.12 whose calls take as long as they are told."""
    return _build(CUDART, ("cudart",), (*FLAGS, "-fPIC", "-shared"))


def build_nccl() -> Path:
    """The directory with a fake libnccl.so.2 whose ranks meet in shared memory."""
    return _build(NCCL, ("nccl",), (*FLAGS, "-fPIC", "-shared"))


def build_calls() -> Path:
    """The directory with a program that calls a fake libcudart, and times its calls."""
    return _build("calls", ("calls",), FLAGS)


def build_ranks() -> Path:
    """The directory with a program that is one rank of a job over a fake libnccl."""
    return _build("ranks", ("ranks",), FLAGS)


def build_xid() -> Path:
    """The directory with a program that calls a function for each Xid on its standard input."""
    return _build("xid", ("xid",), FLAGS)


def _build(name: str, folders: Sequence[str], flags: Sequence[str]) -> Path:
    sources = sorted(path for folder in folders for path in (HERE / folder).glob("*.c"))
    headers = sorted(path for folder in folders for path in (HERE / folder).glob("*.h"))
    target = CACHE / fingerprint((*sources, *headers), (*compiler(), *flags))
    if not (target / name).exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        _compile(sources, flags, target / name)
    return target


def fingerprint(files: Sequence[Path], command: Sequence[str]) -> str:
    """Return a name for what the command makes of the files."""
    content = hashlib.sha256("\0".join(command).encode())
    for file in files:
        content.update(file.name.encode())
        content.update(file.read_bytes())
    return content.hexdigest()[:20]


def _compile(sources: Sequence[Path], flags: Sequence[str], target: Path) -> None:
    """Compile beside the target and move it there, so that two runs cannot meet half a file."""
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / target.name
        command = [*compiler(), *flags, *map(str, sources), "-o", str(made), "-lpthread", "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"a fake does not compile: {shlex.join(command)}\n{done.stderr}")
        made.replace(target)
