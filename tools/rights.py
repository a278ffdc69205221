"""Permissions of the Kubernetes pod: which feature needs each, and what is lost without it."""

from dataclasses import dataclass
from pathlib import Path

from exporter.decode import Rules, decode_strict
from exporter.toml import tomllib
from tools.tables import row, with_tables


@dataclass(frozen=True, slots=True)
class Right:
    """One permission of a pod, and exactly what is lost without it.

    `rights.toml` has them all, and says what each field means.
    """

    name: str
    granted_by: str
    feature: str
    loss: str
    risk: str
    absent: tuple[str, ...] = ()
    stay: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


PROFILES = ("minimal", "standard", "full")
"""Each profile includes the previous ones."""

RIGHTS = tuple(
    decode_strict(Right, right, Rules(), right["name"])
    for right in tomllib.loads(Path(__file__).with_name("rights.toml").read_text("utf-8"))["right"]
)


def rights_page() -> str:
    """Return `docs/RIGHTS.md` with its tables: purpose of each permission, risk, and loss."""
    changed = [right for right in RIGHTS if right.absent or right.differ]
    tables = {
        "# Permissions": (row(it.name, *_columns(it), it.feature, it.loss) for it in RIGHTS),
        "## Risks": (row(it.name, it.risk) for it in RIGHTS),
        "## Effect on /metrics": (
            row(it.name, _absent(it), _names(it.differ), _names(it.sources)) for it in changed
        ),
    }
    return with_tables("docs/RIGHTS.md", tables)


def _columns(right: Right) -> tuple[str, ...]:
    """Return one cell per profile, or what else grants the permission."""
    if right.granted_by not in PROFILES:
        return "", "", right.granted_by
    least = PROFILES.index(right.granted_by)
    return tuple("yes" if at >= least else "" for at in range(len(PROFILES)))


def _absent(right: Right) -> str:
    return _names(right.absent) + (f" but {_names(right.stay)}" if right.stay else "")


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
