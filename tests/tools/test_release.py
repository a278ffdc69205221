"""What a tag publishes: a README that stands alone, a wheel with all it needs, a Debian package."""

import marshal
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.util import source_hash
from pathlib import Path

import pytest
import yaml

from exporter.toml import COMPILED, parsed
from tests.fakes.image import NoImageError, built
from tests.fakes.manifests import ROOT
from tools.release import deb
from tools.release.source import repository, standalone

pytestmark = pytest.mark.system

HOME = "https://example.org/it"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
VERSION = (ROOT / "VERSION").read_text().strip()


def test_links_are_absolute() -> None:
    """Pages and pictures are found from anywhere; anchors and addresses stay."""
    text = "[a](docs/a.md) ![b](docs/b.png) [c](#c) [d](https://example.org/d)"
    assert standalone(text, HOME) == (
        f"[a]({HOME}/blob/main/docs/a.md) ![b]({HOME}/raw/main/docs/b.png)"
        " [c](#c) [d](https://example.org/d)"
    )


def test_the_readme_has_no_link_that_breaks_elsewhere() -> None:
    """Every link of the published README is absolute or within the page."""
    text = standalone((ROOT / "README.md").read_text(), repository())
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) > 10
    assert not [link for link in links if not link.startswith(("https://", "#"))]


def test_the_image_has_one_name() -> None:
    """Manifests, chart and Makefile name the image as deploy/IMAGE does."""
    name = (ROOT / "deploy/IMAGE").read_text().strip()
    values = yaml.safe_load((ROOT / "deploy/helm/hw-exporter/values.yaml").read_text())
    base = yaml.safe_load((ROOT / "deploy/kubernetes/base/kustomization.yaml").read_text())
    assert values["image"]["repository"] == name
    assert [image["name"] for image in base["images"]] == [name]
    assert "IMAGE ?= $(shell cat deploy/IMAGE)" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_targets_that_there_are(path: Path) -> None:
    """Every `make` of a workflow is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = set(re.findall(r"\bmake ([a-z-]+)", path.read_text()))
    assert used
    assert used <= targets


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_workflows_are_valid() -> None:
    """`actionlint` finds nothing."""
    done = subprocess.run(
        ["actionlint", *map(str, WORKFLOWS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this working tree."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*words, str(folder), str(ROOT)], check=True)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_has_everything(wheel: Path) -> None:
    """Rules, runbooks, dashboards, alerts, manifests and the page are inside, and no tests."""
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "exporter/collectors/gpu/rules/gpu_presence.toml",
        "exporter/runbooks/gpu_presence.md",
        "exporter/assets/dashboards/hw-node.json",
        "exporter/assets/prometheus/alerts.yml",
        "exporter/assets/compose/compose.yml",
        "exporter/assets/grafana/provisioning/datasources/hw-exporter.yml",
        "exporter/assets/helm/hw-exporter/values.schema.json",
        "exporter/assets/kubernetes/overlays/standard/daemonset.yaml",
    ):
        assert wanted in names
    assert not [name for name in names if name.startswith(("tests/", "tools/", "bench/"))]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the build compiles with tomllib")
def test_the_wheel_has_its_tables_compiled(wheel: Path, tmp_path: Path) -> None:
    """Each TOML file has its compiled file beside it, made of the same bytes; assets have none."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    assets = tmp_path / "exporter/assets"
    assert not list(assets.rglob(f"*{COMPILED}"))
    files = [file for file in sorted(tmp_path.rglob("*.toml")) if assets not in file.parents]
    assert len(files) > 20
    for file in files:
        known, table = marshal.loads(file.with_suffix(COMPILED).read_bytes())  # noqa: S302 - just built
        assert known == source_hash(file.read_bytes())
        assert table == parsed(file.read_bytes(), file)


def test_an_installed_package_knows_its_version(wheel: Path, tmp_path: Path) -> None:
    """It is asked for at each start, and `importlib.metadata` would stay in memory."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    asked = (
        "import sys; from exporter.identity import read_version;"
        " print(read_version(), 'importlib.metadata' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout == f"{VERSION} False\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A Debian of its own: what the image is made of, without what the image adds."""
    try:
        image = built()
    except NoImageError as reason:
        pytest.skip(str(reason))
    _say("cp", "--archive", str(image.root), str(tmp_path / "root"))
    for name in ("opt/hw-exporter", "etc/hw-exporter"):
        shutil.rmtree(tmp_path / "root" / name)
    _say("mknod", "--mode=666", str(tmp_path / "root/dev/null"), "c", "1", "3")
    helper = tmp_path / "root/usr/bin/deb-systemd-helper"  # the real one needs Perl
    helper.write_text("#!/bin/sh\n")
    helper.chmod(0o755)
    return tmp_path / "root"


def _say(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")
def test_the_debian_package_comes_and_goes(
    wheel: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It installs, runs as a program of the system, and leaves nothing but what purge removes."""
    monkeypatch.setenv("DPKG_DEB_COMPRESSOR_TYPE", "none")  # xz takes six seconds
    package = deb.build(wheel, tmp_path, VERSION)
    shutil.copy(package, root / "it.deb")
    _refused_for_another_python(root)
    _say("chroot", str(root), "dpkg", "--install", "/it.deb")
    assert VERSION in _say("chroot", str(root), "hw-exporter", "--version")
    assert "rules" in _say("chroot", str(root), "hw-exporter", "rules", "check")
    settings = "/etc/hw-exporter/config.toml"
    _say("chroot", str(root), "hw-exporter", "--check-config", "--config", settings)
    assert (root / "usr/lib/systemd/system/hw-exporter.service").is_file()
    _say("chroot", str(root), "dpkg", "--remove", "hw-exporter")
    assert not (root / "usr/bin/hw-exporter").is_symlink()
    assert (root / settings[1:]).is_file()
    _say("chroot", str(root), "dpkg", "--purge", "hw-exporter")
    assert not (root / "etc/hw-exporter").exists()


@pytest.mark.skipif(shutil.which("deb-systemd-helper") is None, reason="this is no Debian")
def test_the_debian_package_leaves_the_service_as_the_operator_set_it(tmp_path: Path) -> None:
    """The first install enables it and makes its user; an upgrade keeps it disabled or masked."""
    (tmp_path / "root/var/lib/dpkg").mkdir(parents=True)
    units = tmp_path / "root/etc/systemd/system"
    link, mask = units / "multi-user.target.wants/hw-exporter.service", units / deb.UNIT
    _dpkg(tmp_path, "--install", _packed(tmp_path, "1"))
    assert link.is_symlink()
    assert "hw-exporter:" in (tmp_path / "root/etc/passwd").read_text()
    _dpkg(tmp_path, "--remove", "hw-exporter")
    _dpkg(tmp_path, "--install", _packed(tmp_path, "2"))
    assert link.is_symlink()
    link.unlink()
    mask.symlink_to("/dev/null")
    _dpkg(tmp_path, "--install", _packed(tmp_path, "3"))
    assert not link.is_symlink()
    assert mask.is_symlink()
    mask.unlink()
    _dpkg(tmp_path, "--purge", "hw-exporter")
    assert not list(units.rglob("*"))


def test_the_debian_package_stops_the_service_only_when_it_is_removed(tmp_path: Path) -> None:
    """An upgrade that is refused leaves it running; one that succeeds restarts it at its end."""
    (tmp_path / "deb-systemd-invoke").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "deb-systemd-invoke").chmod(0o755)
    script = deb.PRERM.replace("/run/systemd/system", str(tmp_path))
    ended = {
        why: subprocess.run(
            ["/bin/sh", "-c", script, "prerm", why, "2"], env={"PATH": str(tmp_path)}, check=False
        ).returncode
        for why in ("upgrade", "failed-upgrade", "deconfigure", "remove")
    }
    assert ended == {"upgrade": 0, "failed-upgrade": 0, "deconfigure": 0, "remove": 7}


def _packed(folder: Path, version: str) -> str:
    """Pack the files of systemd and the scripts alone; return the path of the package."""
    shutil.rmtree(folder / "tree", ignore_errors=True)
    (folder / "tree").mkdir()
    return str(deb.pack(folder / "tree", folder, version))


def _dpkg(folder: Path, *words: str) -> None:
    """Install or remove in a root of its own, with the scripts of the package run outside it."""
    options = ("--force-script-chrootless", "--force-depends", "--force-architecture")
    _say("dpkg", f"--root={folder / 'root'}", *options, *words)


def _refused_for_another_python(root: Path) -> None:
    """Beside another Python than its own the package says so and unpacks nothing."""
    python, real = root / "usr/bin/python3", root / "usr/bin/python3-real"
    python.rename(real)
    python.write_text("#!/bin/sh\necho 3.1\n")
    python.chmod(0o755)
    command = ["chroot", str(root), "dpkg", "--install", "/it.deb"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    real.replace(python)
    assert ended.returncode == 1
    assert "hw-exporter: this package needs Python 3." in ended.stderr
    assert "and /usr/bin/python3 is 3.1: build" in ended.stderr
    assert not (root / "opt/hw-exporter").exists()
