"""aiohttp's server is loaded without its client, whatever version of aiohttp is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[2]


def _loaded(code: str, *before: Path) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        env={"PYTHONPATH": ":".join(map(str, (*before, ROOT)))},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ended.stdout.split())


def test_the_client_is_not_loaded_with_the_server() -> None:
    """A new version of aiohttp whose server needs its client fails here, and only here."""
    loaded = _loaded("import exporter.web.routes")
    assert "aiohttp.web_server" in loaded
    assert not loaded & {"aiohttp.client", "aiohttp.connector", "aiohttp.cookiejar"}


def test_the_client_is_loaded_when_it_is_first_used() -> None:
    """Pushing and conditions of the node use the client after the server was loaded."""
    code = "import exporter.web.routes, exporter.outgoing"
    assert "aiohttp.client" not in _loaded(code)
    for name in ("ClientSession", "TCPConnector", "ClientError", "__version__", "web"):
        assert "aiohttp.client" in _loaded(f"{code}; from aiohttp import {name}; assert {name}")


def test_a_server_that_needs_its_package_gets_it(tmp_path: Path) -> None:
    """With a version whose server uses names of the package, the whole package is loaded."""
    package = tmp_path / "aiohttp"
    package.mkdir()
    (package / "__init__.py").write_text("from . import client\nNEEDED = 1\n")
    (package / "client.py").touch()
    (package / "web_server.py").write_text("from . import NEEDED\n")
    loaded = _loaded(
        "import exporter.web; from aiohttp.web_server import NEEDED; assert NEEDED", tmp_path
    )
    assert {"aiohttp.client", "aiohttp.web_server"} <= loaded
