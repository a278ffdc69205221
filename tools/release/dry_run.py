"""Builds and checks everything that a tag publishes, and says what that would be."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.release import deb
from tools.release.source import ROOT, export

BUILD = ROOT / "build/release"
DIST = BUILD / "dist"
CHART = ROOT / "deploy/helm/hw-exporter"
LOCK = ROOT / "deploy/requirements.lock"
SBOM = ROOT / "build/hw-exporter.cdx.json"
INSIDE = (
    "dashboards/hw-node.json",
    "prometheus/alerts.yml",
    "runbooks/gpu_presence.md",
    "kubernetes/kustomization.yaml",
)
"""What `hw-exporter assets DIR` writes out of the wheel, one file of each kind."""
ARM = ("--platform", "manylinux_2_28_aarch64", "--platform", "manylinux2014_aarch64")


def packages(version: str) -> Iterator[str]:
    """Wheel and sdist, checked as the package index checks them and tried where nothing else is."""
    source = export(BUILD / "source")
    _run(sys.executable, "-m", "build", "--outdir", str(DIST), str(source))
    found = [
        DIST / f"hw_exporter-{version}-py3-none-any.whl",
        DIST / f"hw_exporter-{version}.tar.gz",
    ]
    _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, found))
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        program = str(Path(folder, "bin/hw-exporter"))
        _run(str(Path(folder, "bin/python")), "-m", "pip", "install", "--quiet", str(found[0]))
        reported = _run(program, "--version", cwd=folder)
        if version not in reported:
            raise SystemExit(f"the wheel says {reported.strip()!r}, not {version}")
        _run(program, "rules", "check", cwd=folder)
        _run(program, "assets", "assets", cwd=folder)
        missing = [name for name in INSIDE if not Path(folder, "assets", name).is_file()]
        if missing:
            raise SystemExit(f"the wheel lacks {', '.join(missing)}")
    for path in found:
        yield f"{path.name}: to the package index"


def debian(version: str) -> Iterator[str]:
    """Yield the package for the Debian of this machine."""
    if shutil.which("dpkg-deb") is None:
        yield "deb: NOT built, dpkg-deb is missing"
        return
    package = deb.build(DIST / f"hw_exporter-{version}-py3-none-any.whl", BUILD, version)
    _run("dpkg-deb", "--contents", str(package))
    yield f"{package.name}: attached to the release"


def chart(version: str) -> Iterator[str]:
    """Yield the chart, linted with every profile."""
    if shutil.which("helm") is None:
        yield "chart: NOT built, helm is missing"
        return
    for profile in ("minimal", "standard", "full"):
        _run("helm", "lint", "--strict", "--quiet", str(CHART), "--set", f"profile={profile}")
    _run("helm", "package", str(CHART), "--destination", str(DIST))
    yield f"hw-exporter-{version}.tgz: pushed beside the image, with the image's name in it"


def parts(version: str) -> Iterator[str]:
    """Yield the list of what the image is made of."""
    _run("make", "sbom")
    listed = {item["name"] for item in json.loads(SBOM.read_text())["components"]}
    pinned = set(re.findall(r"^(\S+?)==", LOCK.read_text(), re.MULTILINE))
    if {name.replace("_", "-") for name in listed} != pinned:
        raise SystemExit(f"the bill of materials lists {listed}, the lock {pinned}")
    shutil.copyfile(SBOM, DIST / f"hw-exporter-{version}.cdx.json")
    yield f"hw-exporter-{version}.cdx.json: attached to the release"


def image(version: str) -> Iterator[str]:
    """Build the image for this processor; ask whether arm64 has a wheel of every package."""
    name = (ROOT / "deploy/IMAGE").read_text().strip()
    yield f"{name}:{version}: linux/amd64 and linux/arm64, signed, with provenance"
    built = subprocess.run(["make", "image"], cwd=ROOT, capture_output=True, text=True, check=False)
    if built.returncode:
        why = (built.stdout + built.stderr).strip().splitlines()[-2:]
        yield f"  this processor: NOT built here, `make image` says {' / '.join(why)[:300]}"
    else:
        yield "  this processor: built"
    with tempfile.TemporaryDirectory() as folder:
        lock = ("--require-hashes", "-r", str(LOCK))
        only = ("--only-binary", ":all:", "--python-version", "3.12", "--dest", folder)
        words = ("-m", "pip", "download", "--quiet", "--disable-pip-version-check")
        _run(sys.executable, *words, *only, *ARM, *lock)
    yield "  arm64: every locked package has a wheel; the image itself is built by the workflow"


STEPS: tuple[Callable[[str], Iterator[str]], ...] = (packages, debian, chart, parts, image)


def main() -> int:
    """Build all; print what would be published."""
    version = (ROOT / "VERSION").read_text("utf-8").strip()
    shutil.rmtree(BUILD, ignore_errors=True)
    DIST.mkdir(parents=True)
    lines = [line for step in STEPS for line in step(version)]
    sys.stdout.write("\n".join([f"The tag v{version} would publish:", *lines]) + "\n")
    return 0


def _run(*words: str, cwd: str | None = None) -> str:
    """Run one step; end with its output when it fails."""
    done = subprocess.run(words, cwd=cwd or ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.exit(main())
