"""Builds the image for the tests, from a base that is made here once and kept."""

import atexit
import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.fakes import container
from tests.program import ROOT

CACHE = ROOT / ".cache/image"
BASE = "localhost/hw-exporter-test-base"
IMAGE = "localhost/hw-exporter-test"
CONTAINER = "hw-exporter-test-"
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)
"""The same for all processes of a run of the tests."""
BUILT_BY = CACHE / "built-by"
"""Holds the last run that has built the image: its first process does, of the same tree."""
PACKAGES = (
    *("base-files", "coreutils", "dash", "python3-venv", "util-linux"),
    *("diffutils", "dpkg", "libc-bin"),  # to install our own package
)
CERTIFICATES = ("/etc/ssl/certs", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates")


class NoImageError(Exception):
    """The image cannot be built here; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its root filesystem, laid out, and what it says about itself."""

    root: Path
    config: Mapping[str, object]

    def environment(self) -> dict[str, str]:
        """The variables that the image sets."""
        listed = self.config["Env"]
        assert isinstance(listed, list)
        return dict(item.split("=", 1) for item in listed)

    def words(self, key: str) -> tuple[str, ...]:
        """A list of words of the image's settings."""
        listed = self.config[key]
        assert isinstance(listed, list)
        return tuple(listed)


@cache
def built() -> Image:
    """The image of this working tree, built by the first process that asks; raises NoImageError."""
    with _alone():
        return _build()


@contextmanager
def _alone() -> Iterator[None]:
    """Wait for the other processes of the run: they share one store."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build() -> Image:
    reason = container.why_not()
    if reason is None and shutil.which("buildah") is None:
        reason = "buildah not installed"
    if reason is not None:
        raise NoImageError(reason)
    if not BUILT_BY.exists() or BUILT_BY.read_text() != RUN:
        _build_from_tree()
        BUILT_BY.write_text(RUN)
    description = json.loads(_buildah("inspect", "--type=image", IMAGE).stdout)
    return Image(_laid_out(), description["Docker"]["config"])


def _build_from_tree() -> None:
    if _buildah("images", "--quiet", BASE, check=False).returncode != 0:
        _make_base()
    volumes = [f"--volume={path}:{path}:ro" for path in CERTIFICATES if Path(path).is_dir()]
    version = (ROOT / "VERSION").read_text().strip()
    _buildah(
        *("build", "--layers", f"--build-arg=BASE={BASE}", f"--build-arg=VERSION={version}"),
        *(*volumes, f"--tag={IMAGE}", str(ROOT)),
    )


def _make_base() -> None:
    """Lay out packages of this machine's Debian without configuring them, which takes a minute."""
    if shutil.which("apt-get") is None:
        raise NoImageError("apt-get not installed")
    with tempfile.TemporaryDirectory() as archives:
        asked = _run("apt-cache", "depends", "--recurse", "--important", *PACKAGES, cwd=archives)
        needed = re.findall(r"^(?!(?:lib)?perl)\w\S*", asked, re.MULTILINE)
        _run("apt-get", "download", *needed, cwd=archives)
        name = _buildah("from", "scratch").stdout.strip()
        tree = Path(_buildah("mount", name).stdout.strip())
        for folder in ("bin", "sbin", "lib", "lib64"):
            (tree / "usr" / folder).mkdir(parents=True, exist_ok=True)
            (tree / folder).symlink_to(f"usr/{folder}")
        installed = []
        for archive in Path(archives).iterdir():
            _run("dpkg-deb", "--extract", str(archive), str(tree))
            installed.append(
                "Status: install ok installed\n" + _run("dpkg-deb", "--field", str(archive))
            )
        (tree / "var/lib/dpkg/status").write_text("\n".join(installed))
        (tree / "var/run").rmdir()
        (tree / "var/run").symlink_to("/run")  # as base-files does where it is configured
        # Nobody may write what Python compiles: each start would compile it again.
        compiled = "import compileall, os; compileall.compile_dir(os.path.dirname(os.__file__))"
        _run("chroot", str(tree), "python3", "-c", compiled)
    _buildah("commit", "--quiet", "--rm", name, BASE)


def _run(*command: str, cwd: str = "/") -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    if done.returncode != 0:
        raise NoImageError(f"{command[0]}: {done.stderr[-200:]}")
    return done.stdout


def _laid_out() -> Path:
    """The image's files in a folder, of a container that is named after this process."""
    for name in json.loads(_buildah("containers", "--json").stdout) or ():
        left_by = name["containername"].removeprefix(CONTAINER)
        if left_by.isdigit() and not Path("/proc", left_by).exists():
            _buildah("rm", name["containername"], check=False)
    own = f"{CONTAINER}{os.getpid()}"
    _buildah("from", "--pull-never", "--name", own, IMAGE)
    # A mount that stays would keep the folder from being removed.
    atexit.register(_buildah, "rm", own, check=False)
    return Path(_buildah("mount", own).stdout.strip())


def bytes_over_base() -> int:
    """How much larger the image, once it is built, is than its base."""
    with _alone():
        return _size(IMAGE) - _size(BASE)


def _size(name: str) -> int:
    listed = json.loads(_buildah("images", "--json", name).stdout)
    mounted = _buildah("from", "--pull-never", listed[0]["id"]).stdout.strip()
    folder = _buildah("mount", mounted).stdout.strip()
    used = subprocess.run(["du", "-sk", folder], capture_output=True, text=True, check=True)
    _buildah("rm", mounted)
    return int(used.stdout.split()[0]) * 1024


def _buildah(*arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    stores = (f"--root={CACHE}/store", f"--runroot={CACHE}/run")
    environment = {**os.environ, "BUILDAH_ISOLATION": "chroot", "BUILDAH_FORMAT": "docker"}
    done = subprocess.run(
        ["buildah", *stores, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"buildah {arguments[0]}: {(done.stdout + done.stderr)[-3000:]}")
    return done
