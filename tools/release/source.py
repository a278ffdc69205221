"""The source tree that packages are built from: tracked files, and a README that stands alone."""

import re
import shutil
import subprocess
from pathlib import Path

import tomli

ROOT = Path(__file__).resolve().parents[2]

_LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|#|mailto:)([^)\s]+)(\))")


def export(target: Path) -> Path:
    """Copy every tracked file as it is in the working tree; links stay links."""
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        source = ROOT / name
        if not name or not (source.is_symlink() or source.is_file()):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target / name, follow_symlinks=False)
    readme = target / "README.md"
    readme.write_text(standalone(readme.read_text("utf-8"), repository()), "utf-8")
    return target


def repository() -> str:
    """Return the address of the repository, as pyproject.toml names it."""
    project = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["urls"]["Repository"])


def standalone(text: str, address: str) -> str:
    """Make every link and picture absolute, so that the page reads the same elsewhere."""

    def absolute(match: "re.Match[str]") -> str:
        opening, place, closing = match.groups()
        kind = "raw" if opening.startswith("!") else "blob"
        return f"{opening}{address}/{kind}/main/{place}{closing}"

    return _LINK.sub(absolute, text)
