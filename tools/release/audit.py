"""Asks the database of known vulnerabilities about the locked packages, where it can be reached."""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().parents[2] / "deploy/requirements.lock"
PATIENCE_SECS = 60.0
OPTIONS = ("--disable-pip", "--require-hashes", "--progress-spinner=off", "--format=json")

Ask = Callable[[], str]
"""What pip-audit prints on standard output; empty where it could not ask."""


def ask_pip_audit() -> str:
    """Return the answer about `deploy/requirements.lock`."""
    command = [sys.executable, "-m", "pip_audit", *OPTIONS, f"--requirement={LOCK}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_SECS, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


def main(ask: Ask = ask_pip_audit) -> int:
    """1 when a locked package has a known vulnerability; what could not be asked is said."""
    packages = _packages(ask())
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    if not packages or len(unknown) == len(packages):
        sys.stdout.write("audit: not done, the database of vulnerabilities cannot be reached\n")
        return 0
    found = [
        f"audit: {package['name']} {package['version']}: {hole['id']}, mended in"
        f" {', '.join(hole['fix_versions']) or 'no version yet'}"
        for package in packages
        for hole in package.get("vulns", ())
    ]
    asked = len(packages) - len(unknown)
    reported = [*found] or [f"audit: {asked} packages have no known vulnerability"]
    if unknown:
        reported.append(f"audit: nothing is known about {', '.join(unknown)}")
    sys.stdout.write("\n".join(reported) + "\n")
    return int(bool(found))


def _packages(answer: str) -> list[dict[str, Any]]:
    try:
        packages: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except ValueError:  # it could not ask, and said so on standard error
        return []
    return packages


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.exit(main())
