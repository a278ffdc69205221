"""What is said about known vulnerabilities of the locked packages."""

import json
from typing import Any

import pytest

from tools.release.audit import main

FINE: dict[str, Any] = {"name": "aiohttp", "version": "1.0", "vulns": []}
BAD = {
    "name": "yarl",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}],
}
NOT_ASKED = {"name": "psutil", "skip_reason": "Dependency not found"}


def _answer(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages})


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (_answer(FINE), 0, "1 packages have no known vulnerability"),
        (_answer(FINE, BAD), 1, "yarl 2.0: PYSEC-1, mended in 2.1"),
        (_answer(FINE, NOT_ASKED), 0, "nothing is known about psutil"),
        (_answer(NOT_ASKED), 0, "not done"),
        ("", 0, "not done"),
        ("<html>", 0, "not done"),
    ],
    ids=["fine", "vulnerable", "partly", "no answers", "silence", "another page"],
)
def test_only_a_known_vulnerability_fails(
    answer: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database that cannot be reached is said, and is neither a pass nor a failure."""
    assert main(lambda: answer) == code
    assert said in capsys.readouterr().out
