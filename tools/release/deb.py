"""Builds the Debian package: an environment in /opt, the unit, an empty configuration."""

import argparse
import shutil
import subprocess
from pathlib import Path

from tools.release.source import ROOT

HOME = "opt/hw-exporter"
UNIT = "hw-exporter.service"
CONTROL = """\
Package: hw-exporter
Version: {version}
Architecture: {architecture}
Section: net
Priority: optional
Maintainer: hw-exporter contributors <maintainers@hw-exporter.invalid>
Depends: python3 (>= {python}), python3 (<< {next_python}), libc6
Description: Prometheus exporter for NVIDIA GPU and CPU nodes
 Says what the hardware of a node is, how it is doing, what is broken and why:
 hw_ metrics for Prometheus, JSON for programs, a page for people.
"""
PREINST = """\
#!/bin/sh
set -e
python=$(/usr/bin/python3 -I -c 'import sys; print("%d.%d" % sys.version_info[:2])' || true)
if [ "$1" != abort-upgrade ] && [ -n "$python" ] && [ "$python" != {python} ]; then
  echo "hw-exporter: this package needs Python {python}, and /usr/bin/python3 is $python:" \
    "build the package on this release of the distribution" >&2
  exit 1
fi
"""
POSTINST = """\
#!/bin/sh
set -e
case "$1" in configure | abort-*) ;; *) exit 0 ;; esac
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} hw-exporter.conf
fi
if deb-systemd-helper --quiet was-enabled hw-exporter.service; then
  deb-systemd-helper enable hw-exporter.service >/dev/null
else
  deb-systemd-helper update-state hw-exporter.service >/dev/null
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  case "$1$2" in configure?*) action=restart ;; *) action=start ;; esac
  deb-systemd-invoke "$action" hw-exporter.service >/dev/null || true
fi
"""
PRERM = """\
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop hw-exporter.service >/dev/null
fi
"""
POSTRM = """\
#!/bin/sh
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then
  deb-systemd-helper purge hw-exporter.service >/dev/null
  rm -rf "$DPKG_ROOT/var/lib/private/hw-exporter" "$DPKG_ROOT/var/lib/hw-exporter"
fi
"""


def build(wheel: Path, target: Path, version: str) -> Path:
    """Build the package from a wheel; its Python packages are those of the lock file."""
    tree = target / "deb"
    shutil.rmtree(tree, ignore_errors=True)
    _environment(tree / HOME, wheel)
    return pack(tree, target, version)


def pack(tree: Path, target: Path, version: str) -> Path:
    """Add the unit, its user, the configuration and the scripts to a tree, and pack it."""
    _install(ROOT / "deploy/systemd" / UNIT, tree / "usr/lib/systemd/system")
    _install(ROOT / "deploy/systemd/sysusers.conf", tree / "usr/lib/sysusers.d", "hw-exporter.conf")
    _install(ROOT / "deploy/systemd/ebpf.conf", tree / "usr/share/doc/hw-exporter")
    _install(ROOT / "config/default.toml", tree / "usr/share/doc/hw-exporter")
    _install(ROOT / "LICENSE", tree / "usr/share/doc/hw-exporter", "copyright")
    settings = tree / "etc/hw-exporter/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("# Only what differs: /usr/share/doc/hw-exporter/default.toml\n")
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/hw-exporter").symlink_to(f"/{HOME}/bin/hw-exporter")
    _control(tree / "DEBIAN", version)
    package = target / "dist" / f"hw-exporter_{version}_{_architecture()}.deb"
    package.parent.mkdir(parents=True, exist_ok=True)
    words = ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(package)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return package


def _environment(place: Path, wheel: Path) -> None:
    """Make the environment and let its scripts name the place where it will lie."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", str(place)], check=True)
    pip = [str(place / "bin/python"), "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "--no-compile"]
    lock = [
        "--require-hashes",
        "--only-binary",
        ":all:",
        "-r",
        str(ROOT / "deploy/requirements.lock"),
    ]
    subprocess.run([*pip, *lock], check=True)
    subprocess.run([*pip, "--no-deps", str(wheel)], check=True)
    remove = [*pip[:3], "uninstall", "--quiet", "--yes", "setuptools", "pip"]
    subprocess.run(remove, check=True, stderr=subprocess.DEVNULL)
    for script in sorted((place / "bin").iterdir()):
        if script.name.lower().startswith("activate"):
            script.unlink()
        elif not script.is_symlink():
            text = script.read_bytes()
            script.write_bytes(text.replace(str(place).encode(), f"/{HOME}".encode()))
    (place / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {_python()}\n"
    )
    for cache in sorted(place.rglob("__pycache__")):
        shutil.rmtree(cache)
    # The service may not write: what is not compiled here would be compiled at each start.
    compiled = ["/usr/bin/python3", "-m", "compileall", "-q", "--invalidation-mode=unchecked-hash"]
    subprocess.run([*compiled, "-s", str(place), "-p", f"/{HOME}", str(place / "lib")], check=True)


def _install(source: Path, folder: Path, name: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, folder / (name or source.name))
    (folder / (name or source.name)).chmod(0o644)


def _control(folder: Path, version: str) -> None:
    folder.mkdir(parents=True)
    major, minor = _python().split(".")[:2]
    text = CONTROL.format(
        version=version,
        architecture=_architecture(),
        python=f"{major}.{minor}",
        next_python=f"{major}.{int(minor) + 1}",
    )
    (folder / "control").write_text(text)
    (folder / "conffiles").write_text("/etc/hw-exporter/config.toml\n")
    preinst = PREINST.format(python=f"{major}.{minor}")
    scripts = {"preinst": preinst, "postinst": POSTINST, "prerm": PRERM, "postrm": POSTRM}
    for name, script in scripts.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)


def _python() -> str:
    """Tell the version of the system's Python, which the environment is bound to."""
    code = "import platform; print(platform.python_version())"
    asked = ["/usr/bin/python3", "-I", "-c", code]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def _architecture() -> str:
    words = ["dpkg", "--print-architecture"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="the wheel of this version")
    parser.add_argument("folder", type=Path, help="where the package is built")
    args = parser.parse_args()
    build(args.wheel, args.folder, (ROOT / "VERSION").read_text().strip())
