"""`hw-exporter assets DIR`: writes dashboards, alerts, runbooks and manifests to a directory."""

import shutil
from pathlib import Path

from exporter.commands.invocation import CommandError, Invocation
from exporter.exit_codes import EXIT_OK

PACKAGE = Path(__file__).resolve().parent.parent
ASSETS = ("dashboards", "prometheus", "grafana", "compose", "kubernetes", "helm", "systemd")
FOLDERS = {
    **{name: PACKAGE / "assets" / name for name in ASSETS},
    "runbooks": PACKAGE / "runbooks",
}


def assets(invocation: Invocation) -> int:
    """Copy every folder below DIR, and print the copies; nothing is overwritten."""
    target = Path(invocation.options.directory)
    there = [name for name, folder in FOLDERS.items() if folder.is_dir()]
    if not there:
        raise CommandError("this installation has no assets; the wheel has")
    taken = [name for name in there if (target / name).exists()]
    if taken:
        raise CommandError(f"{target / taken[0]} is there already; name a new folder")
    for name in there:
        try:
            shutil.copytree(FOLDERS[name], target / name)
        except (OSError, shutil.Error) as error:
            raise CommandError(f"{target / name} cannot be written: {_reason(error)}") from error
        count = sum(path.is_file() for path in (target / name).rglob("*"))
        print(f"{target / name}: {count} files")
    return EXIT_OK


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
