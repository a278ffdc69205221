"""Writes the list of what the image is made of, with licences, as CycloneDX JSON."""

import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "build/hw-exporter.cdx.json"
LOCK = ROOT / "deploy/requirements.lock"

_PIN = re.compile(r"^(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)", re.MULTILINE)
_ASK_LICENCES = """
import importlib.metadata as m, json
print(json.dumps({
    d.metadata["Name"].lower().replace("_", "-"): [
        d.metadata.get("License-Expression"), d.metadata.get("License"),
        *(c.rpartition(" :: ")[2] for c in d.metadata.get_all("Classifier") or ()
          if c.startswith("License :: OSI")),
    ] for d in m.distributions()
}))
"""


def pins() -> Iterator[tuple[str, str, list[str]]]:
    """Name, version and SHA-256 digests of every package in the lock."""
    for match in _PIN.finditer(LOCK.read_text("utf-8")):
        yield match[1], match[2], re.findall(r"sha256:([0-9a-f]{64})", match[3])


def licences() -> dict[str, str]:
    """Return the licence of each locked package, as installed in an environment for that."""
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = str(Path(scratch, "bin/python"))
        install = ("-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(LOCK))
        subprocess.run([python, *install], check=True)
        asked = [python, "-I", "-c", _ASK_LICENCES]
        reported = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    short = {
        name: [text for text in texts if text and "\n" not in text]
        for name, texts in reported.items()
    }
    return {name: texts[0] for name, texts in short.items() if texts}


def bill_of_materials(version: str, licence_of: dict[str, str]) -> dict[str, Any]:
    """Return the CycloneDX document for this version of the program."""
    components = [
        {
            "type": "library",
            "name": name,
            "version": pinned,
            "purl": f"pkg:pypi/{name}@{pinned}",
            "licenses": [{"license": {"name": licence_of.get(name, "unknown")}}],
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in digests],
        }
        for name, pinned, digests in pins()
    ]
    program = {
        "type": "application",
        "name": "hw-exporter",
        "version": version,
        "licenses": [{"license": {"id": "MIT"}}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program},
        "components": components,
    }


def main() -> int:
    """Write the document."""
    version = (ROOT / "VERSION").read_text("utf-8").strip()
    document = bill_of_materials(version, licences())
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
